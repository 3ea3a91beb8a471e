// SPDX-License-Identifier: GPL-2.0-or-later
#include "python/pycode_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "python/pycode_span.h"
#include "python/pystrings.h"

#define INSTRUCTION_BYTES 2    /* the shortest instruction, 3.11 and later */
#define TABLE_GUESS_BYTES 1024 /* most tables of lines are shorter */

#define COPIES_MAX	  256 /* copies of the instructions */

/* The parts of a code object, while it is read. */
struct pycode_reading {
	const struct python_layout *layout;
	const struct process_memory *memory;
	uint64_t address;
	struct span span;
	struct pystring name, file;
	const char *qualified; /* the name that was found otherwise; NULL: none was */
	size_t qualified_len;
	uint64_t table; /* address of the table's first byte */
	uint32_t table_bytes;
	bool table_known;
	/* The first bytes of the table, which were read together with its length. */
	uint8_t begin[TABLE_GUESS_BYTES];
	uint32_t begin_bytes;
	uint32_t copies[COPIES_MAX];
	uint32_t copies_count;
};

/* Returns whether the sum is `wanted`, with or without the file's name: the BPF program may have
 * failed to read the name. */
static bool is_sum(const struct pycode_reading *reading, const struct span *span,
		   uint64_t name_hash, uint32_t wanted)
{
	const struct cpython *walk = &reading->layout->walk;
	uint64_t words[CPYTHON_CODE_WORDS] = {0}, file[CPYTHON_FILE_WORDS], sum;

	memcpy(words, span->data + (walk->code_sum_at - span->from),
	       walk->code_sum_words * sizeof(words[0]));
	sum = cpython_code_sum(words, walk->code_sum_words, name_hash);
	if (sum >> 32 == wanted)
		return true;
	if (!walk->code_file)
		return false;
	uint64_t at = span_word(span, reading->layout->code_filename);
	if (reading->memory->read(reading->memory->arg, at + walk->unicode_hash - 8, file,
				  sizeof(file)) < 0)
		return false;
	return cpython_file_sum(sum, file, walk) >> 32 == wanted;
}

#define NO_HASH UINT64_MAX /* a str's hash before its first use */

/* Returns 0 if the sum, computed as in bpf/python/python_code.h, is `wanted`, else -ESTALE. The
 * name's hash may have been computed since the sample. */
static int check_sum(const struct pycode_reading *reading, const struct span *span,
		     uint64_t name_hash, uint32_t wanted)
{
	return is_sum(reading, span, name_hash, wanted) || is_sum(reading, span, NO_HASH, wanted)
		       ? 0
		       : -ESTALE;
}

/* Puts the name that was found otherwise in place of the object's own, with which it has to end. */
static int qualify_name(struct pycode_reading *reading)
{
	struct pystring *name = &reading->name;
	size_t before = reading->qualified_len - name->len;

	if (reading->qualified_len > sizeof(name->text) || reading->qualified_len < name->len ||
	    memcmp(reading->qualified + before, name->text, name->len) != 0 ||
	    (before && reading->qualified[before - 1] != '.'))
		return -ESTALE;
	memcpy(name->text, reading->qualified, reading->qualified_len);
	name->len = reading->qualified_len;
	return 0;
}

static int read_names(struct pycode_reading *reading, uint32_t sum)
{
	const struct python_layout *layout = reading->layout;
	uint64_t name = span_word(&reading->span, layout->code_name);
	uint64_t type = span_word(&reading->span, layout->walk.object_type);

	int r = pystring_read(&reading->name, layout, reading->memory, name);
	if (r < 0)
		return r;
	r = check_sum(reading, &reading->span, reading->name.hash, sum);
	if (r < 0)
		return r;
	if (layout->walk.code_type && type != layout->walk.code_type)
		return -EBADMSG;
	if (layout->code_qualname != CPYTHON_NO) {
		uint64_t qualified = span_word(&reading->span, layout->code_qualname);

		if (qualified != name)
			r = pystring_read(&reading->name, layout, reading->memory, qualified);
	} else if (reading->qualified) {
		r = qualify_name(reading);
	}
	if (r < 0)
		return r;
	return pystring_read(&reading->file, layout, reading->memory,
			     span_word(&reading->span, layout->code_filename));
}

/* Reads the table's length and its first bytes. */
static int find_table(struct pycode_reading *reading)
{
	const struct python_layout *layout = reading->layout;
	uint64_t object = span_word(&reading->span, layout->code_lines), bytes;
	size_t header = layout->bytes_data;

	if (layout->bytes_length + sizeof(bytes) > header || header > sizeof(reading->begin) / 2)
		return -EBADMSG;
	long got = pystring_begin(reading->memory, object, reading->begin, header,
				  sizeof(reading->begin));
	if (got < 0)
		return (int)got;
	memcpy(&bytes, reading->begin + layout->bytes_length, sizeof(bytes));
	if (bytes > INT64_MAX)
		return -EBADMSG;
	reading->table = object + header;
	reading->table_known = bytes <= PYLINES_BYTES_MAX;
	reading->table_bytes = reading->table_known ? (uint32_t)bytes : 0;
	reading->begin_bytes = (uint32_t)((size_t)got - header);
	memmove(reading->begin, reading->begin + header, reading->begin_bytes);
	return 0;
}

static int read_table(const struct pycode_reading *reading, uint8_t *to)
{
	uint32_t have = reading->begin_bytes;

	if (have > reading->table_bytes)
		have = reading->table_bytes;
	memcpy(to, reading->begin, have);
	if (have == reading->table_bytes)
		return 0;
	return reading->memory->read(reading->memory->arg, reading->table + have, to + have,
				     reading->table_bytes - have);
}

/* Reads {int64 count; address copies[count]}, which grows with the number of threads. */
static int read_copies(struct pycode_reading *reading)
{
	const struct process_memory *memory = reading->memory;
	uint64_t object, count, copies[COPIES_MAX];

	reading->copies_count = 0;
	if (reading->layout->code_copies == CPYTHON_NO)
		return 0;
	object = span_word(&reading->span, reading->layout->code_copies);
	if (!object)
		return 0;
	int r = memory->read(memory->arg, object, &count, sizeof(count));
	if (r < 0)
		return r;
	if (count > COPIES_MAX)
		count = COPIES_MAX;
	r = memory->read(memory->arg, object + sizeof(count), copies, count * sizeof(copies[0]));
	for (uint64_t i = 0; r == 0 && i < count; i++) {
		if (copies[i])
			reading->copies[reading->copies_count++] =
				(uint32_t)(copies[i] - reading->address);
	}
	return r;
}

static void fill_lines(struct pycode *code, const struct pycode_reading *reading,
		       const uint8_t *table)
{
	const struct python_layout *layout = reading->layout;

	code->lines = (struct pylines){
		.table = table,
		.bytes = reading->table_bytes,
		.form = layout->lines,
		.marks = code->marks,
	};
	memcpy(&code->lines.first_line,
	       reading->span.data + (layout->code_first_line - reading->span.from),
	       sizeof(code->lines.first_line));
	code->lines_known = reading->table_known;
	pylines_index(&code->lines);
}

static void fill_instructions(struct pycode *code, const struct python_layout *layout)
{
	if (layout->code_instructions == CPYTHON_NO) { /* f_lasti: -1 */
		code->unit_bytes = layout->instruction_bytes;
		code->not_begun = (int8_t)-layout->instruction_bytes;
		return;
	}
	code->unit_bytes = 1;
	code->first_instruction = layout->code_instructions;
	code->not_begun = -INSTRUCTION_BYTES; /* prev_instr: before the first instruction */
}

/* Returns whether a qualified name may be found: a module's code has none. */
static bool is_alone(const struct pycode_reading *reading)
{
	static const char module[] = "<module>";
	const struct pystring *name = &reading->name;

	return python_has_functions(reading->layout) && !reading->qualified &&
	       (name->len != sizeof(module) - 1 || memcmp(name->text, module, name->len) != 0);
}

static int make_code(struct pycode **ret, const struct pycode_reading *reading)
{
	size_t marks = pylines_marks_max(reading->table_bytes) * sizeof(struct pylines_mark);
	size_t copies = reading->copies_count * sizeof(reading->copies[0]);
	size_t bytes = sizeof(struct pycode) + marks + copies + reading->table_bytes +
		       reading->name.len + reading->file.len;
	_cleanup_free_ struct pycode *code = calloc(1, bytes);

	if (!code)
		return -ENOMEM;
	uint8_t *table = (uint8_t *)code->marks + marks + copies;
	code->has_copies = reading->layout->code_copies != CPYTHON_NO;
	code->is_alone = is_alone(reading);
	code->copies_count = reading->copies_count;
	code->copies = memcpy((uint8_t *)code->marks + marks, reading->copies, copies);
	int r = read_table(reading, table);
	if (r < 0)
		return r;
	fill_lines(code, reading, table);
	fill_instructions(code, reading->layout);
	memcpy(table + reading->table_bytes, reading->name.text, reading->name.len);
	memcpy(table + reading->table_bytes + reading->name.len, reading->file.text,
	       reading->file.len);
	code->name_len = (uint32_t)reading->name.len;
	code->file_len = (uint32_t)reading->file.len;
	code->bytes = (uint32_t)bytes;
	code->refs = 1;
	*ret = TAKE_PTR(code);
	return 0;
}

/*
 * Returns whether the object has been freed. A freed object looks as before, but its first words
 * hold links of the allocator: its reference count and, if libc allocated it, its type. The count
 * has at most 32 bits (immortal: all set); 3.14 has flags in the word's upper 16. Free-threaded
 * builds count elsewhere.
 */
static bool is_freed(const struct pycode_reading *reading, const struct span *span)
{
	const struct cpython *walk = &reading->layout->walk;

	if (span_word(span, walk->object_type) != span_word(&reading->span, walk->object_type))
		return true;
	if (walk->object_type != sizeof(uint64_t))
		return false;
	uint64_t count = span_word(span, 0) & UINT64_MAX >> 16;
	return !count || count > UINT32_MAX;
}

/* Checks that the object is still the same, with the same parts, after these have been read: the
 * parts live as long as the object. */
static int check_again(const struct pycode_reading *reading, uint32_t sum)
{
	const struct python_layout *layout = reading->layout;
	const uint16_t fields[] = {layout->code_name, layout->code_qualname, layout->code_filename,
				   layout->code_lines};
	uint64_t name_hash;
	struct span span;

	int r = span_read(&span, layout, reading->memory, reading->address);
	if (r < 0)
		return r;
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		if (fields[i] != CPYTHON_NO &&
		    span_word(&span, fields[i]) != span_word(&reading->span, fields[i]))
			return -ESTALE;
	if (is_freed(reading, &span))
		return -ESTALE;
	r = reading->memory->read(reading->memory->arg,
				  span_word(&span, layout->code_name) + layout->walk.unicode_hash,
				  &name_hash, sizeof(name_hash));
	if (r < 0)
		return r;
	return check_sum(reading, &span, name_hash, sum);
}

static int read_code(struct pycode **ret, struct pycode_reading *reading, uint32_t sum)
{
	const struct process_memory *memory = reading->memory;
	struct pycode *code = NULL;
	int r = span_read(&reading->span, reading->layout, memory, reading->address);

	if (r == 0)
		r = read_names(reading, sum);
	if (r == 0)
		r = find_table(reading);
	if (r == 0)
		r = read_copies(reading);
	if (r == 0)
		r = make_code(&code, reading);
	if (r < 0)
		return r;
	if (!memory->settle || !memory->settle(memory->arg))
		r = check_again(reading, sum);
	if (r < 0) {
		pycode_unref(code);
		return r;
	}
	*ret = code;
	return 0;
}

int pycode_read_qualified(struct pycode **ret, const struct python_layout *layout,
			  const struct process_memory *memory, uint64_t address, uint32_t sum,
			  const char *name, size_t len)
{
	_cleanup_free_ struct pycode_reading *reading = malloc(sizeof(*reading));

	if (!reading)
		return -ENOMEM;
	reading->layout = layout;
	reading->memory = memory;
	reading->address = address;
	reading->qualified = name;
	reading->qualified_len = len;
	return read_code(ret, reading, sum);
}

int pycode_read(struct pycode **ret, const struct python_layout *layout,
		const struct process_memory *memory, uint64_t address, uint32_t sum)
{
	return pycode_read_qualified(ret, layout, memory, address, sum, NULL, 0);
}
