/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is sent by one request: never changed, and shared by who sends it and the job that has it on
 * its way to the disk.
 */
#pragma once

#include <stdint.h>

#include "base/buf.h"

#define BODY_BYTES_MAX (16 << 20)
#define BODY_TEXT_MAX  16384 /* of each of the three texts, its NUL included */

struct body_texts {
	const char *what;	  /* for the log: "oncpu 12:30:00" */
	const char *target;	  /* path and query behind the server's URL */
	const char *content_type; /* of the bytes */
};

struct body {
	struct body_texts texts; /* in `memory` */
	int64_t until_ns;	 /* the window's end, ns since 1970 */
	const char *data;	 /* in `memory` or `owned` */
	size_t bytes;
	unsigned users;
	struct buf owned;
	char memory[];
};

/* Takes over what is in `bytes`, also where it fails. -EINVAL: a text, or all of it, is too long;
 * -ENOMEM */
int body_new(struct body **ret, const struct body_texts *texts, int64_t until_ns,
	     struct buf *bytes);

/* From any thread. */
struct body *body_ref(struct body *body);
void body_unref(struct body *body); /* NULL: nothing */
static inline void body_unrefp(struct body **body)
{
	body_unref(*body);
}
#define _cleanup_body_ _cleanup_(body_unrefp)
