/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the qualified names of code objects that don't know them themselves (CPython 3.8 to 3.10),
 * by two things that a process has:
 *
 *   constant	the code around it has in its constants the code object, and behind it the name that
 *		the compiler has given to its functions: what 3.11's co_qualname is
 *   function	a function object has the code object and __qualname__. This may have been changed
 *		since. So it isn't taken if functools.wraps() has changed it, if it doesn't end with
 *		the code's own name, if several functions with that code disagree, if the search is
 *		cut, or for code that was made of a text (`<string>`)
 *
 * The search begins at sys.modules and at the frames of all threads. What nobody can reach from
 * there has no qualified name.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proc/process_memory.h"
#include "python/pycode.h"

/* A code object whose name is looked for, as in a stack. */
struct pyfunction_sought {
	uint64_t address;
	uint32_t sum;
	/* With its qualified name; NULL: it wasn't found. One reference, the caller's. */
	struct pycode *found;
	struct pyfunction_sought *also; /* private: another one at that address, older or newer */
};

#define PYFUNCTIONS_OBJECTS_MAX (4u << 20)   /* entries, constants, frames that are looked at … */
#define PYFUNCTIONS_PLACES_MAX	(1u << 18)   /* … dicts, classes, functions and code … */
#define PYFUNCTIONS_BYTES_MAX	(128u << 20) /* … bytes that are read … */
#define PYFUNCTIONS_CPU_NS	(250 * NS_PER_MS) /* … and time that is taken by one search */
#define PYFUNCTIONS_NS		(NS_PER_S)	  /* by the clock on the wall */

struct pyfunctions_result {
	uint64_t objects, bytes, cpu_ns; /* that it took */
	bool cut;			 /* a limit was reached, so names may be missing */
};

/*
 * Searches a process once for all `count` code objects; `layout` is one for which
 * python_has_functions() is true. Fills in `found` of each. Returns 0, or a negative errno: -ESRCH
 * if the process is gone; -ENOMEM; that of reading where the search begins. May hang: in a job.
 */
int pyfunctions_search(struct pyfunction_sought *sought, size_t count,
		       const struct python_layout *layout, const struct process_memory *memory,
		       struct pyfunctions_result *result);
