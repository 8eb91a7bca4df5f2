/* Build tool: turns a file into a C array, so that the page's style and script are files that
 * editors know. Usage: embed NAME FILE > FILE.c */
#include <stdio.h>

int main(int argc, char **argv) {
  FILE *in = argc == 3 ? fopen(argv[2], "rb") : NULL;
  if (in == NULL) {
    fprintf(stderr, "usage: embed NAME FILE\n");
    return 2;
  }
  printf("extern const char %s[];\nconst char %s[] = {", argv[1], argv[1]);
  for (int byte = getc(in), n = 0; byte != EOF; byte = getc(in), n++) {
    printf("%s%d,", n % 24 ? "" : "\n", (signed char)byte);
  }
  printf("0};\n");
  return ferror(in) || fclose(in) || fflush(stdout) ? 1 : 0;
}
