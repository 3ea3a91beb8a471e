/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table of a tree's distinct frames: keeps each frame once and gives it a number, from 0. The
 * table owns the names; a node of the tree has only the frame's number. Bounded. One thread at a
 * time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stack/modules.h"
#include "stack/owners.h"
#include "elf/frame.h"

/* The source of a frame's code. */
struct frame_source {
	const char *file; /* needs no NUL */
	size_t file_len;  /* 0: not known */
	uint32_t line;	  /* the line that runs; 0: not known, or not told apart */
};

/* A frame. Its place is a module and an address in the module. */
struct frame {
	enum frame_type type;
	const char *name; /* needs no NUL */
	size_t name_len;
	size_t signature_len; /* bytes of the name's end that may be left out: Java parameters */
	struct frame_source source;
	const struct module *module; /* NULL: the place isn't known, or not told apart */
	uint64_t address;	     /* the instruction's, as the module's file was linked */
	const struct owner *owner;   /* for a process's frame: the process; NULL: only its text */
};

struct frames;

/* Makes a table of at most `max` frames, with at most `max_name_bytes` of texts. Returns 0, or
 * -ENOMEM. The caller owns *ret. */
int frames_new(struct frames **ret, size_t max, size_t max_name_bytes);
void frames_free(struct frames *frames);

size_t frames_count(const struct frames *frames);

/* Returns whether there are processes that can't be told apart by their texts alone
 * (owners_matter()). */
bool frames_have_owners(const struct frames *frames);

/* Has frames_add() drop the places of frames from now on: frames of one function and line are one.
 */
void frames_drop_places(struct frames *frames);

/* Adds a copy of the frame if it is new. Returns the frame's number, -ENOSPC at a bound, or
 * -ENOMEM. */
int64_t frames_add(struct frames *frames, const struct frame *frame);

/* Returns a frame, whose pointers are borrowed until frames_free(). */
struct frame frames_get(const struct frames *frames, uint32_t number);

/* Returns the frame's type alone. */
enum frame_type frames_type(const struct frames *frames, uint32_t number);

/* Compares by name (bytes), then kind, then file, then line, then place, then owner. */
int frames_compare(const struct frame *a, const struct frame *b);
