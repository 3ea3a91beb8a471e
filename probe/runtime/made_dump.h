/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The jitdump of a process (jit/jitdump.h): a file that the process has mapped and to which it
 * appends the code that it makes. It is opened once, through that mapping, and read on in jobs; so
 * its last records are read also when the process has ended. Loop thread only.
 *
 * A forked process has the mapping of its parent's file, but not the file: it doesn't write there.
 */
#pragma once

#include "jit/jitdump.h"
#include "unwind/tables.h"

struct held_fd;

/* Where a process has its file mapped. */
struct made_dump_place {
	pid_t pid;
	uint64_t start_ticks, program; /* of the process (proc/process_memory.h) */
	pid_t ns_pid;		       /* its pid in its own pid namespace */
	uint64_t start, end;	       /* the mapping */
	uint64_t device, inode;	       /* as /proc/PID/maps has them */
	const char *path;	       /* as the process sees the file; borrowed */
};

struct made_dump;

/* Makes one that hasn't been read. `whose` is the process's user, whose jobs `worker` runs.
 * changed(arg, pid) is called when the unwind rows have changed. The caller owns *ret, a reference.
 * Returns 0 or -ENOMEM. */
int made_dump_new(struct made_dump **ret, const struct made_dump_place *place, uint64_t whose,
		  struct worker *worker, void (*changed)(void *arg, pid_t pid), void *arg);
struct made_dump *made_dump_ref(struct made_dump *dump); /* NULL for NULL */
void made_dump_unref(struct made_dump *dump);		 /* NULL is allowed */

/* Returns whether it is of the file that is mapped there; `dump` may be NULL. */
bool made_dump_is_of(const struct made_dump *dump, const struct made_dump_place *place);

/* Reads what is new in the file, in a job, unless one runs, or the file isn't read any more. */
void made_dump_read(struct made_dump *dump);

/* Returns when to read on for a stack of that time: 0: not at all, as the file tells no unwind
 * rows, or was read since; else not before that time, so that readings take 2 % of a CPU at most.
 */
uint64_t made_dump_next_ns(const struct made_dump *dump, uint64_t stack_ns);

/* Returns the name of what was at the address from one time until another, *len bytes, which
 * *holder holds (borrowed); NULL if that isn't known, or it changed. `dump` may be NULL. */
const char *made_dump_find(const struct made_dump *dump, uint64_t address, uint64_t from_ns,
			   uint64_t until_ns, struct jitdump **holder, size_t *len);

/* Returns the rows for the spans of the process (mappings/spans.h) and sets *table, which is in the
 * arena; both are borrowed. NULL: there are none. `dump` may be NULL. */
const struct jit_rows *made_dump_rows(struct made_dump *dump, struct tables *tables,
				      struct table **table);

/* Returns whether it has named code; `dump` may be NULL. */
bool made_dump_has_names(const struct made_dump *dump);

/* Returns what was read, borrowed; NULL: nothing. Sets *rows to the number of unwind rows, *error
 * to why the file isn't read on: 0; -EAGAIN if it is empty until now; as jitdump_read(); -EPERM if
 * it is no regular file of the process's user; -ETIMEDOUT if reading hung; an errno of opening. */
const struct jitdump *made_dump_state(const struct made_dump *dump, uint64_t *rows, int *error);
