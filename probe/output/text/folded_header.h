/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The line that may stand before folded text and tell what it is of:
 *
 *   # stackprobe unit=samples counts=1 period_ns=10000000 from=1764366764123 until=1764366794200
 *   host=web7
 *
 * in one line. `from` and `until` are milliseconds since 1970, `counts=1` means that the weights
 * are numbers of events, `period_ns` is the sampling period. What isn't known is left out. The line
 * ends with no number behind a blank, so that readers which don't know it ignore it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

#define FOLDED_HEADER	  "# stackprobe "
#define FOLDED_UNIT_BYTES 32
#define FOLDED_HOST_BYTES 256

struct profile_meta;

struct folded_header {
	char unit[FOLDED_UNIT_BYTES]; /* "": not known */
	char host[FOLDED_HOST_BYTES]; /* "": not known */
	bool counts;		      /* the weights are numbers of events */
	uint64_t period_ns;	      /* 0: not known, or not sampled by time */
	int64_t from_ms, until_ms;    /* since 1970; 0: not known */
};

/* Adds the line of a profile. */
void folded_header_write(const struct profile_meta *meta, struct buf *out);

/* Reads a line without its end. Returns whether it is such a line; keys that it doesn't know are
 * left out, as is a value that can't be read. */
bool folded_header_read(const char *line, size_t len, struct folded_header *header);

/* Returns how long the profile took in ms; 0: not known. */
uint64_t folded_header_took_ms(const struct folded_header *header);
