/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Values of a probe event:NAME, which a user names and defines in params.events. Plain data. */
#pragma once

#include <stdint.h>

#define EVENT_WORD_BYTES 33  /* of the user's name, with its NUL */
#define EVENT_WHAT_BYTES 384 /* of the event's text, with its NUL */

struct event_settings {
	int64_t time;		     /* 1: the time of each call is measured as well */
	int64_t min_us;		     /* calls that took less aren't counted */
	char word[EVENT_WORD_BYTES]; /* [a-z0-9_-]; "": the slot has no event */
	char what[EVENT_WHAT_BYTES]; /* the event (event/event_text.h) */
};
