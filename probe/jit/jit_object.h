/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One ELF file of a program's list (jit/jit_list.h): the code that it describes, with names. It
 * doesn't change once it was read; any thread may hold it.
 */
#pragma once

#include "base/buf.h"
#include "cfi/rule.h"
#include "elf/demangle.h"
#include "jit/jit_file.h"

#define JIT_FUNCTIONS_MAX 65536	     /* of a file */
#define JIT_NAMES_MAX	  (4u << 20) /* bytes of a file's names */

struct jit_object;

/* Rows of all objects of a look, as addresses in memory; those of an object lie one behind the
 * other, by address. */
struct jit_row {
	uint64_t address;
	struct rule rule;
};

struct jit_row_list {
	struct jit_row *rows;
	size_t count, room;
	bool is_full; /* a file found no room */
};

#define JIT_ROWS_MAX (128u << 10) /* of a look */

/* What a look reads from all files, and how much it may. */
struct jit_reading {
	struct jit_row_list rows;
	struct demangling demangling; /* a budget for the names of all */
	uint64_t whose;		      /* whose memory is taken (jit/jit_memory.h) */
	size_t left;		      /* bytes that may still be taken */
};

/* Makes an object of an entry's file, which was read without an error. Its unwind rows are added to
 * reading->rows; the object says which these are: none, if they find no room. The caller owns *ret.
 * Returns 0, or a negative errno: -EFBIG if it has too many functions or names; -ENOSPC if there is
 * no memory left to be taken; -ENOMEM. */
int jit_object_read(struct jit_object **ret, const struct jit_entry *entry,
		    const struct jit_file *file, struct jit_reading *reading);

struct jit_object *jit_object_ref(struct jit_object *object); /* NULL for NULL */
void jit_object_unref(struct jit_object *object);	      /* NULL is allowed */

/* Returns the pieces of code, by address. */
const struct jit_range *jit_object_code(const struct jit_object *object, size_t *count);
/* Returns whether a piece of its code holds the address. */
bool jit_object_has(const struct jit_object *object, uint64_t address);
const struct jit_entry *jit_object_entry(const struct jit_object *object);

/* Returns the object's rows, as it was read with them: the number of the first one. */
size_t jit_object_rows(const struct jit_object *object, size_t *count);
size_t jit_object_functions(const struct jit_object *object);

/* Returns whether both were read from the same entry and say the same. */
bool jit_object_is_same(const struct jit_object *a, const struct jit_object *b);

/* Returns the name of the function that holds the address, *len bytes, as people read it; NULL:
 * there is none. It is valid as long as the object. */
const char *jit_object_find(const struct jit_object *object, uint64_t address, size_t *len);
