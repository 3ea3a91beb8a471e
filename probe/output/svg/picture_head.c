// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/svg/picture_head.h"

#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "output/text/number.h"
#include "output/text/xml.h"

#define LEGEND_CHAR 6 /* px: more than the mean width of the legend's font, 11 px proportional */
/* A change that is told: more, after next to nothing before, would fit no integer. */
#define PERMILLE_MAX 1e15

extern const char svg_script[], svg_script_end[], svg_style[], svg_style_end[];

const struct picture_kind picture_kinds[FRAME_TYPE_COUNT] = {
	[FRAME_TYPE_ROOT] = {'p', "process, thread"},
	[FRAME_TYPE_POD] = {'c', NULL},
	[FRAME_TYPE_CONTAINER] = {'c', "pod, container"},
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

static void add_grouped(struct buf *out, uint64_t value)
{
	char text[NUMBER_MAX];

	buf_add(out, text, (size_t)(number_put_grouped(text, value) - text));
}

static void add_unit(const struct picture *picture)
{
	struct buf *out = picture->out;
	char *p = buf_reserve(out, XML_GROWTH * picture->unit_len);

	if (p)
		out->len += (size_t)(xml_put(p, picture->unit, picture->unit_len) - p);
}

static void add_weight(const struct picture *picture, uint64_t weight)
{
	add_grouped(picture->out, weight);
	buf_char(picture->out, ' ');
	add_unit(picture);
	char text[NUMBER_MAX], *end = number_put_amount(text, weight, picture->unit);
	if (end == text)
		return;
	buf_str(picture->out, " (");
	buf_add(picture->out, text, (size_t)(end - text));
	buf_char(picture->out, ')');
}

/* Adds a rate: " (98.2/s)"; where weights are compared by time also of which: " in 30 s (98.2/s)".
 */
static void add_rate_of(struct buf *out, uint64_t weight, uint64_t took_ms, bool by_time)
{
	char text[NUMBER_MAX];

	if (!took_ms)
		return;
	if (by_time) {
		buf_str(out, " in ");
		buf_add(out, text, (size_t)(number_put_fixed(text, took_ms, 3, true) - text));
		buf_str(out, " s");
	}
	buf_str(out, " (");
	buf_add(out, text,
		(size_t)(number_put_fixed(text, number_share(weight, 10000, took_ms), 1, true) -
			 text));
	buf_str(out, "/s)");
}

static void add_percent(struct buf *out, uint64_t part, uint64_t whole)
{
	char text[NUMBER_MAX];

	buf_add(out, text,
		(size_t)(number_put_fixed(text, number_share(part, 1000, whole), 1, true) - text));
	buf_char(out, '%');
}

/* Adds the change of the total. */
static void add_change(const struct picture *picture)
{
	const struct picture_setup *setup = &picture->setup;
	double other = (double)setup->total_before * (setup->by_time ? setup->scale : 1);
	double after = setup->negate ? other : (double)setup->total;
	double before = setup->negate ? (double)setup->total : other;
	char text[NUMBER_MAX];

	if (before <= 0)
		return;
	double change = fabs(after - before) * 1000 / before + 0.5;
	uint64_t permille = change < PERMILLE_MAX ? (uint64_t)change : (uint64_t)PERMILLE_MAX;
	buf_str(picture->out, after < before ? " · -" : " · +");
	buf_add(picture->out, text, (size_t)(number_put_fixed(text, permille, 1, true) - text));
	buf_char(picture->out, '%');
	if (setup->by_time)
		buf_str(picture->out, " a second");
}

static void add_separator(struct buf *out, size_t begin)
{
	if (out->len > begin)
		buf_str(out, " · ");
}

/* Adds "2025-11-21 12:00:00–12:03:00", local time; the end has a date only if the day differs. */
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

/* Adds what a difference compares: rates, the total before, its change, what both have in common,
 * what isn't drawn. */
static void add_compared(const struct picture *picture)
{
	const struct picture_setup *setup = &picture->setup;
	struct buf *out = picture->out;

	add_rate_of(out, setup->total, setup->took_ms[0], setup->by_time);
	buf_str(out, setup->negate ? " · after " : " · before ");
	if (setup->before_from || setup->before_until) {
		add_period(out, setup->before_from, setup->before_until);
		buf_str(out, " · "); /* where a narrow picture's line may end */
	}
	add_weight(picture, setup->total_before);
	add_rate_of(out, setup->total_before, setup->took_ms[1], setup->by_time);
	add_change(picture);
	if (setup->has_common)
		buf_printf(out, " · %u%% in common", setup->common);
	if (setup->by_time && setup->negate)
		buf_str(out, " · widths are those before");
	if (setup->undrawn) {
		buf_str(out, " · ");
		add_percent(out, setup->undrawn, setup->total_before);
		buf_str(out, setup->negate ? " of after is new and not drawn"
					   : " of before is gone and not drawn");
	}
	if (setup->remark) {
		buf_str(out, " · ");
		xml_add(out, setup->remark);
	}
}

static void add_rate(struct buf *out, size_t begin, uint64_t period_ns)
{
	uint64_t centihertz = number_share(1, 100000000000, period_ns);
	char text[NUMBER_MAX];

	if (!centihertz)
		return;
	add_separator(out, begin);
	buf_add(out, text, (size_t)(number_put_fixed(text, centihertz, 2, true) - text));
	buf_str(out, " Hz");
}

/* Adds "thinned to 1 in 6.2": the guard took one of 6.2 drawn events. Adds "from 660 samples": of
 * events drawn by bytes, 660 stacks stand for all. */
static void add_thinning(struct buf *out, const struct profile_meta *meta)
{
	uint64_t drawn = meta->by_bytes ? meta->samples + meta->left_out : meta->events;
	char text[NUMBER_MAX];

	if (meta->by_bytes && meta->samples && meta->samples < meta->events) {
		buf_str(out, " · from ");
		add_grouped(out, meta->samples);
		buf_str(out, meta->samples == 1 ? " sample" : " samples");
	}
	if (!meta->samples || meta->samples >= drawn)
		return;
	uint64_t tenths = number_share(drawn, 10, meta->samples);
	buf_str(out, " · thinned to 1 in ");
	buf_add(out, text, (size_t)(number_put_fixed(text, tenths, 1, true) - text));
}

/* Adds "56 waits", for a probe whose weight is time or bytes. */
static void add_events(struct buf *out, const struct profile_meta *meta)
{
	if (!meta->event_name)
		return;
	buf_str(out, " · ");
	add_grouped(out, meta->events);
	buf_char(out, ' ');
	xml_add(out, meta->event_name);
}

/* Adds how many processes their Java VM recorded. A VM's on-CPU samples are drawn from Java's
 * threads, before Java 25 not by their CPU time, so their sum is no CPU time. */
static void add_recorded(struct buf *out, const struct profile_meta *meta)
{
	if (!meta->recorded)
		return;
	buf_str(out, " · ");
	if (meta->recorded < meta->processes) {
		add_grouped(out, meta->recorded);
		buf_str(out, " of them ");
	}
	buf_str(out, "recorded by the Java VM");
	if (meta->by_period)
		buf_str(out, ": no sum of CPU time");
}

/* Adds how much of the time was sampled, where a range of history has gaps. */
static void add_gap(struct buf *out, const struct profile_meta *meta)
{
	if (!meta->covered_ns ||
	    meta->until_ns - meta->from_ns <= (int64_t)(meta->covered_ns + NS_PER_S))
		return;
	buf_str(out, " (");
	add_grouped(out, meta->covered_ns / NS_PER_S);
	buf_str(out, " s of it sampled)");
}

/* Adds host, processes, period, rate, samples, events, thinning, lost, truncated, recorded by Java
 * VMs; unknown facts are left out. */
static void add_facts(const struct picture *picture)
{
	const struct profile_meta *meta = picture->setup.meta;
	struct buf *out = picture->out;
	size_t begin = out->len;

	if (meta->host)
		xml_add(out, meta->host);
	if (meta->processes) {
		add_separator(out, begin);
		add_grouped(out, meta->processes);
		buf_str(out, meta->processes == 1 ? " process" : " processes");
	}
	if (meta->from || meta->until) {
		add_separator(out, begin);
		add_period(out, meta->from, meta->until);
		if (!picture->setup.by_time)
			add_gap(out, meta);
	}
	add_rate(out, begin, meta->period_ns);
	add_separator(out, begin);
	add_weight(picture, picture->setup.total);
	if (picture->setup.is_diff)
		add_compared(picture);
	add_events(out, meta);
	add_thinning(out, meta);
	if (meta->lost) {
		buf_str(out, " · ");
		add_grouped(out, meta->lost);
		buf_str(out, " lost");
	}
	if (meta->truncated) {
		buf_str(out, " · ");
		if (meta->event_name) /* the weight is no number of events: say its unit */
			add_weight(picture, meta->truncated);
		else
			add_grouped(out, meta->truncated);
		buf_str(out, " truncated");
	}
	add_recorded(out, meta);
}

/* Adds an entry; returns the x where the next entry begins. `class` "": no swatch is shown. */
static uint64_t add_legend_entry(struct buf *out, uint64_t x, const char *class, const char *text)
{
	buf_printf(out,
		   "<path class=\"%s\" d=\"M%llu 59.5h%d\" stroke-width=\"11\"/>"
		   "<text x=\"%llu\" y=\"63\">%s</text>\n",
		   class, (unsigned long long)x, *class ? 11 : 0, (unsigned long long)x + 16, text);
	return x + 16 + strlen(text) * LEGEND_CHAR + 14;
}

/* Returns what counts as unchanged. */
static const char *unchanged_words(const struct picture_setup *setup)
{
	const struct change_rules *rules = &setup->rules;

	if (setup->is_judged)
		return "unchanged, or within noise as windows vary";
	if (rules->by_counts && rules->by_share)
		return "unchanged, within noise (3σ) or less than 1% of all";
	if (rules->by_counts)
		return "unchanged or within noise (3σ)";
	return rules->by_share ? "unchanged or less than 1% of all" : "unchanged";
}

static void add_legend(const struct picture *picture)
{
	static const char *const changes[][2] = {{"g7", "grown"}, {"s7", "shrunk"}};
	struct buf *out = picture->out;
	uint64_t x = PICTURE_MARGIN;

	buf_str(out, "<g id=\"legend\" font-size=\"11\">\n");
	for (size_t i = 0; picture->setup.is_diff && i < ARRAY_SIZE(changes); i++)
		x = add_legend_entry(out, x, changes[i][0], changes[i][1]);
	if (picture->setup.is_diff)
		x = add_legend_entry(out, x, "u0", unchanged_words(&picture->setup));
	for (int type = 0; type < FRAME_TYPE_COUNT; type++) {
		char class[] = {picture_kinds[type].class, '2', '\0'};

		if (picture_kinds[type].legend && picture->kinds & 1u << type)
			x = add_legend_entry(out, x, class, picture_kinds[type].legend);
	}
	if (picture->setup.meta->unit_unknown && picture->setup.total)
		add_legend_entry(out, x, "", "unit unknown");
	buf_str(out, "</g>\n");
}

static void add_title(const struct picture *picture)
{
	const struct profile_meta *meta = picture->setup.meta;

	xml_add(picture->out, meta->title ? meta->title : "Flame Graph");
	if (meta->recorded && meta->recorded == meta->processes)
		buf_str(picture->out, " (JFR)");
}

static void add_head(const struct picture *picture)
{
	struct buf *out = picture->out;

	buf_printf(out,
		   "<g id=\"head\"><rect class=\"bar\" width=\"100%%\" height=\"%d\" "
		   "fill=\"#fff\"/>\n",
		   PICTURE_HEADER - 4);
	buf_str(out, "<text id=\"title\" x=\"10\" y=\"24\" font-size=\"17\" font-weight=\"bold\">");
	add_title(picture);
	buf_str(out, "</text>\n<text id=\"facts\" x=\"10\" y=\"43\" class=\"quiet\">");
	add_facts(picture);
	buf_str(out, "</text>\n");
	add_legend(picture);
	buf_str(out, "<text id=\"unzoom\" class=\"control\" display=\"none\" y=\"24\" "
		     "text-anchor=\"end\">Reset Zoom</text>\n"
		     "<text id=\"search\" class=\"control\" display=\"none\" x=\"100%\" dx=\"-10\" "
		     "y=\"24\" text-anchor=\"end\">Search</text></g>\n");
	if (!picture->setup.total)
		buf_str(out, "<text id=\"empty\" x=\"50%\" y=\"63\" text-anchor=\"middle\" "
			     "class=\"quiet\">no samples</text>\n");
}

static unsigned long long image_height(const struct picture *picture)
{
	return PICTURE_HEADER + (unsigned long long)picture->setup.rows * PICTURE_ROW +
	       PICTURE_FOOTER;
}

/* Adds what stands before the picture in a page. The text of names is escaped for XML, which is
 * enough for HTML: no `<` and no `&` is left. */
static void add_page_begin(const struct picture *picture)
{
	struct buf *out = picture->out;

	buf_str(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
		     "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
		     "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
		     "style-src 'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'; "
		     "form-action 'none'\">\n<title>");
	add_title(picture);
	buf_str(out, "</title>\n<style>body { margin: 0 } svg { display: block }</style>\n"
		     "</head>\n<body>\n");
}

/* Adds the part of a CPU that one sample stands for, where samples are periods of a clock. */
static void add_cpu_share(struct buf *out, const struct picture_setup *setup)
{
	const struct profile_meta *meta = setup->meta;
	uint64_t length_ns = profile_meta_length(meta);

	if (meta->by_period && !setup->is_diff && meta->period_ns && length_ns && meta->from_ns)
		buf_printf(out, "\" data-cpu=\"%.6g", (double)meta->period_ns / (double)length_ns);
}

void picture_head_begin(const struct picture *picture)
{
	const struct picture_setup *setup = &picture->setup;
	unsigned long long height = image_height(picture);
	struct buf *out = picture->out;

	if (setup->form == PICTURE_HTML)
		add_page_begin(picture);
	else
		buf_str(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
	buf_printf(out,
		   "<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" width=\"%u\" "
		   "height=\"%llu\" viewBox=\"0 0 %u %llu\" font-family=\"sans-serif\" "
		   "font-size=\"12\" data-unit=\"",
		   setup->width, height, setup->width, height);
	add_unit(picture);
	buf_str(out, setup->form == PICTURE_HTML ? "\" data-alone=\"1" : "");
	buf_str(out, setup->meta->icicle ? "\" data-icicle=\"1" : "");
	buf_str(out, setup->is_diff ? "\" data-diff=\"1" : "");
	add_cpu_share(out, setup);
	buf_str(out, "\">\n<style>\n");
	buf_add(out, svg_style, (size_t)(svg_style_end - svg_style));
	buf_str(out, "</style>\n<rect class=\"bar\" width=\"100%\" height=\"100%\" "
		     "fill=\"#fff\"/>\n");
}

/* Adds the foot: there the script shows the title of the frame under the mouse, and what a search
 * found. */
void picture_head_end(const struct picture *picture)
{
	unsigned long long height = image_height(picture);
	struct buf *out = picture->out;

	add_head(picture);
	buf_printf(
		out,
		"<g id=\"foot\"><rect class=\"bar\" y=\"%llu\" width=\"100%%\" height=\"%d\" "
		"fill=\"#fff\"/>\n<text id=\"details\" x=\"10\" y=\"%llu\"></text>\n"
		"<text id=\"matched\" x=\"100%%\" dx=\"-10\" y=\"%llu\" text-anchor=\"end\"></text>"
		"</g>\n",
		height - PICTURE_FOOTER + 2, PICTURE_FOOTER - 2, height - 9, height - 9);
	buf_str(out, "<script><![CDATA[\n");
	buf_add(out, svg_script, (size_t)(svg_script_end - svg_script));
	buf_str(out, "]]></script>\n</svg>\n");
	if (picture->setup.form == PICTURE_HTML)
		buf_str(out, "</body>\n</html>\n");
}
