// SPDX-License-Identifier: GPL-2.0-or-later
#include "upload/http/body.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* Copies a text to *at, which moves behind it. */
static const char *keep_text(char **at, const char *text)
{
	size_t bytes = strlen(text) + 1;
	const char *kept = memcpy(*at, text, bytes);

	*at += bytes;
	return kept;
}

int body_new(struct body **ret, const struct body_texts *texts, int64_t until_ns, struct buf *bytes)
{
	size_t what = strlen(texts->what) + 1, target = strlen(texts->target) + 1;
	size_t type = strlen(texts->content_type) + 1;
	_cleanup_buf_ struct buf owned = *bytes;

	*bytes = (struct buf){.max = owned.max};
	if (what > BODY_TEXT_MAX || target > BODY_TEXT_MAX || type > BODY_TEXT_MAX ||
	    owned.len > BODY_BYTES_MAX)
		return -EINVAL;
	struct body *body = calloc(1, sizeof(*body) + what + target + type);
	if (!body)
		return -ENOMEM;
	char *at = body->memory;
	body->texts.what = keep_text(&at, texts->what);
	body->texts.target = keep_text(&at, texts->target);
	body->texts.content_type = keep_text(&at, texts->content_type);
	body->until_ns = until_ns;
	body->owned = owned;
	owned = (struct buf){0};
	body->data = body->owned.data;
	body->bytes = body->owned.len;
	body->users = 1;
	*ret = body;
	return 0;
}

struct body *body_ref(struct body *body)
{
	__atomic_add_fetch(&body->users, 1, __ATOMIC_RELAXED);
	return body;
}

void body_unref(struct body *body)
{
	if (!body || __atomic_sub_fetch(&body->users, 1, __ATOMIC_ACQ_REL) > 0)
		return;
	buf_done(&body->owned);
	free(body);
}
