// SPDX-License-Identifier: GPL-2.0-or-later
/* Source: https://github.com/prometheus/OpenMetrics/blob/v1.0.0/specification/OpenMetrics.md */
#include "api/metrics/metrics_pack.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "api/feature/accept.h"
#include "base/cleanup.h"
#include "output/pprof/gzip.h"

#define OPEN_METRICS "application/openmetrics-text"
#define TOTAL	     "_total"
#define PACKED_LEAST 1024      /* bytes: smaller ones aren't packed … */
#define PACKED_MOST  (1 << 18) /* … nor larger ones, which would hold up the loop */

static void replace_body(struct answer *answer, struct buf *body)
{
	buf_done(&answer->body);
	answer->body = *body;
	*body = (struct buf){0};
}

/* A text that is being turned. */
struct opening {
	struct buf *out;
	const char *counter; /* name of the last counter, without `_total` */
	size_t counter_len;
	bool leaves_out; /* the family that is read */
};

/* Adds a line of a family's head, `# TYPE name type`: of a counter, whose samples have `_total`,
 * without it. A gauge that has the counter's name then, for it is its old name, is left out. */
static void add_head(struct opening *opening, const char *line, size_t len)
{
	const char *name = line + strlen("# HELP ");
	const char *end = memchr(name, ' ', (size_t)(line + len - name));
	size_t total = strlen(TOTAL), name_len = end ? (size_t)(end - name) : 0;
	bool is_counter = name_len > total && memcmp(end - total, TOTAL, total) == 0;

	if (is_counter) {
		opening->counter = name;
		opening->counter_len = name_len - total;
	}
	opening->leaves_out = !is_counter && name_len && name_len == opening->counter_len &&
			      memcmp(name, opening->counter, name_len) == 0;
	if (opening->leaves_out)
		return;
	if (is_counter) {
		buf_add(opening->out, line, (size_t)(end - total - line));
		buf_add(opening->out, end, (size_t)(line + len - end));
	} else {
		buf_add(opening->out, line, len);
	}
}

static void make_open(struct answer *answer)
{
	_cleanup_buf_ struct buf body = {.max = answer->body.max};
	struct opening opening = {.out = &body};
	const char *line = answer->body.data, *end = line + answer->body.len;

	while (line < end) {
		const char *stop = memchr(line, '\n', (size_t)(end - line));
		size_t len = (size_t)((stop ? stop + 1 : end) - line);

		if (line[0] == '#')
			add_head(&opening, line, len);
		else if (!opening.leaves_out)
			buf_add(&body, line, len);
		line += len;
	}
	buf_str(&body, "# EOF\n");
	if (buf_error(&body))
		return;
	replace_body(answer, &body);
	answer->content_type = OPEN_METRICS "; version=1.0.0; charset=utf-8";
}

static void make_gzip(struct answer *answer)
{
	_cleanup_free_ struct gzip *gzip = malloc(sizeof(*gzip));
	_cleanup_buf_ struct buf body = {.max = answer->body.max};

	if (!gzip || gzip_begin(gzip, &body) < 0)
		return;
	gzip_add(gzip, answer->body.data, answer->body.len);
	if (gzip_end(gzip) < 0)
		return;
	replace_body(answer, &body);
	answer->is_gzip = true;
}

bool metrics_are_open(const char *accept)
{
	return accept_has(accept, OPEN_METRICS);
}

void metrics_pack(struct answer *answer, const char *accept, const char *accept_encoding)
{
	if (answer->status != 200 || !answer->body.len || buf_error(&answer->body))
		return;
	if (metrics_are_open(accept))
		make_open(answer);
	if (accept_has_gzip(accept_encoding) && answer->body.len >= PACKED_LEAST &&
	    answer->body.len <= PACKED_MOST)
		make_gzip(answer);
}
