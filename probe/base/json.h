/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes JSON (RFC 8259) into a buffer, in one pass. The writer sets the commas; the caller ends
 * each object and array that it began. Errors are the buffer's (base/buf.h): look once, at the end.
 * cJSON is for reading only.
 *
 * `key` is a name of our own, written as it is; NULL: the value stands in an array, or alone.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct json {
	struct buf *out;
	bool indented;	/* each member has its line; false: no blanks */
	bool has_value; /* a value stands before the next one, so a comma comes between them */
	unsigned depth; /* objects and arrays that are open */
};

#define json_object(json, key) json_begin(json, key, "{")
#define json_object_end(json)  json_end(json, '}')
#define json_array(json, key)  json_begin(json, key, "[")
#define json_array_end(json)   json_end(json, ']')
void json_begin(struct json *json, const char *key, const char *bracket);
void json_end(struct json *json, char bracket);

/* Ends the line; the next value begins one. */
void json_line(struct json *json);

/* Adds what is JSON already, such as null; "": the caller adds it to json->out himself. */
void json_raw(struct json *json, const char *key, const char *value);
void json_u64(struct json *json, const char *key, uint64_t value);

/* Adds a finite number with 15 digits, or with 17 if 15 tell another one. */
void json_double(struct json *json, const char *key, double value);

/* Adds a time, ns since 1970, in seconds with three digits behind the point. */
void json_seconds(struct json *json, const char *key, uint64_t time_ns);

/*
 * Add a text; what is no valid UTF-8 in it becomes U+FFFD. json_text() is for texts of our own and
 * of clients: `\n` and its kin have their short escapes, U+007F stays. json_name() and
 * json_string(), of `len` bytes, are for names of targets: U+007F and each control byte become
 * \u00XX.
 */
void json_text(struct json *json, const char *key, const char *text);
void json_name(struct json *json, const char *key, const char *name);
void json_string(struct json *json, const char *key, const char *text, size_t len);

/* Add several numbers, json_numbers(json, {"now", 1}, {"max", 2}), or an object of them. */
#define json_numbers(json, ...)                                                                    \
	json_add_numbers(json, (const struct json_number[]){__VA_ARGS__, {0}})
#define json_number_object(json, key, ...)                                                         \
	(json_object(json, key), json_numbers(json, __VA_ARGS__), json_object_end(json))
struct json_number {
	const char *key;
	uint64_t value;
};
void json_add_numbers(struct json *json, const struct json_number *numbers);

/* Adds an object of counts[first] to counts[end - 1] by the names that name_of() has for them. */
#define json_counts(json, key, first, end, name_of, counts)                                        \
	do {                                                                                       \
		json_object(json, key);                                                            \
		for (int i_ = (first); i_ < (end); i_++)                                           \
			json_u64(json, name_of(i_), (counts)[i_]);                                 \
		json_object_end(json);                                                             \
	} while (0)
