// SPDX-License-Identifier: GPL-2.0-or-later
#include "elf/lines.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "line_reader/protocol.h"
#include "elf/lines_state.h"

_Static_assert(LINES_MAX == LINE_ADDRESSES_MAX && LINE_LEVELS == LINE_LEVELS_MAX, "of one kind");

#define NO_ANSWER SIZE_MAX /* the address was asked for, nothing is known of it */

struct line_place {
	uint64_t address;
	size_t answer; /* the answer's offset in `text`, or NO_ANSWER */
};

struct lines {
	atomic_uint refs;
	struct line_place *places; /* sorted by address */
	size_t count;
	struct buf text; /* the answers as the reader sent them */
};

struct lines *lines_ref(struct lines *lines)
{
	if (lines)
		lines->refs++;
	return lines;
}

void lines_free(struct lines *lines)
{
	if (!lines || --lines->refs > 0)
		return;
	free(lines->places);
	buf_done(&lines->text);
	free(lines);
}

size_t lines_bytes(const struct lines *lines)
{
	return sizeof(*lines) + lines->count * sizeof(*lines->places) + lines->text.capacity;
}

/* Reads the head of the answer at `at`; returns the offset of the next answer, or 0 if there is no
 * whole answer at `at`. */
static size_t answer_end(const struct buf *text, size_t at, struct line_answer *answer)
{
	size_t left = text->len - at;

	if (left < sizeof(*answer))
		return 0;
	memcpy(answer, text->data + at, sizeof(*answer));
	size_t bytes = sizeof(*answer) + answer->levels * sizeof(struct line_level);
	if (!answer->levels || answer->levels > LINE_LEVELS_MAX || left < bytes ||
	    left - bytes < answer->text_bytes)
		return 0;
	return at + bytes + answer->text_bytes;
}

static int by_address(const void *a, const void *b)
{
	const struct line_place *left = a, *right = b;

	return left->address < right->address ? -1 : left->address > right->address;
}

static int index_answers(struct lines *lines)
{
	struct line_answer answer;
	size_t count = 0, next;

	for (size_t at = 0; (next = answer_end(&lines->text, at, &answer)); at = next)
		count++;
	lines->places = calloc(count + 1, sizeof(*lines->places));
	if (!lines->places)
		return -ENOMEM;
	for (size_t at = 0; (next = answer_end(&lines->text, at, &answer)); at = next)
		lines->places[lines->count++] = (struct line_place){answer.address, at};
	qsort(lines->places, lines->count, sizeof(*lines->places), by_address);
	return 0;
}

int lines_take(struct lines **ret, struct buf *answers)
{
	struct lines *lines = calloc(1, sizeof(*lines));

	if (!lines)
		return -ENOMEM;
	lines->refs = 1;
	lines->text = *answers;
	*answers = (struct buf)BUF_INIT(0);
	int r = index_answers(lines);
	if (r < 0)
		lines_free(lines);
	else
		*ret = lines;
	return r;
}

static const struct line_place *find_place(const struct lines *lines, uint64_t address)
{
	struct line_place key = {.address = address};

	return lines->count ? bsearch(&key, lines->places, lines->count, sizeof(key), by_address)
			    : NULL;
}

size_t lines_at(const struct lines *lines, uint64_t address, struct line_text texts[LINE_LEVELS])
{
	const struct line_place *place = find_place(lines, address);
	struct line_answer answer;
	size_t taken = 0;

	if (!place || place->answer == NO_ANSWER)
		return 0;
	const char *at = lines->text.data + place->answer;
	memcpy(&answer, at, sizeof(answer));
	const char *levels = at + sizeof(answer);
	const char *text = levels + answer.levels * sizeof(struct line_level);
	for (uint32_t i = 0; i < answer.levels; i++) {
		struct line_level level;

		memcpy(&level, levels + i * sizeof(level), sizeof(level));
		size_t bytes = (size_t)level.file_len + level.name_len;
		if (bytes > answer.text_bytes - taken)
			return 0; /* the answer makes no sense */
		texts[i] = (struct line_text){.file = text + taken,
					      .file_len = level.file_len,
					      .name = text + taken + level.file_len,
					      .name_len = level.name_len,
					      .line = level.line};
		taken += bytes;
	}
	return answer.levels;
}

bool lines_has(const struct lines *lines, uint64_t address)
{
	return lines && find_place(lines, address);
}

/* ---- joined ---- */

static void join_places(struct lines *to, const struct lines *from, size_t moved)
{
	for (size_t i = 0; from && i < from->count; i++) {
		struct line_place place = from->places[i];

		if (place.answer != NO_ANSWER)
			place.answer += moved;
		to->places[to->count++] = place;
	}
}

/* Puts the places of one address so that the one to keep comes last: the latest with an answer. */
static int by_address_and_answer(const void *a, const void *b)
{
	const struct line_place *left = a, *right = b;

	if (left->address != right->address)
		return left->address < right->address ? -1 : 1;
	/* NO_ANSWER + 1 is 0, the least */
	return left->answer + 1 < right->answer + 1 ? -1 : left->answer != right->answer;
}

static void drop_doubles(struct lines *lines)
{
	size_t kept = 0;

	for (size_t i = 0; i < lines->count; i++) {
		if (kept && lines->places[kept - 1].address == lines->places[i].address)
			kept--;
		lines->places[kept++] = lines->places[i];
	}
	lines->count = kept;
}

int lines_join(struct lines **ret, const struct lines *before, const struct lines *more,
	       const uint64_t *asked, size_t asked_count)
{
	size_t text = (before ? before->text.len : 0) + (more ? more->text.len : 0);
	size_t count = (before ? before->count : 0) + (more ? more->count : 0) + asked_count;

	if (text + count * sizeof(struct line_place) > LINES_KEPT_MAX)
		return -ENOSPC;
	struct lines *joined = calloc(1, sizeof(*joined));
	if (!joined)
		return -ENOMEM;
	joined->refs = 1;
	joined->text = (struct buf)BUF_INIT(LINES_KEPT_MAX);
	joined->places = calloc(count + 1, sizeof(*joined->places));
	if (before)
		buf_add(&joined->text, before->text.data, before->text.len);
	if (more)
		buf_add(&joined->text, more->text.data, more->text.len);
	if (!joined->places || buf_error(&joined->text)) {
		lines_free(joined);
		return -ENOMEM;
	}
	for (size_t i = 0; i < asked_count; i++)
		joined->places[joined->count++] = (struct line_place){asked[i], NO_ANSWER};
	join_places(joined, before, 0);
	join_places(joined, more, before ? before->text.len : 0);
	qsort(joined->places, joined->count, sizeof(*joined->places), by_address_and_answer);
	drop_doubles(joined);
	*ret = joined;
	return 0;
}
