/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Made-up memory of a Python 3.10 with modules, classes, functions and code. */
#pragma once

#include "unit/lib/unit.h"

#include "python/functions/pyfunctions.h"

#define MADE_AT		0x7f1234560000
#define MADE_BYTES	(1u << 20)
#define MADE_RUNTIME	(MADE_AT + 64)
#define MADE_TYPE_BYTES 400
#define MADE_CODE_BYTES 176
#define MADE_FUNCTION	128
#define MADE_STR_FLAG	(1u << 28)
#define MADE_TYPE_FLAG	(1u << 31)
#define MADE_HEAP_FLAG	(1u << 9)

/* Types that the memory has, in this order behind the runtime. */
enum made_type {
	MADE_CODE,
	MADE_FUNCTIONS,
	MADE_STR,
	MADE_MODULE,
	MADE_META,
	MADE_PLAIN,
	MADE_HOLDER, /* its dict is in the word at 40 */
};

struct made {
	uint8_t *data;
	uint64_t used;
	struct python_layout layout;
	uint64_t modules; /* the dict */
	unsigned int reads;
	/* Called before each read, with how many there were. */
	void (*change)(struct made *made, unsigned int reads);
	uint64_t change_at;
};

static inline int made_read(void *arg, uint64_t address, void *to, size_t bytes)
{
	struct made *made = arg;
	uint64_t at = address - MADE_AT;

	if (made->change)
		made->change(made, made->reads);
	made->reads++;
	if (at >= MADE_BYTES || bytes > MADE_BYTES - at)
		return -EFAULT;
	memcpy(to, made->data + at, bytes);
	return 0;
}

static inline void made_put(struct made *made, uint64_t address, uint64_t word)
{
	assert_true(address - MADE_AT <= MADE_BYTES - sizeof(word));
	memcpy(made->data + (address - MADE_AT), &word, sizeof(word));
}

static inline uint64_t made_get(const struct made *made, uint64_t address)
{
	uint64_t word;

	memcpy(&word, made->data + (address - MADE_AT), sizeof(word));
	return word;
}

static inline uint64_t made_type_at(enum made_type type)
{
	return MADE_RUNTIME + 256 + (uint64_t)type * MADE_TYPE_BYTES;
}

/* An object with one reference. */
static inline uint64_t made_object(struct made *made, size_t bytes, uint64_t type)
{
	uint64_t address = MADE_AT + made->used;

	made->used += (bytes + 15) / 16 * 16;
	assert_true(made->used <= MADE_BYTES);
	made_put(made, address, 1);
	made_put(made, address + 8, type);
	return address;
}

static inline uint64_t made_str(struct made *made, const char *text)
{
	size_t len = strlen(text);
	uint64_t address = made_object(made, 48 + len + 1, made_type_at(MADE_STR));

	made_put(made, address + 16, len);
	made_put(made, address + 24, 0x1234567 * (len + (uint8_t)text[0]) + 77); /* the hash */
	made_put(made, address + 32, 1 << 2 | 1 << 5 | 1 << 6);
	memcpy(made->data + (address - MADE_AT) + 48, text, len);
	return address;
}

/* A tuple; a closure's or constants. */
static inline uint64_t made_tuple(struct made *made, const uint64_t *items, size_t count)
{
	uint64_t address = made_object(made, 24 + 8 * count, made_type_at(MADE_PLAIN));

	made_put(made, address + 16, count);
	for (size_t i = 0; i < count; i++)
		made_put(made, address + 24 + 8 * i, items[i]);
	return address;
}

/* Code `name` of a file. */
static inline uint64_t made_code(struct made *made, const char *name, const char *file)
{
	uint64_t text = made_str(made, name), path = made_str(made, file);
	uint64_t lines = made_object(made, 48, made_type_at(MADE_PLAIN));
	uint64_t consts = made_tuple(made, NULL, 0);
	uint64_t code = made_object(made, MADE_CODE_BYTES, made_type_at(MADE_CODE));

	made_put(made, lines + 16, 2);
	made_put(made, code + 40, 7);
	made_put(made, code + 56, consts);
	made_put(made, code + 104, path);
	made_put(made, code + 112, text);
	made_put(made, code + 120, lines);
	return code;
}

static inline void made_set_consts(struct made *made, uint64_t code, const uint64_t *items,
				   size_t count)
{
	made_put(made, code + 56, made_tuple(made, items, count));
}

static inline uint64_t made_function(struct made *made, uint64_t code, const char *qualname)
{
	uint64_t name = made_str(made, qualname);
	uint64_t function = made_object(made, MADE_FUNCTION, made_type_at(MADE_FUNCTIONS));

	made_put(made, function + 16, made->modules); /* the globals: any object */
	made_put(made, function + 40, name);
	made_put(made, function + 48, code);
	return function;
}

/* A dict of `count` keys and values, with an index of that size; `split`: as instances have it. */
static inline uint64_t made_dict(struct made *made, const char *const *keys, const uint64_t *values,
				 size_t count, uint64_t size, bool split)
{
	uint64_t width = size <= 0xff ? 1 : size <= 0xffff ? 2 : 4, names[64];

	for (size_t i = 0; i < count; i++)
		names[i % 64] = i < 64 ? made_str(made, keys[i]) : names[i % 64];
	uint64_t table = made_object(made, 40 + size * width + 24 * count, 0);
	uint64_t entries = table + 40 + size * width;
	uint64_t apart = split ? made_object(made, 16 + 8 * count, 0) : 0;
	uint64_t dict = made_object(made, 48, made_type_at(MADE_PLAIN));

	made_put(made, table + 8, size);
	made_put(made, table + 32, count);
	for (size_t i = 0; i < count; i++) {
		made_put(made, entries + 24 * i + 8, names[i % 64]);
		made_put(made, split ? apart + 8 * i : entries + 24 * i + 16, values[i]);
	}
	made_put(made, dict + 16, count);
	made_put(made, dict + 32, table);
	made_put(made, dict + 40, apart);
	return dict;
}

static inline uint64_t made_dict_of(struct made *made, const char *key, uint64_t value)
{
	return made_dict(made, &key, &value, 1, 8, false);
}

/* A class with one attribute. */
static inline uint64_t made_class(struct made *made, const char *key, uint64_t value)
{
	uint64_t dict = made_dict_of(made, key, value);
	uint64_t class = made_object(made, MADE_TYPE_BYTES, made_type_at(MADE_META));

	made_put(made, class + 168, MADE_HEAP_FLAG);
	made_put(made, class + 264, dict);
	return class;
}

/* The only module, which has `dict`. */
static inline void made_set_module(struct made *made, uint64_t dict)
{
	uint64_t module = made_object(made, 64, made_type_at(MADE_MODULE));
	uint64_t modules = made_dict_of(made, "shop", module);

	made_put(made, module + 16, dict);
	made_put(made,
		 made_get(made, MADE_RUNTIME + made->layout.walk.interpreters_head) +
			 made->layout.functions.interpreter_modules,
		 modules);
	made->modules = modules;
}

static inline struct made *made_new(void)
{
	struct made *made = calloc(1, sizeof(*made));

	assert_non_null(made);
	made->data = calloc(1, MADE_BYTES);
	assert_non_null(made->data);
	made->used = 8192;
	assert_int_equal(python_layout_of(0x030a0df0, NULL, 0, &made->layout), 0);
	made->layout.walk.runtime = MADE_RUNTIME;
	made->layout.walk.code_type = made_type_at(MADE_CODE);
	made->layout.function_type = made_type_at(MADE_FUNCTIONS);
	made_put(made, made_type_at(MADE_STR) + 168, MADE_STR_FLAG);
	made_put(made, made_type_at(MADE_META) + 168, MADE_TYPE_FLAG);
	made_put(made, made_type_at(MADE_MODULE) + 288, 16);
	made_put(made, made_type_at(MADE_HOLDER) + 288, 40);
	made_put(made, MADE_RUNTIME + made->layout.walk.interpreters_head,
		 made_object(made, 1024, 0));
	made->modules = 1;
	return made;
}

static inline void made_done(struct made **made)
{
	free((*made)->data);
	free(*made);
}
#define _cleanup_made_ _cleanup_(made_done)

/* As the kernel's side sums a code object up. */
static inline uint32_t code_sum_of(const struct python_layout *layout,
				   const struct process_memory *memory, uint64_t address)
{
	const struct cpython *walk = &layout->walk;
	uint64_t words[CPYTHON_CODE_WORDS] = {0}, name = 0, hash = 0, file[CPYTHON_FILE_WORDS];

	if (memory->read(memory->arg, address + walk->code_sum_at, words,
			 walk->code_sum_words * sizeof(words[0])) < 0 ||
	    memory->read(memory->arg, address + walk->code_name, &name, sizeof(name)) < 0 ||
	    memory->read(memory->arg, name + walk->unicode_hash, &hash, sizeof(hash)) < 0)
		return 0;
	hash = cpython_code_sum(words, walk->code_sum_words, hash);
	if (!walk->code_file ||
	    memory->read(memory->arg, address + walk->code_file, &name, sizeof(name)) < 0 ||
	    memory->read(memory->arg, name + walk->unicode_hash - 8, file, sizeof(file)) < 0)
		return (uint32_t)(hash >> 32);
	return (uint32_t)(cpython_file_sum(hash, file, walk) >> 32);
}

/* Searches for one code object. Returns its name, the caller's; NULL: none was found. */
static inline char *made_search(struct made *made, uint64_t code)
{
	struct process_memory memory = {.read = made_read, .arg = made};
	struct pyfunction_sought sought = {code, code_sum_of(&made->layout, &memory, code), NULL,
					   NULL};
	struct pyfunctions_result result;
	size_t len;

	made->reads = 0;
	assert_int_equal(pyfunctions_search(&sought, 1, &made->layout, &memory, &result), 0);
	if (!sought.found)
		return NULL;
	const char *name = pycode_name(sought.found, &len);
	char *copy = strndup(name, len);

	assert_false(pycode_is_alone(sought.found));
	pycode_unref(sought.found);
	return copy;
}

#define assert_called(made, code, name)                                                            \
	do {                                                                                       \
		_cleanup_free_ char *found_ = made_search((made), (code));                         \
                                                                                                   \
		assert_non_null(found_);                                                           \
		assert_string_equal(found_, (name));                                               \
	} while (0)

#define assert_not_called(made, code)                                                              \
	do {                                                                                       \
		_cleanup_free_ char *found_ = made_search((made), (code));                         \
                                                                                                   \
		if (found_)                                                                        \
			fail_msg("called %s", found_);                                             \
	} while (0)
