// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "java/files/jfrfile.h"
#include "java/code/jvmnames.h"

/* Bytes. The parsed text may be longer than the file: `I` becomes `int`, a wrong byte U+FFFD. */
#define TEXT_MAX       (4 * (size_t)JFRFILE_BYTES_MAX)
#define FORMAT_VERSION 1

/* A part of the text, which is consumed from its begin. */
struct piece {
	const char *at, *end;
};

struct parsing {
	struct jfrfile *file;
	struct buf text;
	size_t methods_room, stacks_room, frames_room;
	struct jvmname name, other; /* large buffers */
};

static size_t piece_len(const struct piece *piece)
{
	return (size_t)(piece->end - piece->at);
}

/* Takes the part before the separator, and the separator, off `from`. Without a separator takes all
 * and returns false. */
static bool cut_off(struct piece *from, char separator, struct piece *part)
{
	const char *found =
		from->at < from->end ? memchr(from->at, separator, piece_len(from)) : NULL;

	*part = (struct piece){from->at, found ? found : from->end};
	from->at = found ? found + 1 : from->end;
	return found != NULL;
}

static bool is_text(const struct piece *piece, const char *text)
{
	return piece_len(piece) == strlen(text) && memcmp(piece->at, text, piece_len(piece)) == 0;
}

static bool read_number(const struct piece *piece, uint64_t max, uint64_t *number)
{
	uint64_t value = 0;

	if (piece->at == piece->end)
		return false;
	for (const char *at = piece->at; at < piece->end; at++) {
		unsigned digit = (unsigned)(*at - '0');

		if (*at < '0' || *at > '9' || digit > max || value > (max - digit) / 10)
			return false;
		value = 10 * value + digit;
	}
	*number = value;
	return true;
}

/* Takes a field that is a number off the line. */
static bool take_number(struct piece *line, uint64_t max, uint64_t *number)
{
	struct piece field;

	cut_off(line, '\t', &field);
	return read_number(&field, max, number);
}

/* Makes room for one more element of `size` bytes; -EFBIG if there are `max` already. */
static int reserve_element(void **array, size_t count, size_t *room, size_t size, size_t max)
{
	if (count < *room)
		return 0;
	if (count >= max)
		return -EFBIG;
	size_t more = *room ? 2 * *room : 256;
	void *grown = reallocarray(*array, more, size);
	if (!grown)
		return -ENOMEM;
	*array = grown;
	*room = more;
	return 0;
}

static int parse_head(struct parsing *parsing, struct piece line, const char *probe)
{
	struct jfr_head *head = &parsing->file->head;
	uint64_t version, cut;
	struct piece field;

	if (!cut_off(&line, '\t', &field) || !is_text(&field, "stackprobe-jfr") ||
	    !take_number(&line, FORMAT_VERSION, &version) || version != FORMAT_VERSION ||
	    !cut_off(&line, '\t', &field) || !is_text(&field, probe))
		return -EBADMSG;
	uint64_t *const numbers[] = {&head->sequence,	   &head->from_us,    &head->to_us,
				     &head->lost_samples,  &head->lost_bytes, &head->refused,
				     &head->refused_weight};
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		if (!take_number(&line, INT64_MAX, numbers[i]))
			return -EBADMSG;
	}
	if (!take_number(&line, 1, &cut) || line.at != line.end || head->to_us < head->from_us)
		return -EBADMSG;
	head->cut = cut;
	return 0;
}

static int parse_method(struct parsing *parsing, struct piece line)
{
	struct jfrfile *file = parsing->file;
	struct piece owner, method;
	size_t begin = parsing->text.len;
	struct jfr_method *to;

	if (!cut_off(&line, '\t', &owner) || !cut_off(&line, '\t', &method) ||
	    piece_len(&method) == 0 || memchr(line.at, '\t', piece_len(&line)))
		return -EBADMSG;
	int r = reserve_element((void **)&file->methods, file->methods_count,
				&parsing->methods_room, sizeof(*to), JFRFILE_METHODS_MAX);
	if (r < 0)
		return r;
	to = &file->methods[file->methods_count++];
	*to = (struct jfr_method){.name = begin};
	jvmname_text(&parsing->name, owner.at, piece_len(&owner));
	jvmname_class(&parsing->name);
	if (parsing->name.len) {
		buf_add(&parsing->text, parsing->name.text, parsing->name.len);
		buf_char(&parsing->text, '.');
	}
	jvmname_text(&parsing->name, method.at, piece_len(&method));
	buf_add(&parsing->text, parsing->name.text, parsing->name.len);
	/* The agent cuts a very long descriptor, which then is none any more. */
	jvmname_text(&parsing->other, line.at, piece_len(&line));
	if (jvmname_signature(&parsing->name, &parsing->other) == 0) {
		buf_add(&parsing->text, parsing->name.text, parsing->name.len);
		to->signature_len = (uint32_t)parsing->name.len;
	}
	to->name_len = (uint32_t)(parsing->text.len - begin);
	return buf_error(&parsing->text);
}

static bool parse_type(char letter, enum frame_type *type)
{
	switch (letter) {
	case '0':
		*type = FRAME_TYPE_INTERPRETED;
		return true;
	case 'i':
		*type = FRAME_TYPE_INLINED;
		return true;
	case 'j':
	case 'n': /* the code that calls a native method is compiled */
		*type = FRAME_TYPE_JIT;
		return true;
	default:
		return false;
	}
}

/* Parses a frame like `j12:34`: type, method, line. */
static int parse_frame(struct parsing *parsing, struct piece text)
{
	struct jfrfile *file = parsing->file;
	struct jfr_frame frame;
	struct piece part;
	uint64_t method, line;

	if (text.at == text.end || !parse_type(*text.at++, &frame.type))
		return -EBADMSG;
	if (!cut_off(&text, ':', &part) || !read_number(&part, UINT32_MAX, &method) ||
	    method >= file->methods_count || !read_number(&text, UINT32_MAX, &line))
		return -EBADMSG;
	int r = reserve_element((void **)&file->frames, file->frames_count, &parsing->frames_room,
				sizeof(frame), JFRFILE_ALL_FRAMES_MAX);
	if (r < 0)
		return r;
	frame.method = (uint32_t)method;
	frame.line = (uint32_t)line;
	file->frames[file->frames_count++] = frame;
	return 0;
}

static int parse_frames(struct parsing *parsing, struct piece text, struct jfr_stack *stack)
{
	stack->frames = parsing->file->frames_count;
	for (bool more = text.at < text.end; more;) {
		struct piece frame;

		more = cut_off(&text, ' ', &frame);
		if (++stack->frames_count > JFRFILE_FRAMES_MAX)
			return -EBADMSG;
		int r = parse_frame(parsing, frame);
		if (r < 0)
			return r;
	}
	return 0;
}

static int parse_stack(struct parsing *parsing, struct piece line)
{
	struct jfrfile *file = parsing->file;
	struct jfr_stack stack = {0};
	struct piece whole, thread;

	if (!take_number(&line, INT64_MAX, &stack.weight) ||
	    !take_number(&line, UINT32_MAX, &stack.events) || !cut_off(&line, '\t', &whole) ||
	    !cut_off(&line, '\t', &thread))
		return -EBADMSG;
	stack.cut = is_text(&whole, "cut");
	if (!stack.cut && !is_text(&whole, "whole"))
		return -EBADMSG;
	if (stack.weight > INT64_MAX - file->weight)
		return -EBADMSG;
	int r = parse_frames(parsing, line, &stack);
	if (r == 0)
		r = reserve_element((void **)&file->stacks, file->stacks_count,
				    &parsing->stacks_room, sizeof(stack), JFRFILE_STACKS_MAX);
	if (r < 0)
		return r;
	jvmname_text(&parsing->name, thread.at, piece_len(&thread));
	stack.thread = parsing->text.len;
	stack.thread_len = (uint32_t)parsing->name.len;
	buf_add(&parsing->text, parsing->name.text, parsing->name.len);
	file->weight += stack.weight;
	file->stacks[file->stacks_count++] = stack;
	return buf_error(&parsing->text);
}

static int parse_lines(struct parsing *parsing, struct piece text, const char *probe)
{
	struct piece line, kind;

	if (!cut_off(&text, '\n', &line))
		return -EBADMSG;
	int r = parse_head(parsing, line, probe);
	while (r == 0 && text.at < text.end) {
		/* A last line without a line end isn't whole. */
		if (!cut_off(&text, '\n', &line) || !cut_off(&line, '\t', &kind))
			return -EBADMSG;
		if (is_text(&kind, "m"))
			r = parse_method(parsing, line);
		else if (is_text(&kind, "s"))
			r = parse_stack(parsing, line);
		else
			r = -EBADMSG;
	}
	return r;
}

int jfrfile_parse(struct jfrfile **ret, const char *text, size_t len, const char *probe)
{
	struct parsing *parsing = calloc(1, sizeof(*parsing));
	struct jfrfile *file = calloc(1, sizeof(*file));
	int r = parsing && file ? 0 : -ENOMEM;

	if (r == 0 && (!text || memchr(text, '\0', len)))
		r = -EBADMSG;
	if (r == 0) {
		parsing->file = file;
		parsing->text.max = TEXT_MAX;
		buf_char(&parsing->text, '\0'); /* so that an empty name has a place, too */
		r = parse_lines(parsing, (struct piece){text, text + len}, probe);
		file->text = parsing->text.data;
		file->bytes = parsing->text.len + parsing->methods_room * sizeof(*file->methods) +
			      parsing->stacks_room * sizeof(*file->stacks) +
			      parsing->frames_room * sizeof(*file->frames);
	}
	free(parsing);
	if (r < 0) {
		jfrfile_free(file);
		return r == -ENOSPC ? -EBADMSG : r;
	}
	*ret = file;
	return 0;
}
