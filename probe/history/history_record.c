// SPDX-License-Identifier: GPL-2.0-or-later
#include "history/history_record.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <zlib.h>

#include "base/cleanup.h"
#include "output/pprof/protobuf.h"

#define MAGIC		"SPH1"
#define VARIATION_LEAST 1e-6 /* the smallest that is told from 0 */
#define VARIATION_STEPS 64   /* in which a variation doubles */

_Static_assert(sizeof(struct history_head) % sizeof(uint64_t) == 0, "it is all numbers");

static void put_number(struct buf *out, uint64_t value, int bytes)
{
	for (int i = 0; i < bytes; i++)
		buf_char(out, (char)(value >> (8 * i) & 0xff));
}

static uint64_t get_number(const char *from, int bytes)
{
	uint64_t value = 0;

	for (int i = 0; i < bytes; i++)
		value |= (uint64_t)(unsigned char)from[i] << (8 * i);
	return value;
}

void history_head_add(struct history_head *sum, const struct history_head *more)
{
	bool is_first = !sum->windows;

	if (is_first || more->first < sum->first)
		sum->first = more->first;
	if (is_first || more->last > sum->last)
		sum->last = more->last;
	if (is_first || more->from < sum->from)
		sum->from = more->from;
	if (is_first || more->until > sum->until)
		sum->until = more->until;
	sum->begun = more->begun;
	sum->covered_ns += more->covered_ns;
	sum->squares_ms2 += more->squares_ms2;
	sum->windows += more->windows;
	sum->period_ns = more->period_ns;
	sum->is_state |= more->is_state;
	sum->weight += more->weight;
	sum->events += more->events;
	sum->samples += more->samples;
	sum->left_out += more->left_out;
	sum->lost += more->lost;
	sum->truncated += more->truncated;
	if (more->processes > sum->processes)
		sum->processes = more->processes;
}

/* ---- payload ---- */

static void add_variation(struct buf *out, double variation)
{
	double larger = variation > 0 ? variation / VARIATION_LEAST : 0;

	protobuf_varint(out, (uint64_t)llround(VARIATION_STEPS * log2(1 + larger)));
}

/* Returns how many bytes of a column are written: none of events that are the weights. */
static size_t column_bytes(const struct frames_columns *columns, enum frames_column column)
{
	const struct buf *of = &columns->columns[column];
	const struct buf *self = &columns->columns[FRAMES_COLUMN_self];
	bool is_same =
		of->len == self->len && (!of->len || memcmp(of->data, self->data, of->len) == 0);

	return column == FRAMES_COLUMN_events && is_same ? 0 : of->len;
}

static void write_payload(struct buf *out, const struct frames_columns *columns,
			  const struct history_variation *variations, size_t count)
{
	protobuf_varint(out, columns->frames);
	protobuf_varint(out, columns->nodes);
	for (int i = 0; i < FRAMES_COLUMNS; i++)
		protobuf_varint(out, column_bytes(columns, i));
	for (int i = 0; i < FRAMES_COLUMNS; i++)
		buf_add(out, columns->columns[i].data, column_bytes(columns, i));
	protobuf_varint(out, count);
	for (size_t i = 0; i < count; i++) {
		protobuf_varint(out, variations[i].frame);
		add_variation(out, variations[i].self);
		add_variation(out, variations[i].total);
	}
}

int history_pack(struct buf *out, struct history_head *head, const struct frames_columns *columns,
		 const struct history_variation *variations, size_t count)
{
	_cleanup_buf_ struct buf raw = BUF_INIT(HISTORY_PAYLOAD_MAX);
	uLongf len;

	write_payload(&raw, columns, variations, count);
	if (buf_error(&raw))
		return buf_error(&raw);
	len = compressBound(raw.len);
	char *room = buf_reserve(out, len);
	if (!room)
		return buf_error(out);
	if (compress((Bytef *)room, &len, (const Bytef *)raw.data, raw.len) != Z_OK)
		return -ENOMEM;
	head->raw = raw.len;
	head->packed = len;
	out->len = len;
	return 0;
}

void history_head_write(struct buf *out, const struct history_head *head)
{
	uint64_t numbers[HISTORY_HEAD_NUMBERS];
	_cleanup_buf_ struct buf bytes = BUF_INIT(HISTORY_HEAD_BYTES);

	memcpy(numbers, head, sizeof(numbers));
	for (size_t i = 0; i < HISTORY_HEAD_NUMBERS; i++)
		put_number(&bytes, numbers[i], 8);
	buf_str(out, MAGIC);
	put_number(out, crc32_z(0, (const Bytef *)bytes.data, bytes.len), 4);
	buf_add(out, bytes.data, bytes.len);
}

int history_head_read(const char *bytes, struct history_head *head)
{
	uint64_t numbers[HISTORY_HEAD_NUMBERS];
	uint64_t crc = crc32_z(0, (const Bytef *)bytes + 8, HISTORY_HEAD_BYTES - 8);

	if (memcmp(bytes, MAGIC, 4) != 0 || get_number(bytes + 4, 4) != crc)
		return -EBADMSG;
	for (size_t i = 0; i < HISTORY_HEAD_NUMBERS; i++)
		numbers[i] = get_number(bytes + 8 + 8 * i, 8);
	memcpy(head, numbers, sizeof(*head));
	return head->raw > HISTORY_PAYLOAD_MAX || head->packed > 2 * HISTORY_PAYLOAD_MAX ||
			       head->last < head->first || head->until < head->from
		       ? -EBADMSG
		       : 0;
}

/* Finds the parts of an unpacked payload. */
static int split_payload(struct history_payload *payload)
{
	struct frames_slice left = {payload->raw.data, payload->raw.len};
	uint64_t frames, nodes, lens[FRAMES_COLUMNS];

	if (!frames_number(&left, &frames) || !frames_number(&left, &nodes) ||
	    frames > UINT32_MAX || nodes > UINT32_MAX)
		return -EBADMSG;
	for (int i = 0; i < FRAMES_COLUMNS; i++) {
		if (!frames_number(&left, &lens[i]))
			return -EBADMSG;
	}
	for (int i = 0; i < FRAMES_COLUMNS; i++) {
		if (lens[i] > left.len)
			return -EBADMSG;
		payload->columns[i] = (struct frames_slice){left.bytes, lens[i]};
		left.bytes += lens[i];
		left.len -= lens[i];
	}
	if (!lens[FRAMES_COLUMN_events])
		payload->columns[FRAMES_COLUMN_events] = payload->columns[FRAMES_COLUMN_self];
	payload->frames = (uint32_t)frames;
	payload->nodes = (uint32_t)nodes;
	if (!frames_number(&left, &payload->variations_left))
		return -EBADMSG;
	payload->variations = left;
	return 0;
}

int history_unpack(struct history_payload *ret, const struct history_head *head, const char *packed)
{
	uLongf len = head->raw;
	char *room;

	*ret = (struct history_payload){.raw = BUF_INIT(HISTORY_PAYLOAD_MAX)};
	room = buf_reserve(&ret->raw, head->raw);
	if (!room)
		return buf_error(&ret->raw);
	int r = uncompress((Bytef *)room, &len, (const Bytef *)packed, head->packed);
	if (r == Z_MEM_ERROR)
		return -ENOMEM;
	if (r != Z_OK || len != head->raw)
		return -EBADMSG;
	ret->raw.len = len;
	return split_payload(ret);
}

void history_payload_done(struct history_payload *payload)
{
	buf_done(&payload->raw);
}

static double variation_at(uint64_t steps)
{
	return (exp2((double)steps / VARIATION_STEPS) - 1) * VARIATION_LEAST;
}

bool history_variation_next(struct history_payload *payload, struct history_variation *variation)
{
	struct frames_slice *left = &payload->variations;
	uint64_t frame, self, total;

	if (!payload->variations_left || !frames_number(left, &frame) ||
	    !frames_number(left, &self) || !frames_number(left, &total) || frame >= payload->frames)
		return false;
	payload->variations_left--;
	*variation = (struct history_variation){(uint32_t)frame, variation_at(self),
						variation_at(total)};
	return true;
}
