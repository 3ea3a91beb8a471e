/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One ELF file of a program's list (jit/jit_list.h): the code that it describes, with names. It
 * doesn't change once it was read; any thread may hold it.
 */
#pragma once

#include "base/buf.h"
#include "cfi/rule.h"
#include "elf/demangle.h"
#include "jit/jit_elf.h"
#include "jit/jit_list.h"

#define JIT_ELF_MAX	  (16u << 20) /* bytes of a file */
#define JIT_FUNCTIONS_MAX 65536	      /* of a file */
#define JIT_NAMES_MAX	  (4u << 20)  /* bytes of a file's names */

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
};

#define JIT_ROWS_MAX (128u << 10) /* of a look */

/* Reads the file of an entry, with its unwind rows, which are added to `rows`; the object says
 * which these are. `demangling` is a budget for all files of a look. The caller owns *ret. Returns
 * 0, or a negative errno: -EFBIG if it is too large, or has too many functions, names or rows;
 * -EBADMSG if it makes no sense; -ENOSPC if all processes' objects take too much memory; -ENOMEM;
 * an errno of reading. */
int jit_object_read(struct jit_object **ret, const struct process_memory *memory,
		    const struct jit_entry *entry, struct jit_row_list *rows,
		    struct demangling *demangling);

struct jit_object *jit_object_ref(struct jit_object *object); /* NULL for NULL */
void jit_object_unref(struct jit_object *object);	      /* NULL is allowed */

/* Returns the pieces of code, in the order of the file. */
const struct jit_range *jit_object_code(const struct jit_object *object, size_t *count);
const struct jit_entry *jit_object_entry(const struct jit_object *object);

/* Returns the object's rows, as it was read with them: the number of the first one. */
size_t jit_object_rows(const struct jit_object *object, size_t *count);
size_t jit_object_functions(const struct jit_object *object);

/* Returns whether both were read from the same entry and say the same. */
bool jit_object_is_same(const struct jit_object *a, const struct jit_object *b);

/* Returns the name of the function that holds the address, *len bytes, as people read it; NULL:
 * there is none. It is valid as long as the object. */
const char *jit_object_find(const struct jit_object *object, uint64_t address, size_t *len);

/* Takes memory of what all processes' objects may have; gives it back. */
bool jit_memory_take(size_t bytes);
void jit_memory_give(size_t bytes);
