// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/svg/picture.h"

#include <string.h>

#include "base/utf8.h"
#include "output/text/number.h"
#include "output/svg/picture_head.h"
#include "output/svg/simple_name.h"
#include "output/text/xml.h"

#define ROW_MIDDLE	 8 /* px from the top of a row to its stroke; the group is 0.5 px higher */
#define PIXEL_PARTS	 10
#define TEXT_BASELINE	 4   /* px below the middle of the row */
#define TEXT_PADDING	 3   /* px */
#define CHAR_WIDTH	 663 /* hundredths of a px, of the frames' font, 11 px monospace */
#define TEXT_MIN_COLUMNS 3
#define SHADES		 6
#define DIFF_SHADES	 10
#define MARKUP_MAX	 320 /* bytes of a frame and its label besides names and numbers */

uint64_t picture_least(uint64_t total, uint32_t width)
{
	uint64_t parts = (uint64_t)(width - 2 * PICTURE_MARGIN) * PIXEL_PARTS;

	return total ? total / parts + (total % parts != 0) : 1;
}

void picture_begin(struct picture *picture, const struct picture_setup *setup, struct buf *out)
{
	const char *unit = setup->meta->count_name;

	*picture = (struct picture){.out = out, .setup = *setup};
	picture->unit = unit && *unit ? unit : "samples";
	picture->unit_len = strnlen(picture->unit, PICTURE_UNIT_MAX);
	if (setup->meta->is_part_of_events && setup->meta->event_name) {
		picture->event = setup->meta->event_name;
		picture->event_len = strnlen(picture->event, PICTURE_UNIT_MAX);
	}
	picture_head_begin(picture);
	buf_str(out, "<g id=\"frames\" transform=\"translate(0 -.5)\" stroke=\"#fdbe88\" "
		     "stroke-width=\"15\" "
		     "font-family=\"monospace\" font-size=\"11\">\n");
}

static char *put_text(char *p, const char *text, size_t len)
{
	memcpy(p, text, len);
	return p + len;
}

#define PUT(p, literal) put_text(p, literal, sizeof(literal) - 1)

/* Writes "; +0.56%": the change of the frame's own weight as a share of the total, as FlameGraph's
 * script has it. */
static char *put_change(const struct picture *picture, char *p, const struct picture_frame *frame)
{
	bool grew = frame->own > frame->own_before;
	uint64_t change = grew ? frame->own - frame->own_before : frame->own_before - frame->own;

	p = PUT(p, "; ");
	if (change)
		*p++ = grew ? '+' : '-';
	p = number_put_fixed(p, number_share(change, 10000, picture->setup.total), 2, false);
	return PUT(p, "%");
}

/* Writes "12.3/s", or "12,345/s". */
static char *put_rate(char *p, uint64_t weight, uint64_t took_ms)
{
	uint64_t rate = number_share(weight, 100000, took_ms);

	p = rate < 100000 ? number_put_fixed(p, rate, 2, true)
			  : number_put_grouped(p, number_share(weight, 1000, took_ms));
	return PUT(p, "/s");
}

/* Writes "; 12.3/s → 15.1/s": the frame's own weight by time, before and after; and why the frame
 * isn't coloured though that changed. */
static char *put_rates(const struct picture *picture, char *p, const struct picture_frame *frame)
{
	const struct picture_setup *setup = &picture->setup;

	if (frame->counted[0] || frame->counted[1]) {
		p = PUT(p, "; ");
		p = put_rate(p, frame->counted[0], setup->took_ms[!setup->negate]);
		p = PUT(p, " → ");
		p = put_rate(p, frame->counted[1], setup->took_ms[setup->negate]);
	}
	if (frame->own == frame->own_before ||
	    change_is_shown(&setup->rules, frame->verdict, setup->total, frame->own_before,
			    frame->own))
		return p;
	switch (frame->verdict) {
	case CHANGE_NOISE:
		return PUT(p, "; within noise");
	case CHANGE_GROWN:
		return PUT(p, "; its function grew");
	case CHANGE_SHRUNK:
		return PUT(p, "; its function shrank");
	case CHANGE_UNJUDGED:
		return PUT(p, "; not judged");
	default:
		return p;
	}
}

/* Writes "; of 10,000 references 12.34%". */
static char *put_part(const struct picture *picture, char *p, const struct picture_frame *frame)
{
	p = PUT(p, "; of ");
	p = number_put_grouped(p, frame->events);
	*p++ = ' ';
	p = xml_put(p, picture->event, picture->event_len);
	*p++ = ' ';
	p = number_put_fixed(p, number_share(frame->weight, 10000, frame->events), 2, false);
	return PUT(p, "%");
}

/* Makes ` (1,234 samples, 12.34%)` and the end of the path. */
static void write_share(struct picture *picture, const struct picture_frame *frame)
{
	const struct picture_setup *setup = &picture->setup;
	bool is_all = frame->type == FRAME_TYPE_ROOT;
	char *p = PUT(picture->share, " (");

	p = number_put_grouped(p, frame->weight);
	*p++ = ' ';
	p = xml_put(p, picture->unit, picture->unit_len);
	p = PUT(p, ", ");
	if (is_all && setup->total) /* as FlameGraph's script has it */
		p = PUT(p, "100");
	else
		p = number_put_fixed(p, number_share(frame->weight, 10000, setup->total), 2, false);
	*p++ = '%';
	if (setup->is_diff && !is_all)
		p = put_rates(picture, put_change(picture, p, frame), frame);
	if (frame->events && picture->event_len)
		p = put_part(picture, p, frame);
	p = PUT(p, ")</title></path>");
	picture->share_len = (size_t)(p - picture->share);
}

static uint64_t frames_width(const struct picture *picture)
{
	return picture->setup.width - 2 * PICTURE_MARGIN;
}

static uint64_t x_thousandths(const struct picture *picture, const struct picture_frame *frame)
{
	return PICTURE_MARGIN * 1000 +
	       number_share(frame->offset, frames_width(picture) * 1000, picture->setup.total);
}

static uint64_t width_hundredths(const struct picture *picture, const struct picture_frame *frame)
{
	if (!picture->setup.total)
		return frames_width(picture) * 100;
	return number_share(frame->weight, frames_width(picture) * 100, picture->setup.total);
}

/* Makes the text that a frame shares with a child of the same offset and weight. */
static void write_numbers(struct picture *picture, const struct picture_frame *frame)
{
	char *p = PUT(picture->where, "\" d=\"M");

	p = number_put_fixed(p, x_thousandths(picture, frame), 3, true);
	*p++ = ' ';
	picture->where_len = (size_t)(p - picture->where);
	p = PUT(picture->span, "h");
	p = number_put_fixed(p, width_hundredths(picture, frame), 2, true);
	p = PUT(p, "\"><title>");
	picture->span_len = (size_t)(p - picture->span);
	write_share(picture, frame);
	picture->offset = frame->offset;
	picture->weight = frame->type == FRAME_TYPE_ROOT ? 0 : frame->weight; /* 0: not reused */
	picture->own = frame->own;
	picture->own_before = frame->own_before;
	picture->events = frame->events;
	memcpy(picture->counted, frame->counted, sizeof(picture->counted));
	picture->verdict = frame->verdict;
}

/* Returns the shade of a name: the same in every picture. */
static unsigned shade_of(const char *name, size_t len)
{
	uint64_t hash = len, word = 0;

	for (; len >= 8; name += 8, len -= 8) {
		memcpy(&word, name, 8);
		hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
		hash ^= hash >> 32;
	}
	word = 0;
	memcpy(&word, name, len);
	hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
	return (unsigned)((hash >> 32) * SHADES >> 32);
}

/* Writes the CSS class, two characters: the kind and a shade; in a diff, the direction of the
 * change and its size (unchanged: a shade). */
static char *put_class(struct picture *picture, char *p, const struct picture_frame *frame)
{
	const struct picture_setup *setup = &picture->setup;

	if (!setup->is_diff) {
		picture->kinds |= 1u << frame->type;
		*p++ = picture_kinds[frame->type].class;
		*p++ = (char)('0' + shade_of(frame->name, frame->name_len));
		return p;
	}
	bool grew = frame->own > frame->own_before;
	uint64_t change = grew ? frame->own - frame->own_before : frame->own_before - frame->own;
	unsigned __int128 level = (unsigned __int128)change * DIFF_SHADES;

	level = setup->max_change ? level / setup->max_change : 0;
	bool shown = change_is_shown(&setup->rules, frame->verdict, setup->total, frame->own_before,
				     frame->own);
	if (!shown)
		level = shade_of(frame->name, frame->name_len);
	*p++ = !shown ? 'u' : grew ? 'g' : 's';
	*p++ = (char)('0' + (level < DIFF_SHADES ? (int)level : DIFF_SHADES - 1));
	return p;
}

/* Returns how many bytes of the name fit into `columns`; a letter from U+1100 on (CJK) takes two
 * columns. */
static size_t fitting_bytes(const char *name, size_t len, size_t columns)
{
	size_t at = 0, used = 0;

	while (at < len) {
		size_t bytes = utf8_sequence(name + at, len - at);

		used += bytes == 4 || (bytes == 3 && (unsigned char)name[at] >= 0xe1 &&
				       memcmp(name + at, "\xe1\x84\x80", 3) >= 0)
				? 2
				: 1;
		if (used > columns)
			break;
		at += bytes ? bytes : 1;
	}
	return at;
}

/* Writes what fits of the name: all of it, else a simple name, else the simple name's begin. */
static char *put_fitting(char *p, const struct picture_frame *frame, size_t columns)
{
	const char *name = frame->name;
	size_t len = frame->name_len, bytes = fitting_bytes(name, len, columns);

	for (unsigned step = 0; bytes < len && step < SIMPLE_NAMES; step++) {
		size_t simple = simple_name(frame->type, frame->name, frame->name_len, step, &name);

		if (!simple)
			break;
		len = simple;
		bytes = fitting_bytes(name, len, columns);
	}
	if (bytes == len)
		return xml_put(p, name, len);
	p = xml_put(p, name, fitting_bytes(name, bytes, columns - 1));
	return PUT(p, "…");
}

/* Writes the label: the name without the suffix of its kind, which the colour tells. */
static char *put_label(const struct picture *picture, char *p, const struct picture_frame *frame,
		       uint64_t y)
{
	uint64_t room = width_hundredths(picture, frame);

	room = room > 200 * TEXT_PADDING ? room - 200 * TEXT_PADDING : 0;
	size_t columns = room / CHAR_WIDTH;
	if (columns < TEXT_MIN_COLUMNS || !frame->name_len)
		return p;
	p = PUT(p, "<text stroke=\"none\" x=\"");
	p = number_put_fixed(p, x_thousandths(picture, frame) / 100 + TEXT_PADDING * 10, 1, true);
	p = PUT(p, "\" y=\"");
	p = number_put(p, y + TEXT_BASELINE);
	p = PUT(p, "\">");
	p = put_fitting(p, frame, columns);
	return PUT(p, "</text>");
}

/* Writes the kind of what is no function: in a diff the class tells the change. */
static char *put_kind(const struct picture *picture, char *p, const struct picture_frame *frame)
{
	if (!picture->setup.is_diff || frame->type > FRAME_TYPE_THREAD ||
	    frame->type == FRAME_TYPE_ROOT)
		return p;
	p = PUT(p, "\" data-kind=\"");
	*p++ = picture_kinds[frame->type].class;
	return p;
}

static void add_frame(struct picture *picture, const struct picture_frame *frame)
{
	const struct picture_setup *setup = &picture->setup;
	uint64_t row = setup->meta->icicle ? frame->row : setup->rows - 1 - frame->row;
	uint64_t y = PICTURE_HEADER + ROW_MIDDLE + row * PICTURE_ROW;
	const char *suffix = frame_type_suffix(frame->type);
	char *begin = buf_reserve(picture->out, MARKUP_MAX + sizeof(picture->share) +
							2 * XML_GROWTH * frame->name_len);
	char *p = begin;

	if (!begin)
		return;
	p = PUT(p, "<path class=\"");
	p = put_class(picture, p, frame);
	p = put_kind(picture, p, frame);
	if (frame->leaves_out) {
		p = PUT(p, "\" data-self=\"");
		p = number_put(p, frame->self);
	}
	p = put_text(p, picture->where, picture->where_len);
	p = number_put(p, y);
	p = put_text(p, picture->span, picture->span_len);
	p = xml_put(p, frame->name, frame->name_len);
	p = put_text(p, suffix, strlen(suffix));
	p = put_text(p, picture->share, picture->share_len);
	p = put_label(picture, p, frame, y);
	*p++ = '\n';
	picture->out->len += (size_t)(p - begin);
}

/* Returns whether a frame has the numbers of the last one. */
static bool has_same_numbers(const struct picture *picture, const struct picture_frame *frame)
{
	return picture->weight && frame->weight == picture->weight &&
	       frame->offset == picture->offset && frame->own == picture->own &&
	       frame->own_before == picture->own_before && frame->events == picture->events &&
	       frame->counted[0] == picture->counted[0] &&
	       frame->counted[1] == picture->counted[1] && frame->verdict == picture->verdict;
}

void picture_frame(struct picture *picture, const struct picture_frame *frame)
{
	bool is_all = frame->type == FRAME_TYPE_ROOT;

	if (is_all || !has_same_numbers(picture, frame))
		write_numbers(picture, frame);
	if (is_all) {
		struct picture_frame all = *frame;

		all.name = "all";
		all.name_len = 3;
		add_frame(picture, &all);
	} else {
		add_frame(picture, frame);
	}
}

void picture_end(struct picture *picture)
{
	buf_str(picture->out, "</g>\n");
	picture_head_end(picture);
}
