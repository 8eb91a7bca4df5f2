/* The table of known globals, the table of dangerous ones, and the list of those a pickle names. */
#include "checkpoint/pickle_globals.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"

typedef struct pattern {
  const char *module, *name; /* a * at one end stands for anything; m.* is m and all inside of it */
} pattern;

/* What state dicts, optimizers, arrays and configurations are made of:
 * ../shared/specs/torch_checkpoint.md section 4. */
static const pattern known[] = {
    {"collections", "OrderedDict"},
    {"collections", "defaultdict"},
    {"collections", "Counter"},
    {"collections", "deque"},
    {"builtins", "set"},
    {"builtins", "frozenset"},
    {"builtins", "list"},
    {"builtins", "tuple"},
    {"builtins", "dict"},
    {"builtins", "bytes"},
    {"builtins", "bytearray"},
    {"builtins", "complex"},
    {"builtins", "int"},
    {"builtins", "float"},
    {"builtins", "bool"},
    {"builtins", "str"},
    {"builtins", "object"},
    {"builtins", "range"},
    {"builtins", "xrange"},
    {"builtins", "slice"},
    {"builtins", "Ellipsis"},
    {"builtins", "NotImplemented"},
    {"builtins", "getattr"}, /* only as assay_pickle_globals_init lets it */
    {"_codecs", "encode"},
    {"copyreg", "_reconstructor"},
    {"argparse", "Namespace"},
    {"types", "SimpleNamespace"},
    {"pathlib", "*Path"},
    {"pathlib._local", "*Path"},
    {"torch", "Size"},
    {"torch", "device"},
    {"torch", "Tensor"},
    {"torch", "*Storage"},
    {"torch.storage", "*Storage"},
    {"torch.cuda", "*Storage"},
    {"torch", "float*"},
    {"torch", "bfloat16"},
    {"torch", "bcomplex32"},
    {"torch", "bits*"},
    {"torch", "complex*"},
    {"torch", "int*"},
    {"torch", "uint*"},
    {"torch", "bool"},
    {"torch", "half"},
    {"torch", "double"},
    {"torch", "qint*"},
    {"torch", "quint*"},
    {"torch", "per_tensor_affine"},
    {"torch", "per_channel_affine"},
    {"torch._utils", "_rebuild_*"},
    {"torch._tensor", "_rebuild_from_type_v2"},
    {"torch.nn.parameter", "Parameter"},
    {"torch.nn.parameter", "Buffer"},
    {"torch.serialization", "_get_layout"},
    {"numpy", "dtype"},
    {"numpy", "ndarray"},
    {"numpy", "bool*"},
    {"numpy", "int*"},
    {"numpy", "uint*"},
    {"numpy", "float*"},
    {"numpy", "complex*"},
    {"numpy.core.multiarray", "scalar"},
    {"numpy.core.multiarray", "_reconstruct"},
    {"numpy.core.numeric", "_frombuffer"},
    {"numpy.dtypes", "*DType"},
    {"mlpf.conf", "*"}, /* particleflow's configuration classes */
};

/* What a pickle that wants to do harm reaches for: commands, code, files, connections, and the ways
 * to get at these by another name. The list need not be complete: everything outside `known` is
 * shown. */
static const pattern dangerous[] = {
    {"builtins", "*"}, /* eval, exec, compile, __import__, open, getattr, … */
    {"os", "*"},
    {"os.path", "*"},
    {"posix", "*"},
    {"nt", "*"},
    {"subprocess", "*"},
    {"_posixsubprocess", "*"},
    {"commands", "*"},
    {"pty", "*"},
    {"sys", "*"},
    {"shutil", "*"},
    {"socket", "*"},
    {"socketserver", "*"},
    {"SocketServer", "*"},
    {"select", "*"},
    {"selectors", "*"},
    {"_socket", "*"},
    {"ssl", "*"},
    {"http.*", "*"},
    {"httplib", "*"},
    {"httplib2.*", "*"},
    {"httpx.*", "*"},
    {"aiohttp.*", "*"},
    {"xmlrpc.*", "*"},
    {"xmlrpclib", "*"},
    {"urllib*", "*"},
    {"requests.*", "*"},
    {"ftplib", "*"},
    {"smtplib", "*"},
    {"poplib", "*"},
    {"imaplib", "*"},
    {"nntplib", "*"},
    {"paramiko.*", "*"},
    {"telnetlib", "*"},
    {"webbrowser", "*"},
    {"asyncio.*", "*"},
    {"multiprocessing.*", "*"},
    {"threading", "*"},
    {"_thread", "*"},
    {"thread", "*"},
    {"concurrent.*", "*"},
    {"atexit", "*"},
    {"signal", "*"},
    {"ctypes.*", "*"},
    {"_ctypes", "*"},
    {"cffi.*", "*"},
    {"importlib.*", "*"},
    {"imp", "*"},
    {"zipimport", "*"},
    {"zipapp", "*"},
    {"site", "*"},
    {"venv.*", "*"},
    {"ensurepip.*", "*"},
    {"distutils.*", "*"},
    {"setuptools.*", "*"},
    {"pkg_resources.*", "*"},
    {"py_compile", "*"},
    {"compileall", "*"},
    {"lib2to3.*", "*"},
    {"idlelib.*", "*"},
    {"test.support.*", "*"},
    {"_pyrepl.*", "*"},
    {"pkgutil", "*"},
    {"pip.*", "*"},
    {"runpy", "*"},
    {"code", "*"},
    {"codeop", "*"},
    {"pdb", "*"},
    {"bdb", "*"},
    {"timeit", "*"},
    {"profile", "*"},
    {"cProfile", "*"},
    {"trace", "*"},
    {"doctest", "*"},
    {"pydoc*", "*"},
    {"types", "*"},
    {"functools", "*"},
    {"_functools", "*"},
    {"itertools", "*map"}, /* Python 2's map, imap and starmap */
    {"itertools", "*filter"},
    {"operator", "*"},
    {"_operator", "*"},
    {"io", "*"},
    {"codecs", "*"},
    {"mmap", "*"},
    {"fcntl", "*"},
    {"fileinput", "*"},
    {"tokenize", "open"},
    {"glob", "*"},
    {"logging", "*Handler"},
    {"logging.handlers", "*"},
    {"logging.config", "*"},
    {"gzip", "*"},
    {"bz2", "*"},
    {"lzma", "*"},
    {"dbm.*", "*"},
    {"_io", "*"},
    {"pathlib.*", "*"},
    {"tempfile", "*"},
    {"zipfile", "*"},
    {"tarfile", "*"},
    {"sqlite3.*", "*"},
    {"pickle", "*"},
    {"_pickle", "*"},
    {"cPickle", "*"},
    {"dill.*", "*"},
    {"cloudpickle.*", "*"},
    {"joblib.*", "*"},
    {"yaml.*", "*"},
    {"marshal", "*"},
    {"shelve", "*"},
    {"platform", "popen"},
    {"linecache", "*"},
    {"_codecs", "*"},
    {"numpy.testing.*", "*"},
    {"numpy.f2py.*", "*"},
    {"numpy.distutils.*", "*"},
    {"numpy.ctypeslib.*", "*"},
    {"numpy.lib.*", "*"},
    {"numpy", "load*"},
    {"numpy", "save*"},
    {"numpy", "fromfile"},
    {"numpy", "fromregex"},
    {"numpy", "genfromtxt"},
    {"numpy", "memmap"},
    {"numpy", "DataSource"},
    {"numpy.core.memmap", "*"},
    {"pandas", "read_*"},
    {"pandas", "eval"},
    {"pandas.io.*", "*"},
    {"torch", "load"},
    {"torch", "save"},
    {"torch", "from_file"},
    {"*", "load_library"},
    {"torch.hub", "*"},
    {"torch.jit.*", "*"},
    {"torch.serialization", "*"},
    {"torch.storage", "_load_from_bytes"}, /* torch.load of bytes inside of the pickle */
    {"torch.multiprocessing.*", "*"},
    {"torch.package.*", "*"},
    {"torch.fx.*", "*"},
    {"torch.utils.cpp_extension", "*"},
    {"torch.utils._config_module", "*"},
    {"torch.utils.collect_env", "*"},
    {"torch.utils.bottleneck.*", "*"},
    {"torch.utils.data.datapipes.*", "*"},
    {"torch.utils.model_zoo", "*"},
    {"torch.distributed.*", "*"},
    {"torch._dynamo.*", "*"},
    {"torch._inductor.*", "*"},
};

static bool matches(const char *wanted, const char *written) {
  size_t n = strlen(wanted);
  if (wanted[0] == '*') return assay_text_has_suffix(written, wanted + 1);
  if (wanted[n - 1] == '*') return strncmp(wanted, written, n - 1) == 0;
  return strcmp(wanted, written) == 0;
}

static bool module_matches(const char *wanted, const char *written) {
  const size_t n = strlen(wanted);
  if (assay_text_has_suffix(wanted, ".*")) {
    const size_t n_module = n - strlen(".*");
    return strncmp(wanted, written, n_module) == 0 &&
           (written[n_module] == '\0' || written[n_module] == '.');
  }
  return matches(wanted, written) || assay_pickle_same_module(written, wanted);
}

static bool is_in(const pattern *patterns, size_t n, const char *module, const char *name) {
  for (size_t i = 0; i < n; i++) {
    if (module_matches(patterns[i].module, module) && matches(patterns[i].name, name)) {
      return true;
    }
  }
  return false;
}

/* A class inside of a class, "Trainer.Mode": each part begins as classes do. */
static bool is_nested_class(const char *name) {
  while (isupper((unsigned char)*name)) {
    name = strchr(name, '.');
    if (name == NULL) return true;
    name++;
  }
  return false;
}

assay_pickle_safety assay_pickle_safety_of(const char *module, const char *name) {
  /* A dotted name walks through attributes: mlpf.conf "os.system" is os.system. */
  bool walks = strchr(name, '.') != NULL;
  if (!walks && is_in(known, sizeof known / sizeof known[0], module, name)) {
    return ASSAY_PICKLE_KNOWN;
  }
  if ((walks && !is_nested_class(name)) ||
      is_in(dangerous, sizeof dangerous / sizeof dangerous[0], module, name)) {
    return ASSAY_PICKLE_DANGEROUS;
  }
  return ASSAY_PICKLE_UNKNOWN;
}

static int compare_globals(const void *left, const void *right) {
  const assay_pickle_value *a = *(const assay_pickle_value *const *)left;
  const assay_pickle_value *b = *(const assay_pickle_value *const *)right;
  int found = strcmp(a->global.module, b->global.module);
  return found != 0 ? found : strcmp(a->global.name, b->global.name);
}

/* True for what getattr was asked for, which is anything. */
static bool is_from_getattr(const assay_pickle_value *item) {
  return item->kind == ASSAY_PICKLE_CALL && assay_pickle_is_call(item, "builtins", "getattr");
}

/* A call that only names a member of a class: getattr(Class, 'MEMBER'). */
static bool names_a_member(const assay_pickle_value *made) {
  const assay_pickle_call *call = made->call;
  if (call->kwargs != NULL || call->state != NULL || call->args->items.n != 2 ||
      call->items.n > 0 || call->pairs.n > 0) {
    return false;
  }
  const assay_pickle_value *class = call->args->items.at[0], *member = call->args->items.at[1];
  return class->kind == ASSAY_PICKLE_GLOBAL && member->kind == ASSAY_PICKLE_TEXT &&
         assay_pickle_safety_of(class->global.module, class->global.name) != ASSAY_PICKLE_DANGEROUS;
}

/* What a call would call, by itself or through its first argument (torch/_tensor.py): a member that
 * getattr named there is a method, pathlib.Path's write_text for one. */
static bool calls_a_member(const assay_pickle_value *made) {
  if (is_from_getattr(made->call->callable)) return true;
  return assay_pickle_is_call(made, "torch._tensor", "_rebuild_from_type_v2") &&
         made->call->args->items.n > 0 && is_from_getattr(made->call->args->items.at[0]);
}

static bool getattr_is_harmless(const assay_pickle *pickle) {
  const assay_pickle_value *made = assay_pickle_first(pickle);
  for (; made != NULL; made = made->next) {
    if (is_from_getattr(made) && !names_a_member(made)) return false;
    if (made->kind == ASSAY_PICKLE_CALL && calls_a_member(made)) return false;
  }
  return true;
}

assay_status assay_pickle_globals_init(const assay_pickle *pickle, assay_pickle_globals *out,
                                       assay_error *err) {
  const assay_pickle_value *first = assay_pickle_first(pickle);
  size_t n = 0;
  for (const assay_pickle_value *made = first; made != NULL; made = made->next) {
    n += made->kind == ASSAY_PICKLE_GLOBAL;
  }
  const assay_pickle_value **all = assay_alloc_array(n, sizeof(assay_pickle_value *));
  assay_pickle_global_use *items = assay_alloc_array(n, sizeof *items);
  if (all == NULL || items == NULL) {
    assay_free(all);
    assay_free(items);
    return assay_fail_memory(err, n * sizeof *items);
  }
  n = 0;
  for (const assay_pickle_value *made = first; made != NULL; made = made->next) {
    if (made->kind == ASSAY_PICKLE_GLOBAL) all[n++] = made;
  }
  qsort(all, n, sizeof(assay_pickle_value *), compare_globals);
  size_t n_items = 0;
  for (size_t i = 0; i < n; i++) {
    if (i == 0 || compare_globals(&all[i - 1], &all[i]) != 0) {
      items[n_items++] = (assay_pickle_global_use){
          .module = all[i]->global.module,
          .name = all[i]->global.name,
          .safety = assay_pickle_safety_of(all[i]->global.module, all[i]->global.name)};
      if (assay_pickle_is_global(all[i], "builtins", "getattr") && !getattr_is_harmless(pickle)) {
        items[n_items - 1].safety = ASSAY_PICKLE_DANGEROUS;
      }
    }
    items[n_items - 1].n++;
  }
  assay_free(all);
  *out = (assay_pickle_globals){.items = items, .n = n_items};
  return ASSAY_OK;
}

void assay_pickle_globals_reset(assay_pickle_globals *globals) {
  if (globals == NULL) return;
  assay_free(globals->items);
  *globals = (assay_pickle_globals){0};
}
