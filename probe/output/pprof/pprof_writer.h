/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What output/pprof/pprof.c (samples) and pprof_table.c (what they name: strings, functions,
 * mappings, locations) share. Nobody else includes it.
 *
 * Messages of the profile follow each other in any order, so all that a sample names first is
 * written before it: what is staged is one sample with that, and is taken or left as a whole.
 */
#pragma once

#include "base/buf.h"
#include "base/intern.h"
#include "base/map.h"
#include "output/pprof/gzip.h"
#include "output/format/output.h"
#include "elf/demangle.h"

/* Numbers of the profile's fields in profile.proto; those of its messages stand where they are
 * written. */
enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_MAPPING = 3,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING = 6,
	PROFILE_TIME_NANOS = 9,
	PROFILE_DURATION_NANOS = 10,
	PROFILE_PERIOD_TYPE = 11,
	PROFILE_PERIOD = 12,
	PROFILE_COMMENT = 13,
	PROFILE_DEFAULT_SAMPLE_TYPE = 14,
};

/* Locations beyond the tree's frames. */
enum { LOCATION_UNKNOWN, LOCATION_TRUNCATED, LOCATIONS_MORE };

struct pprof_mapping {
	const struct module *module; /* NULL: the kernel */
	uint32_t file, build_id;     /* strings */
	bool has_files, has_lines, has_inlined;
};

#define DEMANGLINGS 64

struct pprof_writer {
	const struct tree *tree;
	const struct profile_meta *meta;
	struct gzip gzip;
	struct buf staged;
	size_t bytes;		   /* that gzip has, and those that mappings will have */
	struct buf message, inner; /* on their way; each is emptied before it is used */
	struct buf text;
	struct intern *strings;
	uint32_t strings_count;
	struct map *functions; /* struct function_key -> uint32_t: its number, from 1 */
	struct map *by_module; /* const struct module * -> uint32_t: its mapping's number, from 1 */
	struct pprof_mapping *mappings;
	uint32_t mappings_taken; /* what the file has names them */
	uint8_t *used;		 /* frames that are locations, LOCATIONS_MORE behind them */
	/* What names of inlined functions have cost, by the hash of their module; and all together.
	 */
	struct demangling demangling[DEMANGLINGS];
	uint64_t demangled_ns;
	int error;
};

/* -ENOMEM */
int pprof_writer_init(struct pprof_writer *writer, const struct tree *tree,
		      const struct profile_meta *meta);
void pprof_writer_done(struct pprof_writer *writer);

/* A field of the profile: a message, which is in writer->message, or a number. */
void pprof_put_message(struct pprof_writer *writer, uint32_t field);
void pprof_put_number(struct pprof_writer *writer, uint32_t field, uint64_t value);

/* Its number. Valid UTF-8: what isn't becomes U+FFFD; and no longer than servers keep it. */
uint32_t pprof_string(struct pprof_writer *writer, const char *string, size_t len);
uint32_t pprof_text(struct pprof_writer *writer, const char *text);

/* The number of a frame's location; LOCATIONS_MORE: of one that is no frame of the tree. */
uint64_t pprof_location(struct pprof_writer *writer, uint32_t frame);
uint64_t pprof_location_more(struct pprof_writer *writer, unsigned which);

/* At the end, when it is known what locations have. */
void pprof_put_mappings(struct pprof_writer *writer);
