/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to pyfunctions.c (where a search begins and ends), pywalk.c (from object to object) and
 * pycandidates.c (names that were found).
 */
#pragma once

#include "base/map.h"
#include "proc/memory_pages.h"
#include "python/functions/pyfunctions.h"

#define OBJECT_REFERENCES 0 /* offset of a reference count, in builds with the GIL */

/* What is looked at later, once each. */
enum pyplace_kind {
	PYPLACE_OBJECTS,   /* a dict of any objects: a module's, a class's */
	PYPLACE_FUNCTIONS, /* a dict of which only functions count: an instance's */
	PYPLACE_CLASS,
	PYPLACE_FUNCTION,
	PYPLACE_CODE
};

struct pyplace {
	uint64_t address;
	enum pyplace_kind kind;
};

/* What is known of a type. */
struct pytype {
	uint64_t flags;
	uint64_t instance_dict; /* offset of the dict in an object; 0: it has none */
};

/* A name that a code object may have. */
struct pycandidate {
	char *text; /* NULL: none was found */
	size_t len;
	bool several;		   /* another one was found as well, so none counts */
	uint64_t holder;	   /* address of the function, or of the tuple of constants */
	uint64_t code_at, name_at; /* addresses of the words that refer to the code and the name */
};

struct pywanted {
	struct pyfunction_sought *sought; /* and its `also` */
	char *name;			  /* the code's own */
	size_t name_len;
	struct pycandidate by_constant, by_function;
};

struct pysearch {
	const struct python_layout *layout;
	const struct process_memory *memory; /* as it is now */
	struct memory_pages *pages;
	struct process_memory near; /* the pages'; notes what could not be read for a limit */
	struct map *wanted;	    /* address of a code object -> struct pywanted */
	struct map *seen;	    /* addresses of all places -> bool */
	struct map *types;	    /* address of a type -> struct pytype */
	struct pyplace *places;	    /* the last one is next */
	size_t places_count, places_capacity;
	uint64_t objects;
	uint64_t cpu_until_ns, until_ns;
	int error; /* ends the search: -ESRCH, -ENOMEM */
	bool cut;  /* a limit has ended the search */
};

/* ---- pyfunctions.c ---- */

/* Counts an object. Returns whether the search goes on: no limit is reached. */
bool pysearch_goes_on(struct pysearch *search);

/* Reads a word by the pages. Returns whether it could be read. */
bool pysearch_word(struct pysearch *search, uint64_t address, uint64_t *word);

/* Notes a failure of a map: a limit (-ENOSPC), or another error. */
void pysearch_fail(struct pysearch *search, int error);

/* Notes that a place is to be looked at, if it wasn't so far. */
void pysearch_add(struct pysearch *search, enum pyplace_kind kind, uint64_t address);

/* ---- pywalk.c ---- */

/* Look at a place; at the modules, and the code of frames, where a search begins. */
void pywalk_look(struct pysearch *search, const struct pyplace *place);
void pywalk_begin(struct pysearch *search, uint64_t interpreter);

/* Returns the type's flags; NULL: there is no type. Valid until the next call. */
const struct pytype *pywalk_type(struct pysearch *search, uint64_t type);

/* ---- pycandidates.c ---- */

/* Note that a function has code that may be wanted; that code `parent` has in its constants, a
 * tuple, the code `code` and behind it, if `next` isn't 0, another object. `at` is the place. */
void pycandidate_function(struct pysearch *search, uint64_t function, uint64_t code);
void pycandidate_constant(struct pysearch *search, uint64_t parent, uint64_t tuple, uint64_t at,
			  uint64_t next);

/* Adds a code object to those that are wanted. Returns 0 or a negative errno. */
int pycandidate_want(struct pysearch *search, struct pyfunction_sought *sought);

/* Reads the code object with the name that was found, if both are still so. */
void pycandidate_take(struct pysearch *search, const struct pywanted *wanted);
void pywanted_done(struct pywanted *wanted);
