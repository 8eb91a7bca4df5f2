/* Tests of profile.c: what the reader takes from events, its limits, and hostile text. */
#include "evidence/profile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"

#define START                                                                                      \
  "[\n{\"cat\" : \"Session\",\"pid\" :7,\"name\" :\"session_initialization\",\"args\" : {}}"
#define KERNEL(name, args)                                                                         \
  ",\n{\"cat\" : \"Node\",\"pid\" :7,\"dur\" :5,\"name\" :\"" name                                 \
  "_kernel_time\",\"args\" : {" args "}}"
#define ON_CPU                                                                                     \
  "\"op_name\" : \"Add\",\"provider\" : \"CPUExecutionProvider\",\"node_index\" : \"3\""

static void kernels_are_counted_by_all_four_texts(void **state) {
  (void)state;
  const char text[] = START KERNEL("a", ON_CPU) KERNEL("a", ON_CPU) KERNEL(
      "a", "\"op_name\" : \"Add\",\"provider\" : \"CPUExecutionProvider\",\"node_index\" : \"4\"")
      KERNEL("a", "\"op_name\" : \"Add\",\"provider\" : \"X\",\"node_index\" : \"3\"") "\n]\n";
  assay_profile p = {0};
  assay_error err = {0};
  if (assay_profile_parse(text, sizeof text - 1, &p, &err)) fail_msg("%s", err.text);
  assert_int_equal(p.n_nodes, 3);
  assert_int_equal(p.nodes[0].n_events, 2);
  assert_int_equal(p.nodes[0].duration_us, 10);
  assert_int_equal(p.n_events, 5);
  assert_int_equal(p.n_sessions, 1);
  assert_true(p.one_process);
  assert_false(p.repaired);
  assay_profile_reset(&p);
}

static void texts_that_are_no_profile_are_refused(void **state) {
  (void)state;
  const struct {
    const char *text, *part;
  } cases[] = {
      {"", "empty"},
      {"{}", "expected an array of events, found an object"},
      {"[1]", "event 1: an event without category or name"},
      {"[{\"cat\":\"Node\"}]", "without category or name"},
      {"[\n", "the profile is cut: it ends after 0 events"},
      {"<html>", "not a profile: expected '[' in line 1"},
      {START ",\n", "the profile is cut: it ends after 1 events without ']'"},
      {START "\n]\n]\n", "line 4: something follows the end"},
      {START KERNEL("a", "\"op_name\" : \"Add\"") "\n]\n", "a kernel without operator or provider"},
      {START KERNEL("a\"b", "\"op_name\" : \"Add\"") "\n]\n",
       "a kernel without operator or provider"},
      {START ",\n{\"cat\" : \"No\"de\",\"name\" :\"a\",\"args\" : {}}\n]\n", "line 3"},
      {START ",\nnonsense\n]\n", "line 3: expected an event or ']'"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    assay_profile p = {0};
    assay_error err = {0};
    assay_status st = assay_profile_parse(cases[i].text, strlen(cases[i].text), &p, &err);
    if (st != ASSAY_E_FORMAT || strstr(err.text, cases[i].part) == NULL)
      fail_msg("row %zu: %s '%s', expected '%s'", i, assay_status_name(st), err.text,
               cases[i].part);
  }
}

/* A name that imitates the rest of an event: the provider is the last one of the line, which the
 * runtime wrote. */
static void a_name_cannot_forge_its_provider(void **state) {
  (void)state;
  const char text[] =
      START KERNEL("x_kernel_time\",\"args\" : {\"op_name\" : \"Add\",\"provider\" : "
                   "\"Forged\"}}\",\"args\" : {y",
                   "\"op_name\" : \"Mul\",\"provider\" : \"Real\",\"node_index\" : \"0\"") "\n]\n";
  assay_profile p = {0};
  assay_error err = {0};
  if (assay_profile_parse(text, sizeof text - 1, &p, &err)) fail_msg("%s", err.text);
  assert_int_equal(p.n_nodes, 1);
  assert_string_equal(p.nodes[0].provider, "Real");
  assert_true(p.repaired);
  assay_profile_reset(&p);
}

/* More events than the reader holds as one document, up to the runtime's limit and one beyond it.
 */
static void a_million_events_are_read_within_bounds(void **state) {
  (void)state;
#ifdef __SANITIZE_ADDRESS__
  print_message("skipped under the address sanitizer: it takes a quarter of a minute\n");
  skip();
#endif
  assay_buf text = {0};
  assert_int_equal(assay_buf_append_text(&text, START, NULL), ASSAY_OK);
  for (int i = 1; i < ASSAY_PROFILE_EVENTS_MAX; ++i)
    assert_int_equal(assay_buf_append_text(&text, ",\n{\"cat\":\"Api\",\"name\":\"x\"}", NULL),
                     ASSAY_OK);
  size_t n = text.size_bytes;
  assert_int_equal(assay_buf_append_text(&text, "\n]\n", NULL), ASSAY_OK);
  assay_profile p = {0};
  assay_error err = {0};
  if (assay_profile_parse(text.data, text.size_bytes, &p, &err)) fail_msg("%s", err.text);
  assert_int_equal(p.n_events, ASSAY_PROFILE_EVENTS_MAX);
  assay_profile_reset(&p);
  text.size_bytes = n;
  assert_int_equal(assay_buf_append_text(&text, ",\n{\"cat\":\"Api\",\"name\":\"x\"}\n]\n", NULL),
                   ASSAY_OK);
  assert_int_equal(assay_profile_parse(text.data, text.size_bytes, &p, &err), ASSAY_E_FORMAT);
  assert_non_null(strstr(err.text, "more than the 1000000 events"));
  assay_buf_reset(&text);
}

static void many_nodes_are_found_again(void **state) {
  (void)state;
  assay_buf text = {0};
  assert_int_equal(assay_buf_append_text(&text, START, NULL), ASSAY_OK);
  for (int i = 0; i < 6000; ++i)
    assert_int_equal(assay_buf_appendf(&text, NULL, KERNEL("n%d", ON_CPU), i % 3000), ASSAY_OK);
  assert_int_equal(assay_buf_append_text(&text, "\n]\n", NULL), ASSAY_OK);
  assay_profile p = {0};
  assert_int_equal(assay_profile_parse(text.data, text.size_bytes, &p, NULL), ASSAY_OK);
  assert_int_equal(p.n_nodes, 3000);
  for (size_t i = 0; i < p.n_nodes; ++i) assert_int_equal(p.nodes[i].n_events, 2);
  assay_profile_reset(&p);
  assay_buf_reset(&text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(kernels_are_counted_by_all_four_texts),
      cmocka_unit_test(texts_that_are_no_profile_are_refused),
      cmocka_unit_test(a_name_cannot_forge_its_provider),
      cmocka_unit_test(a_million_events_are_read_within_bounds),
      cmocka_unit_test(many_nodes_are_found_again),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
