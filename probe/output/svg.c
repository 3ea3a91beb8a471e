// SPDX-License-Identifier: GPL-2.0-only
/*
 * The flame graph: root at the bottom, a `<path>` with `<title>` for each frame, a thick stroke
 * along its row, and a `<text>` behind it where that fits. All numbers are right without the
 * script; the script takes a frame's name and weight from its title and its place from the path,
 * whose x therefore has 3 decimals: enough to zoom into the narrowest frame that is drawn.
 *
 * Frames may come in any order that tells where each begins; nothing is remembered about them.
 */
#include "output/output.h"

#include <stdbool.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/utf8.h"
#include "output/escape.h"

#define IMAGE_WIDTH    1200
#define MARGIN	       10
#define FRAMES_WIDTH   (IMAGE_WIDTH - 2 * MARGIN)
#define ROW_HEIGHT     16 /* 15 of it the frame's */
#define HEADER_HEIGHT  76
#define FOOTER_HEIGHT  28
#define PIXEL_PARTS    10   /* frames narrower than one part of a pixel are left out */
#define CHAR_WIDTH     6.63 /* of the frames' font, 11 px monospace */
#define TEXT_PADDING   3
#define ROW_MIDDLE     8 /* where the stroke runs; the group is half a pixel higher */
#define TEXT_BASELINE  4 /* below that */
#define TEXT_MIN_CHARS 3
#define SHADES	       6
#define LEGEND_CHAR    6.0 /* of the legend's font, 11 px proportional, on the safe side */

extern const char svg_script[], svg_script_end[], svg_style[], svg_style_end[];

/* The colours are in flamegraph.css: `.n0` to `.n5` for native code. Kinds share a legend entry. */
static const struct {
	char class;
	const char *legend;
} kinds[FRAME_TYPE_COUNT] = {
	[FRAME_TYPE_ROOT] = {'p', "process, thread"},
	[FRAME_TYPE_PROCESS] = {'p', NULL},
	[FRAME_TYPE_THREAD] = {'p', NULL},
	[FRAME_TYPE_MARKER] = {'m', "marker"},
	[FRAME_TYPE_NATIVE] = {'n', "native"},
	[FRAME_TYPE_KERNEL] = {'k', "kernel"},
	[FRAME_TYPE_JIT] = {'j', "JIT-compiled"},
	[FRAME_TYPE_INLINED] = {'i', "inlined"},
	[FRAME_TYPE_INTERPRETED] = {'t', "interpreted"},
	[FRAME_TYPE_PYTHON] = {'y', "Python"},
};

struct svg {
	struct buf *out;
	const char *unit;
	uint64_t total; /* of the whole picture */
	uint32_t rows;
	uint32_t kinds;	 /* bit set of the frame types drawn */
	uint32_t base;	 /* the row of the node where the walk begins */
	uint64_t cursor; /* where the next frame of the walk begins */
};

struct box {
	const char *name;
	size_t name_len;
	enum frame_type type;
	uint32_t row; /* 0 at the bottom */
	uint64_t offset, weight;
};

/* value / total in units of 1 / scale, rounded; weights may be as large as 2^64. */
static uint64_t share(uint64_t value, uint64_t scale, uint64_t total)
{
	if (!total)
		return 0;
	return (uint64_t)(((unsigned __int128)value * scale + total / 2) / total);
}

static bool is_visible(uint64_t weight, uint64_t total)
{
	return weight && (unsigned __int128)weight * (FRAMES_WIDTH * PIXEL_PARTS) >= total;
}

/* 1234567 as "1,234,567". */
static void add_grouped(struct buf *out, uint64_t value)
{
	char digits[26]; /* 20 digits and 6 commas */
	char *p = digits + sizeof(digits);

	for (int i = 0; i == 0 || value; i++) {
		if (i && i % 3 == 0)
			*--p = ',';
		*--p = (char)('0' + value % 10);
		value /= 10;
	}
	buf_add(out, p, (size_t)(digits + sizeof(digits) - p));
}

/* A number of 1 / 10^decimals; `trim` leaves out zeros at the end of the fraction. */
static void add_fixed(struct buf *out, uint64_t value, int decimals, bool trim)
{
	char digits[24];
	char *p = digits + sizeof(digits);

	for (; decimals > 0; decimals--, value /= 10) {
		if (trim && value % 10 == 0 && p == digits + sizeof(digits))
			continue;
		*--p = (char)('0' + value % 10);
	}
	if (p != digits + sizeof(digits))
		*--p = '.';
	buf_u64(out, value);
	buf_add(out, p, (size_t)(digits + sizeof(digits) - p));
}

/*
 * What stands in XML instead of the character at `text`, which is *bytes long; NULL: itself.
 * XML 1.0 (section 2.2) has no way at all to write most control characters, U+FFFE and U+FFFF.
 */
static const char *replacement(const char *text, size_t len, size_t *bytes)
{
	const unsigned char *p = (const unsigned char *)text;

	*bytes = 1;
	if (p[0] < 0x80) {
		switch (p[0]) {
		case '<':
			return "&lt;";
		case '>':
			return "&gt;";
		case '&':
			return "&amp;";
		case '"':
			return "&quot;";
		default:
			return p[0] < 0x20 || p[0] == 0x7f ? " " : NULL;
		}
	}
	size_t n = utf8_sequence(text, len);
	if (!n)
		return UTF8_REPLACEMENT;
	*bytes = n;
	if (p[0] == 0xc2 && p[1] < 0xa0)
		return " ";
	if (p[0] == 0xef && p[1] == 0xbf && p[2] >= 0xbe)
		return UTF8_REPLACEMENT;
	return NULL;
}

/* How many bytes of the name fit into that many columns; letters from U+1100 on (CJK) take two. */
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

/* The name without its suffix: the colour says it. */
static void add_label(struct svg *svg, const struct box *box, uint64_t x_thousandths, uint64_t y,
		      uint64_t width_hundredths)
{
	double room = (double)width_hundredths / 100 - 2 * TEXT_PADDING;
	size_t columns = room > 0 ? (size_t)(room / CHAR_WIDTH) : 0;

	if (columns < TEXT_MIN_CHARS || !box->name_len)
		return;
	size_t bytes = fitting_bytes(box->name, box->name_len, columns);
	buf_str(svg->out, "<text x=\"");
	add_fixed(svg->out, x_thousandths / 100 + TEXT_PADDING * 10, 1, true);
	buf_str(svg->out, "\" y=\"");
	buf_u64(svg->out, y + TEXT_BASELINE);
	buf_str(svg->out, "\">");
	if (bytes == box->name_len) {
		escape_text(svg->out, box->name, bytes, replacement);
	} else {
		escape_text(svg->out, box->name, fitting_bytes(box->name, bytes, columns - 1),
			    replacement);
		buf_str(svg->out, "…");
	}
	buf_str(svg->out, "</text>");
}

/* FNV-1a: the same name has the same shade in every picture. */
static unsigned shade_of(const char *name, size_t len)
{
	uint32_t hash = 2166136261u;

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ (unsigned char)name[i]) * 16777619u;
	return (hash ^ hash >> 15) % SHADES;
}

static void add_title(struct svg *svg, const struct box *box)
{
	struct buf *out = svg->out;
	bool is_all = box->type == FRAME_TYPE_ROOT;

	buf_str(out, "<title>");
	escape_text(out, box->name, box->name_len, replacement);
	buf_str(out, frame_type_suffix(box->type));
	buf_str(out, " (");
	add_grouped(out, box->weight);
	buf_char(out, ' ');
	escape_text(out, svg->unit, strlen(svg->unit), replacement);
	buf_str(out, ", ");
	if (is_all && svg->total)
		buf_str(out, "100"); /* as FlameGraph's script has it */
	else
		add_fixed(out, share(box->weight, 10000, svg->total), 2, false);
	buf_str(out, "%)</title></path>");
}

static void add_box(struct svg *svg, const struct box *box)
{
	struct buf *out = svg->out;
	uint64_t x = MARGIN * 1000 + share(box->offset, FRAMES_WIDTH * 1000, svg->total);
	uint64_t y = HEADER_HEIGHT + ROW_MIDDLE + (uint64_t)(svg->rows - 1 - box->row) * ROW_HEIGHT;
	uint64_t width = FRAMES_WIDTH * 100;

	if (svg->total)
		width = share(box->weight, FRAMES_WIDTH * 100, svg->total);
	buf_str(out, "<path class=\"");
	buf_char(out, kinds[box->type].class);
	buf_char(out, (char)('0' + shade_of(box->name, box->name_len)));
	buf_str(out, "\" d=\"M");
	add_fixed(out, x, 3, true);
	buf_char(out, ' ');
	buf_u64(out, y);
	buf_char(out, 'h');
	add_fixed(out, width, 2, true);
	buf_str(out, "\">");
	add_title(svg, box);
	add_label(svg, box, x, y, width);
	buf_char(out, '\n');
}

static struct box box_of(const struct tree_frame *frame, uint32_t row, uint64_t offset)
{
	bool is_all = frame->type == FRAME_TYPE_ROOT;

	return (struct box){
		.name = is_all ? "all" : frame->name,
		.name_len = is_all ? 3 : frame->name_len,
		.type = frame->type,
		.row = row,
		.offset = offset,
		.weight = frame->total,
	};
}

/* First walk: the total, how many rows and which kinds of frames there are to see. */
static bool survey_frame(void *arg, const struct tree_frame *frame)
{
	struct svg *svg = arg;
	uint32_t row = svg->base + frame->depth;

	if (frame->depth == 0)
		svg->total = frame->total;
	if (row > 0 && !is_visible(frame->total, svg->total))
		return false;
	if (row >= svg->rows)
		svg->rows = row + 1;
	svg->kinds |= 1u << frame->type;
	return true;
}

/* Second walk. What stacks end at a frame lies left of its children; pruned ones leave a gap. */
static bool draw_frame(void *arg, const struct tree_frame *frame)
{
	struct svg *svg = arg;
	uint32_t row = svg->base + frame->depth;

	if (row > 0 && !is_visible(frame->total, svg->total)) {
		svg->cursor += frame->total;
		return false;
	}
	struct box box = box_of(frame, row, svg->cursor);
	add_box(svg, &box);
	svg->cursor += frame->self;
	return !buf_error(svg->out);
}

/* `all` and the frames that lead to the start: all as wide as the picture. */
static void draw_leading(struct svg *svg, const struct tree *tree, uint32_t start)
{
	uint32_t node = start;

	for (uint32_t row = svg->base; row-- > 0;) {
		struct tree_frame frame = {.total = svg->total};

		node = tree_parent(tree, node);
		frame.type = tree_type(tree, node);
		frame.name = tree_name(tree, node, &frame.name_len);
		struct box box = box_of(&frame, row, 0);
		if (row == 0 || svg->total)
			add_box(svg, &box);
	}
}

static void survey_leading(struct svg *svg, const struct tree *tree, uint32_t start)
{
	for (uint32_t node = start; node != TREE_ROOT; svg->base++) {
		node = tree_parent(tree, node);
		svg->kinds |= 1u << tree_type(tree, node);
	}
}

static void add_separator(struct buf *out, size_t begin)
{
	if (out->len > begin)
		buf_str(out, " · ");
}

/* "2025-11-21 12:00:00–12:03:00" in local time; the day of the end only where it is another. */
static void add_period(struct buf *out, time_t from, time_t until)
{
	char from_text[32] = "", until_text[32] = "", day[32] = "";
	struct tm from_tm, until_tm;
	const char *end = until_text;

	if (from && localtime_r(&from, &from_tm)) {
		strftime(from_text, sizeof(from_text), "%Y-%m-%d %H:%M:%S", &from_tm);
		strftime(day, sizeof(day), "%Y-%m-%d ", &from_tm);
	}
	if (until && localtime_r(&until, &until_tm))
		strftime(until_text, sizeof(until_text), "%Y-%m-%d %H:%M:%S", &until_tm);
	if (*day && strncmp(until_text, day, strlen(day)) == 0)
		end += strlen(day);
	buf_str(out, *from_text ? from_text : "until ");
	if (*from_text && *end)
		buf_str(out, "–");
	buf_str(out, end);
}

/* Host, processes, period, rate, samples, lost, truncated: what is unknown is left out. */
static void add_facts(struct svg *svg, const struct profile_meta *meta)
{
	struct buf *out = svg->out;
	size_t begin = out->len;

	if (meta->host)
		escape_text(out, meta->host, strlen(meta->host), replacement);
	if (meta->processes) {
		add_separator(out, begin);
		add_grouped(out, meta->processes);
		buf_str(out, meta->processes == 1 ? " process" : " processes");
	}
	if (meta->from || meta->until) {
		add_separator(out, begin);
		add_period(out, meta->from, meta->until);
	}
	uint64_t centihertz = meta->period_ns ? share(1, 100000000000, meta->period_ns) : 0;
	if (centihertz) {
		add_separator(out, begin);
		add_fixed(out, centihertz, 2, true);
		buf_str(out, " Hz");
	}
	add_separator(out, begin);
	add_grouped(out, svg->total);
	buf_char(out, ' ');
	escape_text(out, svg->unit, strlen(svg->unit), replacement);
	if (meta->lost) {
		buf_str(out, " · ");
		add_grouped(out, meta->lost);
		buf_str(out, " lost");
	}
	if (meta->truncated) {
		buf_str(out, " · ");
		add_grouped(out, meta->truncated);
		buf_str(out, " truncated");
	}
}

static void add_legend(struct svg *svg)
{
	struct buf *out = svg->out;
	uint64_t x = MARGIN;

	buf_str(out, "<g id=\"legend\" font-size=\"11\">\n");
	for (int type = 0; type < FRAME_TYPE_COUNT; type++) {
		if (!kinds[type].legend || !(svg->kinds & 1u << type))
			continue;
		buf_printf(out,
			   "<path class=\"%c2\" d=\"M%llu 59.5h11\" stroke-width=\"11\"/>"
			   "<text x=\"%llu\" y=\"63\">%s</text>\n",
			   kinds[type].class, (unsigned long long)x, (unsigned long long)x + 16,
			   kinds[type].legend);
		x += 16 + (uint64_t)((double)strlen(kinds[type].legend) * LEGEND_CHAR) + 14;
	}
	buf_str(out, "</g>\n");
}

static uint64_t image_height(const struct svg *svg)
{
	return HEADER_HEIGHT + (uint64_t)svg->rows * ROW_HEIGHT + FOOTER_HEIGHT;
}

static void add_head(struct svg *svg, const struct profile_meta *meta)
{
	struct buf *out = svg->out;

	buf_printf(out,
		   "<g id=\"head\"><rect class=\"bar\" width=\"100%%\" height=\"%d\" "
		   "fill=\"#fff\"/>\n",
		   HEADER_HEIGHT - 4);
	buf_str(out, "<text x=\"50%\" y=\"24\" text-anchor=\"middle\" font-size=\"17\" "
		     "font-weight=\"bold\">");
	if (meta->title && *meta->title) {
		escape_text(out, meta->title, strlen(meta->title), replacement);
		buf_char(out, ' ');
	}
	buf_str(out, "Flame Graph</text>\n<text id=\"facts\" x=\"50%\" y=\"43\" "
		     "text-anchor=\"middle\" class=\"quiet\">");
	add_facts(svg, meta);
	buf_str(out, "</text>\n");
	add_legend(svg);
	buf_str(out, "<text id=\"unzoom\" class=\"control\" display=\"none\" x=\"10\" y=\"24\">"
		     "Reset Zoom</text>\n"
		     "<text id=\"search\" class=\"control\" display=\"none\" x=\"100%\" dx=\"-10\" "
		     "y=\"24\" text-anchor=\"end\">Search</text>\n"
		     "<text id=\"matched\" x=\"100%\" dx=\"-10\" y=\"63\" text-anchor=\"end\">"
		     "</text></g>\n");
	if (!svg->total)
		buf_str(out, "<text id=\"empty\" x=\"50%\" y=\"63\" text-anchor=\"middle\" "
			     "class=\"quiet\">no samples</text>\n");
}

/* Where the script shows the title of the frame under the mouse. */
static void add_foot(struct svg *svg)
{
	unsigned long long height = image_height(svg);

	buf_printf(svg->out,
		   "<g id=\"foot\"><rect class=\"bar\" y=\"%llu\" width=\"100%%\" height=\"%d\" "
		   "fill=\"#fff\"/>\n<text id=\"details\" x=\"10\" y=\"%llu\"></text></g>\n",
		   height - FOOTER_HEIGHT + 2, FOOTER_HEIGHT - 2, height - 9);
}

static void add_begin(struct svg *svg)
{
	unsigned long long height = image_height(svg);

	buf_printf(svg->out,
		   "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		   "<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" width=\"%d\" "
		   "height=\"%llu\" viewBox=\"0 0 %d %llu\" font-family=\"sans-serif\" "
		   "font-size=\"12\" data-unit=\"",
		   IMAGE_WIDTH, height, IMAGE_WIDTH, height);
	escape_text(svg->out, svg->unit, strlen(svg->unit), replacement);
	buf_str(svg->out, "\">\n<style>\n");
	buf_add(svg->out, svg_style, (size_t)(svg_style_end - svg_style));
	buf_str(svg->out, "</style>\n<rect class=\"bar\" width=\"100%\" height=\"100%\" "
			  "fill=\"#fff\"/>\n<g id=\"frames\" transform=\"translate(0 -.5)\" "
			  "stroke-width=\"15\" font-family=\"monospace\" "
			  "font-size=\"11\">\n");
}

int svg_write(const struct tree *tree, uint32_t start, const struct profile_meta *meta,
	      struct buf *out)
{
	static const struct tree_visitor survey = {survey_frame, NULL}, draw = {draw_frame, NULL};
	struct svg svg = {.out = out, .unit = meta->count_name ? meta->count_name : "samples"};

	svg.rows = 1;
	survey_leading(&svg, tree, start);
	int r = tree_walk(tree, start, &survey, &svg);
	if (r < 0)
		return r;
	add_begin(&svg);
	draw_leading(&svg, tree, start);
	r = tree_walk(tree, start, &draw, &svg);
	if (r < 0)
		return r;
	buf_str(out, "</g>\n");
	add_head(&svg, meta);
	add_foot(&svg);
	buf_str(out, "<script><![CDATA[\n");
	buf_add(out, svg_script, (size_t)(svg_script_end - svg_script));
	buf_str(out, "]]></script>\n</svg>\n");
	return buf_error(out);
}
