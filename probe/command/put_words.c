// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/put_words.h"

#include <errno.h>
#include <stdio.h>

#include "command/command.h"

static int no_memory(void)
{
	fputs("stackprobe: no memory\n", stderr);
	return EXIT_FAILED;
}

int put_words_read(struct buf *body, const struct rules *rules, struct spec *spec)
{
	const struct bounds bounds = {0};
	struct notes notes = {0};
	struct why why;

	if (!buf_reserve(body, 1) || buf_error(body)) /* for the parser's NUL */
		return no_memory();
	int r = request_parse(body->data, body->len, rules, NULL, &bounds, spec, NULL, &notes,
			      &why);
	if (r == -ENOMEM)
		return no_memory();
	for (unsigned i = 0; i < notes.count && i < WARNINGS_MAX; i++)
		fprintf(stderr, "stackprobe: %s\n", notes.warnings[i]);
	if (r < 0 && notes.detail[0])
		fprintf(stderr, "stackprobe: %s\n", notes.detail);
	return r < 0 ? usage_error(why.text, NULL) : 0;
}
