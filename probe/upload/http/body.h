/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The body of one request, with its texts. A body is immutable and reference-counted: the sender
 * and a job that writes the body to disk share it.
 */
#pragma once

#include <stdint.h>

#include "base/buf.h"

#define BODY_BYTES_MAX (16 << 20)
#define BODY_TEXT_MAX  16384 /* bytes of each of the three texts, its NUL included */

struct body_texts {
	const char *what;   /* for the log: "oncpu 12:30:00" */
	const char *target; /* path and query behind the server's URL */
	const char *content_type;
};

struct body {
	struct body_texts texts; /* in `memory` */
	int64_t until_ns;	 /* the window's end, CLOCK_REALTIME, ns */
	const char *data;	 /* in `owned` */
	size_t bytes;
	unsigned users; /* references */
	struct buf owned;
	char memory[]; /* the texts */
};

/* Makes a body with one reference. Takes over the content of `bytes`, also on failure; the texts
 * are copied. Returns 0, or a negative errno: -EINVAL if a text or the content is too long;
 * -ENOMEM. */
int body_new(struct body **ret, const struct body_texts *texts, int64_t until_ns,
	     struct buf *bytes);

/* Take and give back a reference. Any thread; body_unref() allows NULL. */
struct body *body_ref(struct body *body);
void body_unref(struct body *body);
static inline void body_unrefp(struct body **body)
{
	body_unref(*body);
}
#define _cleanup_body_ _cleanup_(body_unrefp)
