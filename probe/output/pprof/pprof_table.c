// SPDX-License-Identifier: GPL-2.0-or-later
/* The tables of a pprof: strings, mappings, functions, locations. Each entry is written once. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/utf8.h"
#include "output/pprof/pprof_writer.h"
#include "output/pprof/protobuf.h"
#include "elf/demangle.h"

/* CPU time of demangling in one pprof; later names stay as the linker has them. */
#define DEMANGLED_MAX_NS 2000000000ULL

enum {
	MAPPING_ID = 1,
	MAPPING_START = 2,
	MAPPING_LIMIT = 3,
	MAPPING_OFFSET = 4,
	MAPPING_FILE = 5,
	MAPPING_BUILD_ID = 6,
	MAPPING_HAS_FUNCTIONS = 7,
	MAPPING_HAS_FILES = 8,
	MAPPING_HAS_LINES = 9,
	MAPPING_HAS_INLINED = 10,
	LOCATION_ID = 1,
	LOCATION_MAPPING = 2,
	LOCATION_ADDRESS = 3,
	LOCATION_LINE = 4,
	LINE_FUNCTION = 1,
	LINE_LINE = 2,
	FUNCTION_ID = 1,
	FUNCTION_NAME = 2,
	FUNCTION_SYSTEM_NAME = 3,
	FUNCTION_FILE = 4,
};

#define STRINGS_MAX_BYTES (256u * 1024 * 1024)
#define STRING_MAX_BYTES  65535		      /* of a longer string Pyroscope keeps the end */
#define KERNEL_FILE	  "[kernel.kallsyms]" /* as perf has it */
#define NO_NAME		  "[unknown]"	      /* a stack without frames, a frame without a name */
#define MAPPING_BYTES	  64		      /* upper bound for a staged mapping */

struct function_key {
	uint32_t name, system_name, file;
};

int pprof_writer_init(struct pprof_writer *writer, const struct tree *tree,
		      const struct profile_meta *meta)
{
	size_t frames = tree_frames_count(tree);

	*writer = (struct pprof_writer){
		.tree = tree,
		.meta = meta,
		.staged = BUF_INIT(SIZE_MAX),
		.message = BUF_INIT(SIZE_MAX),
		.inner = BUF_INIT(SIZE_MAX),
		.text = BUF_INIT(STRING_MAX_BYTES),
	};
	int r = intern_new(&writer->strings, STRINGS_MAX_BYTES);
	if (r == 0) /* a location has at most LINE_LEVELS functions */
		r = map_new(&writer->functions, sizeof(struct function_key), sizeof(uint32_t),
			    (frames + LOCATIONS_MORE) * LINE_LEVELS);
	if (r == 0)
		r = map_new(&writer->by_module, sizeof(const struct module *), sizeof(uint32_t),
			    frames + 1);
	writer->used = calloc(frames + LOCATIONS_MORE, 1);
	if (r == 0 && !writer->used)
		r = -ENOMEM;
	if (r == 0)
		pprof_text(writer, ""); /* string 0 has to be empty */
	return r < 0 ? r : writer->error;
}

void pprof_writer_done(struct pprof_writer *writer)
{
	buf_done(&writer->staged);
	buf_done(&writer->message);
	buf_done(&writer->inner);
	buf_done(&writer->text);
	intern_free(writer->strings);
	map_free(writer->functions);
	map_free(writer->by_module);
	free(writer->mappings);
	free(writer->used);
}

static void stage_bytes(struct pprof_writer *writer, const void *bytes, size_t len)
{
	buf_add(&writer->staged, bytes, len);
	if (!writer->error)
		writer->error = buf_error(&writer->staged);
}

void pprof_put_message(struct pprof_writer *writer, uint32_t field)
{
	protobuf_head(&writer->staged, field, writer->message.len);
	stage_bytes(writer, writer->message.data, writer->message.len);
	if (!writer->error)
		writer->error = buf_error(&writer->message);
	if (!writer->error)
		writer->error = buf_error(&writer->inner);
}

void pprof_put_number(struct pprof_writer *writer, uint32_t field, uint64_t value)
{
	protobuf_number(&writer->staged, field, value);
}

/* ---- strings ---- */

/* Makes the string as it is kept, in writer->text. */
static void clean_string(struct pprof_writer *writer, const char *string, size_t len)
{
	struct buf *text = &writer->text;
	size_t most = STRING_MAX_BYTES - strlen(UTF8_ELLIPSIS);

	text->len = 0;
	for (size_t at = 0; at < len;) {
		size_t bytes = utf8_sequence(string + at, len - at);
		size_t needed = bytes ? bytes : strlen(UTF8_REPLACEMENT);

		if (text->len + needed > most) {
			buf_str(text, UTF8_ELLIPSIS);
			return;
		}
		if (bytes)
			buf_add(text, string + at, bytes);
		else
			buf_str(text, UTF8_REPLACEMENT);
		at += bytes ? bytes : 1;
	}
}

uint32_t pprof_string(struct pprof_writer *writer, const char *string, size_t len)
{
	const struct buf *text = &writer->text;

	clean_string(writer, string, len);
	int64_t number = buf_error(text) ? buf_error(text)
					 : intern_add(writer->strings, text->data ? text->data : "",
						      text->len);
	if (number < 0) {
		writer->error = (int)number;
		return 0;
	}
	if (number >= writer->strings_count) {
		writer->strings_count = (uint32_t)number + 1;
		protobuf_head(&writer->staged, PROFILE_STRING, text->len);
		stage_bytes(writer, text->data, text->len);
	}
	return (uint32_t)number;
}

uint32_t pprof_text(struct pprof_writer *writer, const char *text)
{
	return pprof_string(writer, text, strlen(text));
}

/* Returns the string of a frame's name; NO_NAME if empty, as Pyroscope leaves out such
 * functions. */
static uint32_t name_of(struct pprof_writer *writer, const struct frame *frame)
{
	return frame->name_len ? pprof_string(writer, frame->name, frame->name_len)
			       : pprof_text(writer, NO_NAME);
}

/* ---- mappings ---- */

/* Returns the number of the entry with that key, which is added if missing (*is_new). */
static uint32_t number_of_key(struct pprof_writer *writer, struct map *map, const void *key,
			      bool *is_new)
{
	uint32_t *number;
	int r = map_put(map, key, (void **)&number);

	*is_new = r > 0;
	if (r < 0) {
		writer->error = r;
		return 0;
	}
	if (r > 0)
		*number = (uint32_t)map_count(map);
	return *number;
}

static uint32_t build_id_of(struct pprof_writer *writer, const struct module *module)
{
	_cleanup_buf_ struct buf hex = BUF_INIT(1024);

	for (size_t i = 0; i < module->build_id_len; i++)
		buf_printf(&hex, "%02x", module->build_id[i]);
	if (buf_error(&hex) == -ENOMEM)
		writer->error = -ENOMEM;
	return hex.len ? pprof_string(writer, hex.data, hex.len) : 0;
}

static void new_mapping(struct pprof_writer *writer, uint32_t id, const struct module *module)
{
	struct pprof_mapping *grown = reallocarray(writer->mappings, id, sizeof(*writer->mappings));

	if (!grown) {
		writer->error = -ENOMEM;
		return;
	}
	writer->mappings = grown;
	grown[id - 1] = (struct pprof_mapping){
		.module = module,
		.file = module ? pprof_string(writer, module->path, module->path_len)
			       : pprof_text(writer, KERNEL_FILE),
		.build_id = module ? build_id_of(writer, module) : 0,
	};
	writer->bytes += MAPPING_BYTES;
}

/* Returns the id of a frame's mapping; 0: the frame has none. */
static uint32_t mapping_of(struct pprof_writer *writer, const struct frame *frame)
{
	bool is_new;

	if (!frame->module && frame->type != FRAME_TYPE_KERNEL)
		return 0;
	uint32_t id = number_of_key(writer, writer->by_module, &frame->module, &is_new);
	if (is_new)
		new_mapping(writer, id, frame->module);
	return writer->error ? 0 : id;
}

void pprof_put_mappings(struct pprof_writer *writer)
{
	struct buf *message = &writer->message;

	for (uint32_t id = 1; id <= writer->mappings_taken; id++) {
		const struct pprof_mapping *mapping = &writer->mappings[id - 1];

		message->len = 0;
		protobuf_number(message, MAPPING_ID, id);
		if (mapping->module) {
			protobuf_number(message, MAPPING_START, mapping->module->from);
			protobuf_number(message, MAPPING_LIMIT, mapping->module->to);
			protobuf_number(message, MAPPING_OFFSET, mapping->module->file_offset);
		}
		protobuf_number(message, MAPPING_FILE, mapping->file);
		protobuf_number(message, MAPPING_BUILD_ID, mapping->build_id);
		protobuf_number(message, MAPPING_HAS_FUNCTIONS, true);
		protobuf_number(message, MAPPING_HAS_FILES, mapping->has_files);
		protobuf_number(message, MAPPING_HAS_LINES, mapping->has_lines);
		protobuf_number(message, MAPPING_HAS_INLINED, mapping->has_inlined);
		pprof_put_message(writer, PROFILE_MAPPING);
	}
}

/* ---- functions and locations ---- */

static uint32_t function_of(struct pprof_writer *writer, const struct function_key *key)
{
	bool is_new;
	uint32_t id = number_of_key(writer, writer->functions, key, &is_new);

	if (!is_new)
		return id;
	writer->message.len = 0;
	protobuf_number(&writer->message, FUNCTION_ID, id);
	protobuf_number(&writer->message, FUNCTION_NAME, key->name);
	protobuf_number(&writer->message, FUNCTION_SYSTEM_NAME, key->system_name);
	protobuf_number(&writer->message, FUNCTION_FILE, key->file);
	pprof_put_message(writer, PROFILE_FUNCTION);
	return id;
}

struct pprof_line {
	uint32_t function, line;
	bool has_file;
};

static struct pprof_line line_with(struct pprof_writer *writer, const struct function_key *key,
				   uint32_t line)
{
	return (struct pprof_line){function_of(writer, key), line, key->file != 0};
}

/* Returns the function and line of a frame as its symbol table or its interpreter tells them. */
static struct pprof_line line_of_frame(struct pprof_writer *writer, const struct frame *frame)
{
	uint32_t name = name_of(writer, frame);
	uint32_t file = pprof_string(writer, frame->source.file, frame->source.file_len);
	/* No system name: if it equals the name, Go's pprof demangles the name and cuts off what
	 * stands in <> and (): of `<T as Work>::go` only `::go` stays. */
	struct function_key key = {.name = name, .file = file};

	return line_with(writer, &key, frame->source.line);
}

/* Adds the demangled symbol. Crafted symbols take long to demangle, so the CPU time is bounded, for
 * each file and for all. */
static void demangle_of(struct pprof_writer *writer, const struct module *module,
			const char *symbol, struct buf *out)
{
	uint64_t which = (uint64_t)(uintptr_t)module, hash = hash_bytes(0, &which, sizeof(which));
	struct demangling *demangling = &writer->demangling[hash % DEMANGLINGS];
	uint64_t before_ns = demangling->cpu_ns;

	if (writer->demangled_ns > DEMANGLED_MAX_NS) {
		buf_str(out, symbol);
		return;
	}
	demangle_within(demangling, symbol, out);
	writer->demangled_ns += demangling->cpu_ns - before_ns;
}

/* Returns a function and line as the debug information tells them; the outermost function (empty
 * name) has the frame's name. */
static struct pprof_line line_of_text(struct pprof_writer *writer, const struct line_text *text,
				      const struct frame *frame)
{
	struct function_key key = {.file = pprof_string(writer, text->file, text->file_len)};

	if (text->name_len) {
		_cleanup_buf_ struct buf linked = BUF_INIT(STRING_MAX_BYTES), name = linked;

		buf_add(&linked, text->name, text->name_len);
		buf_char(&linked, '\0');
		if (!buf_error(&linked))
			demangle_of(writer, frame->module, linked.data, &name);
		if (buf_error(&linked) == -ENOMEM || buf_error(&name) == -ENOMEM)
			writer->error = -ENOMEM;
		key.system_name = pprof_string(writer, text->name, text->name_len);
		key.name = name.len ? pprof_string(writer, name.data, name.len) : key.system_name;
		if (key.name == key.system_name)
			key.system_name = 0; /* as in line_of_frame() */
	} else {
		key.name = name_of(writer, frame);
	}
	return line_with(writer, &key, text->line);
}

static size_t lines_of(struct pprof_writer *writer, const struct frame *frame,
		       struct pprof_line lines[LINE_LEVELS])
{
	struct line_text texts[LINE_LEVELS];
	size_t count = places_lines(writer->meta->places, frame, texts);

	for (size_t i = 0; i < count; i++)
		lines[i] = line_of_text(writer, &texts[i], frame);
	if (!count)
		lines[count++] = line_of_frame(writer, frame);
	return count;
}

static void tell_mapping(struct pprof_writer *writer, uint32_t mapping,
			 const struct pprof_line *lines, size_t count)
{
	struct pprof_mapping *told = mapping ? &writer->mappings[mapping - 1] : NULL;

	for (size_t i = 0; told && i < count; i++) {
		told->has_files |= lines[i].has_file;
		told->has_lines |= lines[i].line != 0;
	}
	if (told)
		told->has_inlined |= count > 1;
}

static void put_location(struct pprof_writer *writer, uint64_t id, const struct frame *frame)
{
	struct pprof_line lines[LINE_LEVELS];
	size_t count = lines_of(writer, frame, lines);
	uint32_t mapping = mapping_of(writer, frame);

	tell_mapping(writer, mapping, lines, count);
	writer->message.len = 0;
	protobuf_number(&writer->message, LOCATION_ID, id);
	protobuf_number(&writer->message, LOCATION_MAPPING, mapping);
	protobuf_number(&writer->message, LOCATION_ADDRESS, frame->address);
	for (size_t i = 0; i < count; i++) {
		writer->inner.len = 0;
		protobuf_number(&writer->inner, LINE_FUNCTION, lines[i].function);
		protobuf_number(&writer->inner, LINE_LINE, lines[i].line);
		protobuf_bytes(&writer->message, LOCATION_LINE, writer->inner.data,
			       writer->inner.len);
	}
	pprof_put_message(writer, PROFILE_LOCATION);
}

/* A location has the number of its frame as id. Frame 0 is the root, which is in no sample. */
uint64_t pprof_location(struct pprof_writer *writer, uint32_t frame)
{
	struct frame shown = tree_frame_at(writer->tree, frame);

	if (!writer->used[frame])
		put_location(writer, frame, &shown);
	writer->used[frame] = 1;
	return frame;
}

uint64_t pprof_location_more(struct pprof_writer *writer, unsigned which)
{
	static const char *const names[LOCATIONS_MORE] = {
		[LOCATION_UNKNOWN] = NO_NAME,
		[LOCATION_TRUNCATED] = "[truncated]",
	};
	struct frame shown = {.type = FRAME_TYPE_MARKER,
			      .name = names[which],
			      .name_len = strlen(names[which]),
			      .source.file = ""};
	uint64_t id = tree_frames_count(writer->tree) + which;

	if (!writer->used[id])
		put_location(writer, id, &shown);
	writer->used[id] = 1;
	return id;
}
