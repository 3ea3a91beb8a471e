/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One look at the code that a program tells debuggers of: its objects, and their rows as a table.
 * It doesn't change afterwards, but for what is taken out of it. */
#pragma once

#include "bpf/shared/named.h"
#include "jit/jit_rows.h"

/* Why an entry of the program's list is left out. */
#define JIT_LOSSES(X)                                                                              \
	X(JIT_LOST_TOO_MANY, "too_many") /* there are more entries or sections than we read */     \
	X(JIT_LOST_TOO_LARGE, "too_large")                                                         \
	X(JIT_LOST_BROKEN, "broken") /* no ELF file of this processor, with code */                \
	X(JIT_LOST_UNREADABLE, "unreadable")                                                       \
	X(JIT_LOST_CHANGED, "changed")	       /* it went while we read */                         \
	X(JIT_LOST_OVERLAPPING, "overlapping") /* two say of the same code what it is */           \
	X(JIT_LOST_NO_ROOM, "no_room")	       /* there is no memory left for it */                \
	X(JIT_LOST_ROWS, "rows")	       /* it has names; there is no room for its rows */   \
	X(JIT_LOST_SLOW, "slow")	       /* reading what came before took too long */

enum jit_loss { JIT_LOSSES(NAMED_VALUE) JIT_LOST_COUNT };

const char *jit_loss_name(enum jit_loss loss);

struct jit_code {
	struct jit_object **objects; /* with references, by their entries' addresses */
	size_t count;
	struct jit_section *sections; /* by address, none over another one */
	size_t sections_count;
	struct jit_rows rows;
	uint64_t lost[JIT_LOST_COUNT]; /* entries */
	uint64_t sum;		       /* jit_code_sum() of what was read; 0: it isn't known */
	uint64_t whose;
	size_t memory; /* taken of what is `whose` (jit/jit_memory.h) */
};

/* Returns a checksum of all that a look would read: an equal one says that nothing has changed. 0:
 * it isn't known. In a job. */
uint64_t jit_code_sum(const struct process_memory *memory, uint64_t descriptor);

/* Looks at the code of the program whose descriptor lies at that address; in a job. `whose` is the
 * process's user. Returns 0, and then the caller ends *code by jit_code_done(), or a negative errno
 * as jit_list_read(). */
int jit_code_read(struct jit_code *code, const struct process_memory *memory, uint64_t descriptor,
		  uint64_t whose);
void jit_code_done(struct jit_code *code);

/* Frees the words of the rows, which lie elsewhere by now. */
void jit_code_leave_words(struct jit_code *code);

/* Returns the number of the object that has code at the address; -1: there is none. */
int64_t jit_code_find(const struct jit_code *code, uint64_t address);

/* Returns the number of the object that is the same as that one of another look; -1: there is none.
 */
int64_t jit_code_same(const struct jit_code *code, const struct jit_object *object);
