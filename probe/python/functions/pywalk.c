// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>

#include "base/cleanup.h"
#include "python/functions/pydict.h"
#include "python/functions/pyfunctions_state.h"

#define WORD	      8u
#define ADDRESS_LEAST 4096
#define ADDRESS_MOST  (1ULL << 56)

/* Flags of a type, Include/object.h, 3.8 to 3.10. */
#define TYPE_HEAP    (1u << 9)	   /* made by a class statement, or by code in C at run time */
#define TYPE_PLAIN   (0x7fu << 24) /* int, list, tuple, bytes, str, dict, exceptions */
#define TYPE_TYPE    (1u << 31)	   /* its instances are types */

#define INSIDE_WORDS 3	  /* behind an object's type, that may refer to a function */
#define CELLS_MAX    64	  /* of a closure */
#define THREADS_MAX  256  /* of an interpreter */
#define FRAMES_MAX   1000 /* of a thread */
#define OFFSET_MAX   4096 /* of an instance's dict */

static bool may_be_object(uint64_t address)
{
	return address >= ADDRESS_LEAST && address < ADDRESS_MOST && address % WORD == 0;
}

/* Reads an object's type. False: there can't be an object. */
static bool read_type(struct pysearch *search, uint64_t object, uint64_t *type)
{
	return may_be_object(object) &&
	       pysearch_word(search, object + search->layout->walk.object_type, type);
}

const struct pytype *pywalk_type(struct pysearch *search, uint64_t type)
{
	const struct python_functions *at = &search->layout->functions;
	struct pytype *found = map_get(search->types, &type);
	struct pytype read;

	if (found)
		return found;
	if (!may_be_object(type) || !pysearch_word(search, type + at->type_flags, &read.flags) ||
	    !pysearch_word(search, type + at->type_instance_dict, &read.instance_dict))
		return NULL;
	/* A negative offset counts from the end of objects of different sizes. */
	if (read.instance_dict > OFFSET_MAX || read.instance_dict % WORD)
		read.instance_dict = 0;
	int r = map_put(search->types, &type, (void **)&found);
	if (r < 0) {
		pysearch_fail(search, r);
		return NULL;
	}
	*found = read;
	return found;
}

/* Notes the object, if it is a function. */
static void meet_function(struct pysearch *search, uint64_t object)
{
	uint64_t type;

	if (read_type(search, object, &type) && type == search->layout->function_type)
		pysearch_add(search, PYPLACE_FUNCTION, object);
}

static void add_instance_dict(struct pysearch *search, uint64_t object, const struct pytype *type,
			      enum pyplace_kind kind)
{
	uint64_t dict;

	if (type->instance_dict && pysearch_word(search, object + type->instance_dict, &dict) &&
	    may_be_object(dict))
		pysearch_add(search, kind, dict);
}

/*
 * Looks for functions that an object refers to with its first words (staticmethod, classmethod,
 * property, method, partial) or by its dict (what functools makes, classes of decorators). What
 * these words are is not known: whatever a function is, is one.
 */
static void look_inside(struct pysearch *search, uint64_t object, const struct pytype *type)
{
	uint64_t first = object + search->layout->walk.object_type + WORD, word;

	for (unsigned i = 0; i < INSIDE_WORDS; i++) {
		if (pysearch_word(search, first + i * WORD, &word))
			meet_function(search, word);
	}
	add_instance_dict(search, object, type, PYPLACE_FUNCTIONS);
}

/* Notes what a module or a class has under some name. */
static int meet_object(void *arg, uint64_t key, uint64_t object)
{
	struct pysearch *search = arg;
	const struct pytype *known;
	uint64_t type;

	(void)key;
	if (!pysearch_goes_on(search))
		return -ECANCELED;
	if (!read_type(search, object, &type))
		return 0;
	if (type == search->layout->function_type) {
		pysearch_add(search, PYPLACE_FUNCTION, object);
		return 0;
	}
	known = pywalk_type(search, type);
	if (!known || known->flags & TYPE_PLAIN)
		return 0;
	if (known->flags & TYPE_TYPE)
		pysearch_add(search, PYPLACE_CLASS, object);
	else
		look_inside(search, object, known);
	return 0;
}

static int meet_only_function(void *arg, uint64_t key, uint64_t object)
{
	(void)key;
	if (!pysearch_goes_on(arg))
		return -ECANCELED;
	meet_function(arg, object);
	return 0;
}

static void look_at_class(struct pysearch *search, uint64_t type)
{
	const struct python_functions *at = &search->layout->functions;
	uint64_t flags, dict;

	if (pysearch_word(search, type + at->type_flags, &flags) && flags & TYPE_HEAP &&
	    pysearch_word(search, type + at->type_dict, &dict) && may_be_object(dict))
		pysearch_add(search, PYPLACE_OBJECTS, dict);
}

/* Looks at functions that a function's variables from around it refer to: those that a decorator
 * has put its own one in place of. */
static void look_at_closure(struct pysearch *search, uint64_t tuple)
{
	const struct python_functions *at = &search->layout->functions;
	uint64_t count, cell, object;

	if (!may_be_object(tuple) || !pysearch_word(search, tuple + at->tuple_length, &count))
		return;
	for (uint64_t i = 0; i < count && i < CELLS_MAX; i++) {
		if (pysearch_word(search, tuple + at->tuple_items + i * WORD, &cell) &&
		    may_be_object(cell) &&
		    pysearch_word(search, cell + search->layout->walk.object_type + WORD, &object))
			meet_function(search, object);
	}
}

static void look_at_function(struct pysearch *search, uint64_t function)
{
	const struct python_functions *at = &search->layout->functions;
	uint64_t code, closure, dict;

	if (!pysearch_word(search, function + at->function_code, &code) ||
	    !pysearch_word(search, function + at->function_closure, &closure) ||
	    !pysearch_word(search, function + at->function_dict, &dict))
		return;
	pycandidate_function(search, function, code);
	if (may_be_object(code))
		pysearch_add(search, PYPLACE_CODE, code);
	look_at_closure(search, closure);
	if (may_be_object(dict))
		pysearch_add(search, PYPLACE_FUNCTIONS, dict);
}

/* Looks at code in the constants of code: of functions, classes and comprehensions inside it. */
static void look_at_code(struct pysearch *search, uint64_t code)
{
	const struct python_functions *at = &search->layout->functions;
	uint64_t type, tuple, count, item, next = 0;

	if (!read_type(search, code, &type) || type != search->layout->walk.code_type ||
	    !pysearch_word(search, code + at->code_consts, &tuple) || !may_be_object(tuple) ||
	    !pysearch_word(search, tuple + at->tuple_length, &count))
		return;
	for (uint64_t i = 0; i < count && pysearch_goes_on(search); i++) {
		uint64_t place = tuple + at->tuple_items + i * WORD;

		if (!pysearch_word(search, place, &item))
			return;
		if (!read_type(search, item, &type) || type != search->layout->walk.code_type)
			continue;
		pysearch_add(search, PYPLACE_CODE, item);
		if (i + 1 < count && pysearch_word(search, place + WORD, &next))
			pycandidate_constant(search, code, tuple, place, next);
	}
}

void pywalk_look(struct pysearch *search, const struct pyplace *place)
{
	switch (place->kind) {
	case PYPLACE_OBJECTS:
		pydict_each(search->layout, &search->near, place->address, meet_object, search);
		break;
	case PYPLACE_FUNCTIONS:
		pydict_each(search->layout, &search->near, place->address, meet_only_function,
			    search);
		break;
	case PYPLACE_CLASS:
		look_at_class(search, place->address);
		break;
	case PYPLACE_FUNCTION:
		look_at_function(search, place->address);
		break;
	case PYPLACE_CODE:
		look_at_code(search, place->address);
		break;
	}
}

/* ---- where it begins ---- */

/* Notes the dict of what sys.modules has: a module, or any object that stands for one. */
static int meet_module(void *arg, uint64_t key, uint64_t module)
{
	struct pysearch *search = arg;
	const struct pytype *known;
	uint64_t type;

	(void)key;
	if (!pysearch_goes_on(search))
		return -ECANCELED;
	known = read_type(search, module, &type) ? pywalk_type(search, type) : NULL;
	if (known)
		add_instance_dict(search, module, known, PYPLACE_OBJECTS);
	return 0;
}

static void begin_at_frames(struct pysearch *search, uint64_t thread)
{
	const struct cpython *walk = &search->layout->walk;
	uint64_t frame, code;

	if (!pysearch_word(search, thread + walk->thread_frame, &frame))
		return;
	for (int i = 0; i < FRAMES_MAX && may_be_object(frame) && pysearch_goes_on(search); i++) {
		if (pysearch_word(search, frame + walk->frame_code, &code) && may_be_object(code))
			pysearch_add(search, PYPLACE_CODE, code);
		if (!pysearch_word(search, frame + walk->frame_previous, &frame))
			return;
	}
}

void pywalk_begin(struct pysearch *search, uint64_t interpreter)
{
	const struct cpython *walk = &search->layout->walk;
	uint64_t modules, thread;

	if (pysearch_word(search, interpreter + search->layout->functions.interpreter_modules,
			  &modules) &&
	    may_be_object(modules))
		pydict_each(search->layout, &search->near, modules, meet_module, search);
	if (!pysearch_word(search, interpreter + walk->interpreter_threads, &thread))
		return;
	for (int i = 0; i < THREADS_MAX && may_be_object(thread); i++) {
		begin_at_frames(search, thread);
		if (!pysearch_word(search, thread + walk->thread_next, &thread))
			return;
	}
}
