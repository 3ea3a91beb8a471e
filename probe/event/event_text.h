/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An event as a user writes it, and its parts:
 *
 *	t:sched:sched_wakeup		a tracepoint, with its group
 *	k:vfs_read			a function of the kernel
 *	u:/usr/lib/libx.so:read		a function of a file, by the path that processes see
 *	usdt:/usr/lib/libx.so:x:begin	a static probe of a file (USDT): its provider and name
 *
 * and, behind a space, ` arg=2` if the value of its second argument is to be a frame; ` arg=2:-4`
 *if that has 4 bytes and a sign. Without a size it has 8 bytes and a sign; an argument of a static
 * probe has the size that its note says.
 */
#pragma once

#include "base/why.h"
#include "select/event_settings.h"

enum event_type { EVENT_TRACEPOINT, EVENT_KERNEL, EVENT_USER, EVENT_USDT };

struct event_text {
	enum event_type type;
	char path[EVENT_WHAT_BYTES];  /* of a file; "": of the kernel */
	char group[EVENT_WHAT_BYTES]; /* of a tracepoint; provider of a static probe; "": none */
	char name[EVENT_WHAT_BYTES];
	unsigned arg;  /* from 1 on; 0: none */
	int arg_bytes; /* 1, 2, 4 or 8; negative: with a sign */
};

/* Reads a text. Returns 0, or -EINVAL and in `why` what is expected, a sentence. */
int event_text_read(struct event_text *event, const char *text, struct why *why);
