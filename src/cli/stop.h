/* An orderly stop by INT, TERM or HUP: the signal is noted, and whoever works asks for it. */
#ifndef ASSAY_CLI_STOP_H
#define ASSAY_CLI_STOP_H

#include <stdbool.h>

/* From now on the first of these signals is noted only (one that was ignored, as under nohup, stays
 * so); a second one ends the process at once. */
void assay_stop_catch(void);

/* A signal came. arg is unused: the form that the rooms' `cancelled` callbacks have. */
bool assay_stop_asked(void *arg);

/* "stopped by signal 15 (Terminated)"; only after one came. */
void assay_stop_text(char *out, unsigned out_bytes);

/* 128 + signal, as shells have it; only after one came. */
int assay_stop_exit_status(void);

#endif
