// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "python/functions/pydict.h"
#include "python/functions/pyfunctions_state.h"
#include "python/pystrings.h"

#define TYPE_STR   (1ULL << 28) /* a flag of a type, Include/object.h */
#define WORD	   8u
#define NAMES_MAX  64 /* of a function's attributes that are looked at */
#define LOCALS	   ".<locals>"
#define LOCALS_LEN (sizeof(LOCALS) - 1)

struct dotted {
	const char *text;
	size_t len;
};

static bool is_name(const struct dotted *name, const char *text, size_t len)
{
	return name->len == len && memcmp(name->text, text, len) == 0;
}

/* Takes the last part off a name, if it is this one: its length becomes that of what is before the
 * dot. */
static bool strip_part(struct dotted *name, const char *part, size_t len)
{
	if (name->len < len + 1 || name->text[name->len - len - 1] != '.' ||
	    memcmp(name->text + name->len - len, part, len) != 0)
		return false;
	name->len -= len + 1;
	return true;
}

/* Returns whether a name is that of code called `own`, with or without names before it. */
static bool is_of(const struct pystring *name, const char *own, size_t len)
{
	struct dotted whole = {name->text, name->len};

	return is_name(&whole, own, len) || strip_part(&whole, own, len);
}

/* Returns whether the compiler gives that name to code `own` that stands in code called `around`:
 * `around` is a module, a function or a class. */
static bool is_inside(const struct pystring *name, const struct pywanted *own,
		      const struct pystring *around)
{
	static const char module[] = "<module>";
	struct dotted whole = {name->text, name->len}, outer = {around->text, around->len};

	if (is_name(&outer, module, sizeof(module) - 1))
		return is_name(&whole, own->name, own->name_len);
	if (!strip_part(&whole, own->name, own->name_len))
		return false;
	if (whole.len > LOCALS_LEN &&
	    memcmp(whole.text + whole.len - LOCALS_LEN, LOCALS, LOCALS_LEN) == 0)
		whole.len -= LOCALS_LEN;
	return is_name(&whole, around->text, around->len) ||
	       strip_part(&whole, around->text, around->len);
}

static void add_candidate(struct pysearch *search, struct pycandidate *to,
			  const struct pystring *name, const struct pycandidate *found)
{
	if (to->text) {
		if (to->len != name->len || memcmp(to->text, name->text, name->len) != 0)
			to->several = true;
		return;
	}
	*to = *found;
	to->text = malloc(name->len + 1);
	to->len = name->len;
	if (!to->text)
		search->error = -ENOMEM;
	else
		memcpy(to->text, name->text, name->len);
}

/* ---- functions ---- */

struct attributes {
	struct pysearch *search;
	unsigned names;
	bool is_wrapper;
};

static int meet_attribute(void *arg, uint64_t key, uint64_t value)
{
	static const char wrapped[] = "__wrapped__";
	struct attributes *attributes = arg;
	struct pystring name;

	(void)value;
	if (++attributes->names > NAMES_MAX || !pysearch_goes_on(attributes->search))
		return -ECANCELED;
	if (pystring_read(&name, attributes->search->layout, &attributes->search->near, key) < 0)
		return -EBADMSG;
	attributes->is_wrapper =
		name.len == sizeof(wrapped) - 1 && memcmp(name.text, wrapped, name.len) == 0;
	return attributes->is_wrapper;
}

/* Returns whether functools.wraps() may have given the function another one's name. */
static bool is_wrapper(struct pysearch *search, uint64_t function)
{
	struct attributes attributes = {.search = search};
	uint64_t dict;

	if (!pysearch_word(search, function + search->layout->functions.function_dict, &dict))
		return true;
	return dict &&
	       pydict_each(search->layout, &search->near, dict, meet_attribute, &attributes) != 0;
}

void pycandidate_function(struct pysearch *search, uint64_t function, uint64_t code)
{
	const struct python_functions *at = &search->layout->functions;
	struct pywanted *wanted = map_get(search->wanted, &code);
	struct pycandidate found = {
		.holder = function,
		.code_at = function + at->function_code,
		.name_at = function + at->function_qualname,
	};
	struct pystring name;
	uint64_t address;

	if (!wanted || is_wrapper(search, function) ||
	    !pysearch_word(search, found.name_at, &address) ||
	    pystring_read(&name, search->layout, &search->near, address) < 0)
		return;
	if (is_of(&name, wanted->name, wanted->name_len))
		add_candidate(search, &wanted->by_function, &name, &found);
}

/* ---- constants ---- */

static bool is_str(struct pysearch *search, uint64_t object)
{
	const struct pytype *known;
	uint64_t type;

	if (!pysearch_word(search, object + search->layout->walk.object_type, &type))
		return false;
	known = pywalk_type(search, type);
	return known && known->flags & TYPE_STR;
}

void pycandidate_constant(struct pysearch *search, uint64_t parent, uint64_t tuple, uint64_t at,
			  uint64_t next)
{
	const struct pycandidate found = {.holder = tuple, .code_at = at, .name_at = at + WORD};
	struct pystring name, around;
	struct pywanted *wanted;
	uint64_t code, address;

	if (!pysearch_word(search, at, &code))
		return;
	wanted = map_get(search->wanted, &code);
	if (!wanted || !is_str(search, next) ||
	    pystring_read(&name, search->layout, &search->near, next) < 0 ||
	    !pysearch_word(search, parent + search->layout->code_name, &address) ||
	    pystring_read(&around, search->layout, &search->near, address) < 0)
		return;
	if (is_inside(&name, wanted, &around))
		add_candidate(search, &wanted->by_constant, &name, &found);
}

/* ---- what is wanted ---- */

int pycandidate_want(struct pysearch *search, struct pyfunction_sought *sought)
{
	struct pywanted *wanted = NULL;
	struct pystring name;
	uint64_t address;

	if (!pysearch_word(search, sought->address + search->layout->code_name, &address) ||
	    pystring_read(&name, search->layout, &search->near, address) < 0)
		return search->error; /* it is gone */
	int r = map_put(search->wanted, &sought->address, (void **)&wanted);
	if (r < 0)
		return r;
	if (r == 0) { /* one of the two is no more: the sum says which */
		sought->also = wanted->sought;
		wanted->sought = sought;
		return 0;
	}
	wanted->name = malloc(name.len + 1);
	if (!wanted->name) {
		map_del(search->wanted, &sought->address);
		return -ENOMEM;
	}
	memcpy(wanted->name, name.text, name.len);
	wanted->name_len = name.len;
	wanted->sought = sought;
	return 0;
}

void pywanted_done(struct pywanted *wanted)
{
	free(wanted->name);
	free(wanted->by_constant.text);
	free(wanted->by_function.text);
}

/* Reads a word as it is now. */
static bool read_now(const struct pysearch *search, uint64_t address, uint64_t *word)
{
	return search->memory->read(search->memory->arg, address, word, sizeof(*word)) == 0;
}

/* Returns whether who says the name is alive, and still says it of this code. */
static bool is_still_so(const struct pysearch *search, const struct pycandidate *candidate,
			uint64_t code)
{
	uint64_t references, word;
	struct pystring name;

	if (!read_now(search, candidate->holder + OBJECT_REFERENCES, &references) || !references ||
	    references > UINT32_MAX)
		return false;
	if (!read_now(search, candidate->code_at, &word) || word != code)
		return false;
	if (!read_now(search, candidate->name_at, &word) ||
	    pystring_read(&name, search->layout, search->memory, word) < 0)
		return false;
	return name.len == candidate->len && memcmp(name.text, candidate->text, name.len) == 0;
}

static bool is_function_now(const struct pysearch *search, uint64_t function)
{
	const struct python_functions *at = &search->layout->functions;
	uint64_t type, globals;

	return read_now(search, function + search->layout->walk.object_type, &type) &&
	       type == search->layout->function_type &&
	       read_now(search, function + at->function_globals, &globals) && globals;
}

/* Returns the code object if its name is beyond doubt. Code made of a text may be anybody's: a
 * program that makes methods so names their functions after a class that the compiler knew nothing
 * of (dataclasses). */
static struct pycode *without_text(struct pycode *code, const struct pywanted *wanted)
{
	size_t len;
	const char *file = pycode_file(code, &len);

	if (len && file[0] == '<' && wanted->by_function.len != wanted->name_len) {
		pycode_unref(code);
		return NULL;
	}
	return code;
}

void pycandidate_take(struct pysearch *search, const struct pywanted *wanted)
{
	const struct pycandidate *candidate = &wanted->by_constant;
	uint64_t address = wanted->sought->address;

	if (!candidate->text)
		candidate = &wanted->by_function;
	if (!candidate->text || candidate->several || !is_still_so(search, candidate, address))
		return;
	/* What a search that was cut hasn't seen might disagree with a function. */
	if (candidate == &wanted->by_function &&
	    (search->cut || !is_function_now(search, candidate->holder)))
		return;
	for (struct pyfunction_sought *sought = wanted->sought; sought; sought = sought->also) {
		struct pycode *code = NULL;

		if (pycode_read_qualified(&code, search->layout, search->memory, address,
					  sought->sum, candidate->text, candidate->len) < 0)
			continue;
		sought->found =
			candidate == &wanted->by_function ? without_text(code, wanted) : code;
	}
}
