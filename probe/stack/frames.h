/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The distinct frames of a tree: each once, known by a number from 0. The names lie here; a node
 * has but the number. Bounded.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stack/modules.h"
#include "stack/owners.h"
#include "elf/frame.h"

/* Where its code was written. */
struct frame_source {
	const char *file; /* as a module's path */
	size_t file_len;  /* 0: not known */
	uint32_t line;	  /* the one that runs; 0: not known, or not told apart */
};

struct frame {
	enum frame_type type;
	const char *name; /* the same */
	size_t name_len;
	size_t signature_len; /* so much of its end may be left out: a Java method's parameters */
	struct frame_source source;
	const struct module *module; /* NULL: its place isn't known, or not told apart */
	uint64_t address;	     /* of its instruction there, as the file was linked */
	const struct owner *owner;   /* of a process; NULL: its text is all that is known of it */
};

struct frames;

/* -ENOMEM */
int frames_new(struct frames **ret, size_t max, size_t max_name_bytes);
void frames_free(struct frames *frames);

size_t frames_count(const struct frames *frames);

/* It has processes that aren't told apart by their texts alone (owners_matter()). */
bool frames_have_owners(const struct frames *frames);

/* From now on frames have no places: those of one function and line are one. */
void frames_drop_places(struct frames *frames);

/* The frame's number. -ENOSPC at a bound, -ENOMEM. */
int64_t frames_add(struct frames *frames, const struct frame *frame);

/* What it points to is borrowed, valid until frames_free(). */
struct frame frames_get(const struct frames *frames, uint32_t number);

/* By name (bytes), then kind, then file, then line, then place, then owner. */
int frames_compare(const struct frame *a, const struct frame *b);
