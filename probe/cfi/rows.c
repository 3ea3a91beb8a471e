// SPDX-License-Identifier: GPL-2.0-or-later
#include "cfi/rows.h"

#include <errno.h>

#include "cfi/gopclntab.h"

/* Merges Go's rows into C's. Go's code lies in one piece, C's before and behind that piece. The
 * merge is done while C's rows arrive, so that neither list is ever in memory as a whole. */
struct join {
	int fd;
	const struct elf_image *image;
	row_sink sink;
	void *arg;
	struct cfi_stats go;
	uint64_t start, end; /* of Go's code, as linked */
	bool had_go;	     /* Go's rows are given */
	bool had_end;	     /* the row at `end` is given */
	struct rule c;	     /* the rule of C's rows at `end` */
	bool begun;
	struct rule last;
};

static int give_row(struct join *join, uint64_t address, const struct rule *rule)
{
	if (join->begun && rule_is_equal(rule, &join->last))
		return 0;
	join->begun = true;
	join->last = *rule;
	return join->sink(join->arg, address, rule);
}

static int take_go_row(void *arg, uint64_t address, const struct rule *rule)
{
	struct join *join = arg;

	if (address < join->start || address >= join->end)
		return 0;
	return give_row(join, address, rule);
}

/* Gives the rows before `address` that aren't C's: Go's, and the one at the end of Go's code. */
static int catch_up(struct join *join, uint64_t address)
{
	int r = 0;

	if (!join->had_go && address >= join->start) {
		join->had_go = true;
		r = gopclntab_read(join->fd, join->image, take_go_row, join, &join->go);
	}
	if (r == 0 && !join->had_end && address > join->end) {
		join->had_end = true;
		r = give_row(join, join->end, &join->c);
	}
	return r;
}

static int take_c_row(void *arg, uint64_t address, const struct rule *rule)
{
	struct join *join = arg;
	int r = catch_up(join, address);

	if (address <= join->end)
		join->c = *rule;
	if (r != 0 || (address >= join->start && address <= join->end))
		return r;
	return give_row(join, address, rule);
}

int rows_read(int fd, const struct elf_image *image, row_sink sink, void *arg,
	      struct cfi_stats *stats)
{
	struct join join = {.fd = fd, .image = image, .sink = sink, .arg = arg};
	int r = gopclntab_range(fd, image, &join.start, &join.end);

	if (r == -ENOMEM)
		return r;
	if (r < 0)
		return cfi_read(fd, image, sink, arg, stats);
	*stats = (struct cfi_stats){0};
	if (image->frames.eh_frame.bytes) {
		r = cfi_read(fd, image, take_c_row, &join, stats);
		if (r != 0 && r != -ENOENT)
			return r;
	}
	r = catch_up(&join, UINT64_MAX);
	stats->rows += join.go.rows;
	stats->functions += join.go.functions;
	stats->broken += join.go.broken;
	stats->overlapping += join.go.overlapping;
	for (int i = 0; i < UNSUPPORTED_COUNT; i++)
		stats->unsupported[i] += join.go.unsupported[i];
	return r;
}
