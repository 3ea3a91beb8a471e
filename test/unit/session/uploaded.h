/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is handed to the sender: kept here, and not sent.
 *
 * The linker turns our objects' calls of sender_add() into the one below (UNITFLAGS).
 */
#pragma once

#include "unit/lib/unit.h"

#include "upload/sender/sender.h"

#define UPLOADED_MAX 64

struct uploaded {
	char *what, *target, *content_type;
	int64_t until_ns;
	struct buf bytes;
};

static struct uploaded uploaded[UPLOADED_MAX];
static size_t uploaded_count;

void __wrap_sender_add(struct sender *sender, struct sender_body *body);

void __wrap_sender_add(struct sender *sender, struct sender_body *body)
{
	(void)sender;
	assert_true(uploaded_count < UPLOADED_MAX);
	uploaded[uploaded_count++] = (struct uploaded){
		.what = strdup(body->texts.what),
		.target = strdup(body->texts.target),
		.content_type = strdup(body->texts.content_type),
		.until_ns = body->until_ns,
		.bytes = body->bytes,
	};
	body->bytes.data = NULL;
}

static inline void uploaded_forget(void)
{
	for (size_t i = 0; i < uploaded_count; i++) {
		free(uploaded[i].what);
		free(uploaded[i].target);
		free(uploaded[i].content_type);
		buf_done(&uploaded[i].bytes);
	}
	uploaded_count = 0;
}

/* Returns whether the body has that text somewhere. */
static inline bool uploaded_has(const struct uploaded *one, const char *text)
{
	return memmem(one->bytes.data, one->bytes.len, text, strlen(text)) != NULL;
}
