/* Small files of /proc and /sys. They come from the kernel, but tests and containers put other
 * things there: nothing is believed beyond its form. */
#include "measure/mem_file.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"

#define PATH_BYTES 4096

/* Inode of the first pid namespace: PROC_PID_INIT_INO, linux/proc_ns.h; fixed since Linux 3.8. */
#define HOST_PID_NAMESPACE "pid:[4026531836]"

static void say_why(char *reason, const char *what, const char *path, int errnum) {
  if (reason == NULL) return;
  snprintf(reason, ASSAY_MEM_REASON_BYTES, "%s '%.120s': %s", what, path, strerror(errnum));
}

bool assay_mem_file_text(const char *path, char *out, size_t out_bytes, size_t *out_n,
                         char *reason) {
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) {
    say_why(reason, "could not open", path, errno);
    return false;
  }
  size_t n = 0;
  ssize_t got = 0;
  do {
    got = read(fd, out + n, out_bytes - 1 - n);
    if (got > 0) n += (size_t)got;
  } while ((got > 0 && n < out_bytes - 1) || (got < 0 && errno == EINTR));
  if (got < 0) say_why(reason, "could not read", path, errno);
  close(fd);
  out[n] = '\0';
  if (out_n != NULL) *out_n = n;
  return got >= 0;
}

/* Decimal digits into *out; the end of them, or NULL when there are none or too many. */
static const char *take_count(const char *text, int64_t *out) {
  if (!isdigit((unsigned char)text[0])) return NULL;
  char *end = NULL;
  errno = 0;
  long long value = strtoll(text, &end, 10);
  if (errno != 0) return NULL;
  *out = value;
  return end;
}

void assay_mem_file_count(const char *path, assay_mem_reading *out) {
  char text[64], clean[128];
  size_t n = 0;
  out->bytes = ASSAY_MEM_NONE;
  if (!assay_mem_file_text(path, text, sizeof text, &n, out->reason)) return;
  int64_t value = 0;
  const char *end = take_count(text, &value);
  bool whole = end != NULL && (strcmp(end, "") == 0 || strcmp(end, "\n") == 0);
  if (whole && (size_t)(end - text) + strlen(end) == n) {
    assay_mem_say(out, value);
    return;
  }
  assay_text_printable(text, clean, 40);
  assay_mem_say_none(out, "'%.100s': expected a decimal number, found '%s'", path, clean);
}

int64_t assay_mem_file_size(const char *text) {
  static const struct {
    const char *unit;
    int shift;
  } units[] = {{"", 0}, {"KiB", 10}, {"kB", 10}, {"MiB", 20}, {"GiB", 30}};
  int64_t value = 0;
  const char *at = take_count(text, &value);
  if (at == NULL) return ASSAY_MEM_NONE;
  at += strspn(at, " \t");
  size_t n = strcspn(at, " \t\r\n");
  const char *rest = at + n + strspn(at + n, " \t\r");
  if (rest[0] != '\n' && rest[0] != '\0') return ASSAY_MEM_NONE;
  for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
    if (n != strlen(units[i].unit) || strncmp(at, units[i].unit, n) != 0) continue;
    return value <= INT64_MAX >> units[i].shift ? value << units[i].shift : ASSAY_MEM_NONE;
  }
  return ASSAY_MEM_NONE;
}

bool assay_mem_file_value(const char *text, const char *key, char *out, size_t out_bytes) {
  size_t n_key = strlen(key);
  for (const char *line = text; line != NULL && line[0] != '\0';) {
    const char *end = strchr(line, '\n');
    if (strncmp(line, key, n_key) == 0) {
      const char *value = line + n_key + strspn(line + n_key, " \t");
      const char *stop = end != NULL ? end : value + strlen(value);
      while (stop > value && isspace((unsigned char)stop[-1])) stop--;
      size_t n = stop > value ? (size_t)(stop - value) : 0;
      if (n >= out_bytes) return false;
      memcpy(out, value, n);
      out[n] = '\0';
      return true;
    }
    line = end != NULL ? end + 1 : NULL;
  }
  return false;
}

bool assay_mem_file_pid(const char *name, int64_t *out) {
  size_t n = strspn(name, "0123456789");
  if (n == 0 || n > 10 || name[n] != '\0') return false;
  return take_count(name, out) != NULL;
}

bool assay_mem_file_host_pids(const char *proc_folder) {
  char path[PATH_BYTES], to[64];
  snprintf(path, sizeof path, "%s/self/ns/pid", proc_folder);
  ssize_t n = readlink(path, to, sizeof to - 1);
  if (n < 0) return false;
  to[n] = '\0';
  return strcmp(to, HOST_PID_NAMESPACE) == 0;
}

void assay_mem_file_comm(const char *proc_folder, int64_t pid, char *out, size_t out_bytes) {
  char path[PATH_BYTES], text[64];
  snprintf(path, sizeof path, "%s/%lld/comm", proc_folder, (long long)pid);
  out[0] = '\0';
  if (!assay_mem_file_text(path, text, sizeof text, /*out_n=*/NULL, /*reason=*/NULL)) return;
  text[strcspn(text, "\n")] = '\0';
  assay_text_printable(text, out, out_bytes);
}

bool assay_mem_file_pci(const char *text, char out[16]) {
  unsigned domain = 0, bus = 0, device = 0, function = 0;
  int n = 0;
  if (strlen(text) > 24 || strspn(text, "0123456789abcdefABCDEF:.") != strlen(text)) return false;
  if (sscanf(text, "%8x:%2x:%2x.%1x%n", &domain, &bus, &device, &function, &n) != 4) return false;
  if (text[n] != '\0' || domain > 0xffff || device > 0x1f || function > 7) return false;
  snprintf(out, 16, "%04x:%02x:%02x.%x", domain, bus & 0xff, device & 0x1f, function & 7);
  return true;
}
