/* Reads and writes the "compiles" member of result.json. The format stands in the header. */
#include "package/result_compiles.h"

#include "base/array.h"
#include "package/fields.h"

#define COMPILES(member) ASSAY_FIELD(assay_result_compiles, member, COUNT)
static const assay_field compiles_fields[] = {COMPILES(session), COMPILES(first), COMPILES(later)};
#undef COMPILES

assay_status assay_result_compiles_read(const assay_json *root, assay_result_compiles *out,
                                        assay_error *err) {
  const assay_json *value = NULL;
  if (assay_fields_is_null(root, "compiles")) return ASSAY_OK;
  ASSAY_TRY(assay_json_need_object(root, "compiles", &value, err));
  out->known = true;
  assay_status st = assay_fields_read(value, compiles_fields, N_OF(compiles_fields), NULL,
                                      /*n_others=*/0, out, err);
  if (st) assay_error_in(err, "'compiles'");
  return st;
}

void assay_result_compiles_put(const assay_result_compiles *compiles, assay_json_builder *b) {
  if (!compiles->known) {
    assay_json_put_null(b, "compiles");
    return;
  }
  assay_json_begin_object(b, "compiles");
  assay_fields_put(compiles_fields, N_OF(compiles_fields), compiles, b);
  assay_json_end(b);
}
