/* Messages as they come: "/onnxruntime_src/…/provider_bridge_ort.cc:1504 onnxruntime::Provider&
 * onnxruntime::ProviderLibrary::Get() [ONNXRuntimeError] : 1 : FAIL : Failed to load library …",
 * often over several lines. Source: messages of ONNX Runtime 1.16 to 1.32 as observed. */
#include "runtime/ort_words.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define WORDS_MAX_BYTES 4096

static bool is_path_char(char c) {
  return isalnum((unsigned char)c) || strchr("_./+-", c) != NULL;
}

static void erase(char *from, const char *to) {
  memmove(from, to, strlen(to) + 1);
}

/* End of ".cc:123" or ".h:123" that begins at dot, or NULL. */
static char *source_line_end(char *dot) {
  static const char *const suffixes[] = {".cc:", ".h:", ".cpp:", ".cu:"};
  for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; ++i) {
    size_t n = strlen(suffixes[i]);
    if (strncmp(dot, suffixes[i], n) != 0 || !isdigit((unsigned char)dot[n])) continue;
    char *end = dot + n;
    while (isdigit((unsigned char)*end)) ++end;
    return end;
  }
  return NULL;
}

/* End of a C++ signature such as "void* ns::f(int, bool) const" that begins at text, or text when
 * there is none. */
static char *signature_end(char *text) {
  char *open = strchr(text, '(');
  char *colons = strstr(text, "::");
  if (open == NULL || colons == NULL || colons > open) return text;
  if (!isalnum((unsigned char)open[-1]) && open[-1] != '_' && open[-1] != '>') return text;
  int depth = 0;
  char *p = open;
  for (; *p != '\0'; ++p) {
    if (*p == '(') ++depth;
    if (*p == ')' && --depth == 0) break;
  }
  if (*p == '\0') return text;
  ++p;
  return strncmp(p, " const", 6) == 0 ? p + 6 : p;
}

static char *skip_blanks(char *text) {
  while (*text == ' ') ++text;
  return text;
}

/* Removes every "path/file.cc:123 signature". */
static void erase_sources(char *text) {
  for (char *p = text; *p != '\0'; ++p) {
    char *end = *p == '.' ? source_line_end(p) : NULL;
    if (end == NULL) continue;
    char *start = p;
    while (start > text && is_path_char(start[-1])) --start;
    end = skip_blanks(end);
    erase(start, skip_blanks(signature_end(end)));
    p = start > text ? start - 1 : start;
    if (*p == '\0') break;
  }
}

/* Drops all up to the last "[ONNXRuntimeError] : 1 : FAIL : ". */
static void erase_error_mark(char *text) {
  static const char mark[] = "[ONNXRuntimeError]";
  char *last = NULL;
  for (char *p = strstr(text, mark); p != NULL; p = strstr(p + 1, mark)) last = p;
  if (last == NULL) return;
  char *rest = last + sizeof mark - 1;
  for (int i = 0; i < 3; ++i) { /* " : 1", " : FAIL", " : " */
    char *next = strstr(rest, " : ");
    if (next == NULL) return;
    rest = next + 3;
  }
  erase(text, rest);
}

/* Removes " ; name=value" of CUDA's messages, "; name=value" of HIP's, up to the next field. field
 * is "; name=". */
static void erase_field(char *text, const char *field) {
  char *start = strstr(text, field);
  if (start == NULL) return;
  char *next = strstr(start + 1, "; ");
  if (next == NULL) next = start + strlen(start);
  if (next[0] != '\0' && next[-1] == ' ') --next;
  if (start > text && start[-1] == ' ') --start;
  erase(start, next);
}

/* Removes every " [with T = cudaError; …]": what the compiler put for a template's parameters. */
static void erase_bindings(char *text) {
  char *start;
  while ((start = strstr(text, "[with ")) != NULL) {
    int depth = 0;
    char *end = start;
    for (; *end != '\0'; ++end) {
      if (*end == '[') ++depth;
      if (*end == ']' && --depth == 0) break;
    }
    if (*end == '\0') return;
    erase(start, skip_blanks(end + 1));
  }
}

/* A failed check says its own condition first, "x == y was false. ": drops that where a reason
 * follows. */
static void erase_condition(char *text) {
  static const char mark[] = " was false. ";
  char *at = strstr(text, mark);
  if (at != NULL && at[sizeof mark - 1] != '\0') erase(text, at + sizeof mark - 1);
}

/* OpenVINO's: where an exception came from, and the check that failed; the reason is in the lines
 * behind them. */
static void erase_heading(char *line) {
  static const char from[] = "Exception from :", check[] = "Check '", failed[] = "' failed at :";
  const size_t n = strlen(line), n_from = sizeof from - 1, n_failed = sizeof failed - 1;
  if (n >= n_from && strcmp(line + n - n_from, from) == 0) line[n - n_from] = '\0';
  if (strncmp(line, check, sizeof check - 1) == 0 && n >= n_failed &&
      strcmp(line + n - n_failed, failed) == 0)
    line[0] = '\0';
}

static void trim_end(char *text) {
  size_t n = strlen(text);
  while (n > 0 && isspace((unsigned char)text[n - 1])) text[--n] = '\0';
}

/* The cleaned form of one line, in place. */
static void clean(char *line) {
  erase_sources(line);
  erase_error_mark(line);
  erase_bindings(line);
  erase_condition(line);
  erase_field(line, "; hostname=");
  erase_field(line, "; file=");
  erase_field(line, "; line=");
  if (strncmp(line, "HIP failure", 11) == 0)
    erase_field(line, "; GPU="); /* never set where there is none: another number each time */
  erase(line, skip_blanks(line));
  trim_end(line);
  erase_heading(line);
  trim_end(line);
}

/* Whether the next line is what this one announces. */
static bool goes_on(const char *line) {
  const size_t n = strlen(line);
  return n == 0 || line[n - 1] == ':';
}

void assay_ort_words(const char *message, char *out, size_t out_bytes) {
  char all[WORDS_MAX_BYTES], line[WORDS_MAX_BYTES];
  all[0] = '\0';
  while (*message != '\0' && goes_on(all)) {
    size_t n = strcspn(message, "\r\n");
    size_t kept = n < sizeof line - 1 ? n : sizeof line - 1;
    memcpy(line, message, kept);
    line[kept] = '\0';
    clean(line);
    size_t used = strlen(all);
    if (line[0] != '\0') snprintf(all + used, sizeof all - used, "%s%s", used > 0 ? " " : "", line);
    message += n;
    message += strspn(message, "\r\n");
  }
  const char *words = all[0] != '\0' ? all : "no reason given";
  size_t n = strlen(words);
  if (n > out_bytes - 1) n = out_bytes - 1;
  memcpy(out, words, n);
  out[n] = '\0';
}

bool assay_ort_words_mean_missing(const char *words) {
  static const char *const parts[] = {
      "Failed to load library",
      "Failed to load shared library",
      "cannot open shared object file",
      "is not enabled in this build",
      "is not supported in this build",
      "Unknown provider name",
      "Failed to get a WebGPU adapter",
      "no CUDA-capable device",
      "CUDA driver version is insufficient",
      "invalid device ordinal",
      "no ROCm-capable device",
      "hipErrorNoDevice",
      "CUDA failure 35:",
      "CUDA failure 100:",
  };
  for (size_t i = 0; i < sizeof parts / sizeof *parts; ++i)
    if (strstr(words, parts[i]) != NULL) return true;
  return false;
}
