// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>

#include "cfi/no_cfi_regions.h"
#include "flow/made_rows.h"

static const struct rule none = {.kind = RULE_NONE};
static const struct rule frames = {.kind = RULE_FRAMES};

struct overlay {
	const struct made_rows *made;
	size_t next; /* the first run that doesn't end before `from` */
	row_sink sink;
	void *arg;
	bool open; /* the row in force says nothing of the code */
	uint64_t from;
	struct rule rule;
	uint64_t rows; /* given in addition */
};

static int add_row(struct overlay *overlay, uint64_t address, const struct rule *rule)
{
	overlay->rows++;
	return overlay->sink(overlay->arg, address, rule);
}

/* Gives the rows from overlay->from, where the file says nothing, to `until`. */
static int fill_gap(struct overlay *overlay, uint64_t until)
{
	const struct made_rows *made = overlay->made;
	uint64_t at = overlay->from;
	int r = 0;

	overlay->open = false;
	while (overlay->next < made->count && made->runs[overlay->next].to <= at)
		overlay->next++;
	for (size_t i = overlay->next;
	     r == 0 && i < made->count && made->runs[i].from < until && at < until; i++) {
		const struct made_run *run = &made->runs[i];

		if (run->rule.kind == RULE_NONE)
			continue;
		if (run->from > at)
			r = add_row(overlay, at, &overlay->rule);
		if (r == 0)
			r = add_row(overlay, run->from > at ? run->from : at, &run->rule);
		at = run->to;
	}
	return r || at >= until ? r : add_row(overlay, at, &overlay->rule);
}

static int pass_row(void *arg, uint64_t address, const struct rule *rule)
{
	struct overlay *overlay = arg;
	int r = overlay->open ? fill_gap(overlay, address) : 0;

	if (r || (rule->kind != RULE_NONE && rule->kind != RULE_FRAMES))
		return r ? r : overlay->sink(overlay->arg, address, rule);
	overlay->open = true;
	overlay->from = address;
	overlay->rule = *rule;
	overlay->rows--; /* it was counted, and comes later */
	return 0;
}

/* The rows of a file that has none. */
static int give_bare(struct overlay *overlay, const struct elf_image *image)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < image->segments_count; i++) {
		const struct elf_segment *segment = &image->segments[i];

		overlay->rows += 2;
		r = pass_row(overlay, segment->address, &frames);
		if (r == 0)
			r = pass_row(overlay, segment->address + segment->file_bytes, &none);
	}
	return r;
}

int made_rows_give(const struct made_rows *made, int fd, const struct elf_image *image,
		   row_sink sink, void *arg, struct cfi_stats *stats)
{
	struct overlay overlay = {.made = made, .sink = sink, .arg = arg};
	uint64_t first = image->segments_count ? image->segments[0].address : 0;

	/* the code before the file's first row */
	overlay.open = image->segments_count > 0;
	overlay.from = first;
	overlay.rule = none;
	int r = no_cfi_regions_read(fd, image, pass_row, &overlay, stats);
	if (r == -ENOENT) {
		overlay.open = false;
		r = give_bare(&overlay, image);
	}
	if (r == 0 && overlay.open)
		r = fill_gap(&overlay, UINT64_MAX);
	stats->rows += overlay.rows;
	return r;
}
