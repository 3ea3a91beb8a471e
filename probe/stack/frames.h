/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The distinct frames of a tree: each once, known by a number from 0. The names lie here; a node
 * has but the number. Bounded.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "symbol/frame.h"

/* Where its code was written. */
struct frame_source {
	const char *file; /* needs no NUL; followed by one where it was read from here */
	size_t file_len;  /* 0: not known */
	uint32_t line;	  /* the one that runs; 0: not known, or not told apart */
};

struct frame {
	enum frame_type type;
	const char *name; /* the same */
	size_t name_len;
	size_t signature_len; /* so much of its end may be left out: a Java method's parameters */
	struct frame_source source;
};

struct frames;

/* -ENOMEM */
int frames_new(struct frames **ret, size_t max, size_t max_name_bytes);
void frames_free(struct frames *frames);

size_t frames_count(const struct frames *frames);

/* The frame's number. -ENOSPC at a bound, -ENOMEM. */
int64_t frames_add(struct frames *frames, const struct frame *frame);

/* Its texts are borrowed, valid until frames_free(). */
struct frame frames_get(const struct frames *frames, uint32_t number);

/* By name (bytes), then kind, then file, then line. */
int frames_compare(const struct frame *a, const struct frame *b);
