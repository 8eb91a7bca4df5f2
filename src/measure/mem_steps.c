/* For sampler_test: a program that holds known amounts of memory in known phases, and marks them as
 * a worker does. mem_steps FILE PAGES_FIRST PAGES_PASSING PAGES_WARM PAGES_AFTER
 *
 *   before the session   nothing
 *   until the first call PAGES_FIRST, and PAGES_PASSING more that go again
 *   while warm           PAGES_WARM more
 *   after the end        PAGES_AFTER more, on top
 *
 * Each state is held for HOLD_NS, many times the sampling interval. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define HOLD_NS 120000000L

static int marks_fd;

static void hold(void) {
  struct timespec t = {.tv_nsec = HOLD_NS};
  nanosleep(&t, NULL);
}

static void mark(const char *stage) {
  char line[64];
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  int n =
      snprintf(line, sizeof line, "%s %lld\n", stage, (long long)t.tv_sec * 1000000000 + t.tv_nsec);
  if (write(marks_fd, line, (size_t)n) != n) exit(3);
}

/* So many pages, each touched. No huge pages: they would be more than was asked for. */
static void *take(size_t n_pages) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE), size = n_pages * page;
  char *block = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (block == MAP_FAILED) exit(4);
  madvise(block, size, MADV_NOHUGEPAGE); /* refused where there are none */
  for (size_t i = 0; i < size; i += page) ((volatile char *)block)[i] = 1;
  return block;
}

static void give_back(void *block, size_t n_pages) {
  munmap(block, n_pages * (size_t)sysconf(_SC_PAGESIZE));
}

int main(int argc, char **argv) {
  size_t pages[4];
  if (argc != 6) return 2;
  for (int i = 0; i < 4; i++) pages[i] = (size_t)strtoul(argv[2 + i], NULL, 10);
  marks_fd = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666);
  if (marks_fd < 0) return 3;
  give_back(take(1), 1); /* what the C library needs for all this is there from now on */
  mark("start");
  hold();
  mark("session");
  take(pages[0]);
  void *passing = take(pages[1]);
  hold();
  give_back(passing, pages[1]);
  mark("first_run");
  hold();
  mark("warmup");
  take(pages[2]);
  hold();
  mark("outputs");
  take(pages[3]);
  hold();
  return 0;
}
