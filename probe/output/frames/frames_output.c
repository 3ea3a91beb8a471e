// SPDX-License-Identifier: GPL-2.0-or-later
/* Writes `.frames`: a header of JSON, and the columns behind it. */
#include "output/format/output.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "output/frames/frames_columns.h"

static void write_header(const struct frames_columns *columns, const struct profile_meta *meta,
			 struct buf *out)
{
	struct json json = {.out = out};

	json_object(&json, NULL);
	json_text(&json, "title", meta->title);
	json_text(&json, "unit", meta->count_name);
	if (meta->event_name)
		json_text(&json, "event_unit", meta->event_name);
	if (meta->host)
		json_text(&json, "host", meta->host);
	json_seconds(&json, "from", (uint64_t)meta->from_ns);
	json_seconds(&json, "until", (uint64_t)meta->until_ns);
	if (meta->covered_ns)
		json_seconds(&json, "covered", meta->covered_ns);
	json_numbers(&json, {"period_ns", meta->by_period ? meta->period_ns : 0},
		     {"samples", meta->samples}, {"left_out", meta->left_out}, {"lost", meta->lost},
		     {"truncated", meta->truncated}, {"processes", meta->processes},
		     {"frames", columns->frames}, {"nodes", columns->nodes});
	json_array(&json, "columns");
	for (int i = 0; i < FRAMES_COLUMNS; i++) {
		json_array(&json, NULL);
		json_text(&json, NULL, frames_column_name(i));
		json_u64(&json, NULL, columns->columns[i].len);
		json_array_end(&json);
	}
	json_array_end(&json);
	json_object_end(&json);
}

static void add_u32(struct buf *out, size_t value)
{
	for (int shift = 0; shift < 32; shift += 8)
		buf_char(out, (char)(value >> shift & 0xff));
}

static int write_file(const struct frames_columns *columns, const struct profile_meta *meta,
		      struct buf *out)
{
	_cleanup_buf_ struct buf header = BUF_INIT(65536);

	write_header(columns, meta, &header);
	buf_str(out, "SPF2");
	add_u32(out, header.len);
	buf_add(out, header.data, header.len);
	for (int i = 0; i < FRAMES_COLUMNS; i++)
		buf_add(out, columns->columns[i].data, columns->columns[i].len);
	return buf_error(&header);
}

int frames_write(const struct tree *tree, uint32_t start, const struct profile_meta *meta,
		 struct buf *out)
{
	struct frames_columns columns;
	int r = frames_columns_make(&columns, tree, start, out->max);

	if (r == 0)
		r = write_file(&columns, meta, out);
	frames_columns_done(&columns);
	return r < 0 ? r : buf_error(out);
}
