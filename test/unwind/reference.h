/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * elfutils' unwinder over a recorded sample: what ours is compared with.
 */
#pragma once

#include "perf_data.h"
#include "layout.h"

/* A sample and its process: what can be read of its memory. */
struct moment {
	const struct perf_sample *sample;
	const struct layout *layout;
	uint64_t missed; /* the first address that could not be read since this was 0 */
};

/* Bytes of the sample's stack, or of a file where it is mapped to run. `arg`: struct moment. 0 or
 * -EFAULT */
int moment_read(void *arg, void *to, size_t bytes, uint64_t address);

struct reference;

/* Knows a process's mappings as they are now. NULL: no memory, or libdw refuses. */
struct reference *reference_new(const struct layout *layout);
void reference_free(struct reference *reference);

/* Frames leaf first; *failure: NULL, the stack is whole, or why it isn't, in elfutils' words. */
size_t reference_walk(struct reference *reference, struct moment *moment, uint64_t *frames,
		      size_t max, const char **failure);

/* The function that holds an address, "" where none is known, and how far it is from its start. */
const char *reference_name(struct reference *reference, uint64_t address, uint64_t *distance);

/* Mappings that libdw did not take. */
unsigned reference_refused(const struct reference *reference);
