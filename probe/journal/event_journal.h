/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The journal: what happened to the daemon and its targets, in a line each, for who asks later.
 * Kept in memory until somebody takes it (history); at most so much that nobody's absence costs
 * memory. Unlike the log it is for programs: an event has a kind and an exact time. Loop thread
 * only.
 */
#pragma once

#include "base/buf.h"

#define JOURNAL_KINDS_LIST(X)                                                                      \
	X(JOURNAL_DAEMON, "daemon")	  /* it began, it ends */                                  \
	X(JOURNAL_PUT, "put")		  /* somebody changed a configuration */                   \
	X(JOURNAL_TARGET, "target")	  /* a process is sampled from now on, or no longer */     \
	X(JOURNAL_CONTAINER, "container") /* the same of a container's first and last process */   \
	X(JOURNAL_EXEC, "exec")		  /* a process that stays sampled executes a program */    \
	X(JOURNAL_GUARD, "guard")	  /* max_overhead left events out, or does so no longer */ \
	X(JOURNAL_TRIGGER, "trigger")	  /* params.trigger has fired: a period is sampled */

#define JOURNAL_VALUE(value, name) value,
enum journal_kind { JOURNAL_KINDS_LIST(JOURNAL_VALUE) JOURNAL_KINDS };

/* A line without its end has at most so many bytes; a longer text is cut. */
#define JOURNAL_LINE_BYTES 400

const char *journal_kind_name(enum journal_kind kind);

/*
 * Notes an event of this moment. Control bytes of the text become blanks. Without room it is
 * counted, and the next one that has room says how many are missing.
 */
void journal_note(enum journal_kind kind, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Calls wake(arg) whenever there is something to be taken, and was nothing before. NULL: nobody. */
void journal_watch(void (*wake)(void *arg), void *arg);

/* Moves all lines to the end of `out`: "NS-SINCE-1970 KIND TEXT\n". */
void journal_take(struct buf *out);
