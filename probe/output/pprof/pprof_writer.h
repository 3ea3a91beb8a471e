/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * State of the pprof writer, shared by output/format/pprof_shape.c (samples) and pprof_table.c (the
 * tables: strings, functions, mappings, locations). No other file includes this header.
 *
 * The messages of a profile may have any order. So a sample is staged together with the table
 * entries that it is the first to use, and the whole is taken into the file or left out.
 */
#pragma once

#include "base/buf.h"
#include "base/intern.h"
#include "base/map.h"
#include "output/pprof/gzip.h"
#include "output/format/output.h"
#include "elf/demangle.h"

/* Field numbers of message Profile in profile.proto; those of other messages are in the .c
 * files. */
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

/* Locations that are no frames of the tree; their ids follow those of the frames. */
enum { LOCATION_UNKNOWN, LOCATION_TRUNCATED, LOCATIONS_MORE };

struct pprof_mapping {
	const struct module *module; /* NULL: the kernel */
	uint32_t file, build_id;     /* numbers of strings */
	bool has_files, has_lines, has_inlined;
};

#define DEMANGLINGS 64

struct pprof_writer {
	const struct tree *tree;
	const struct profile_meta *meta;
	struct gzip gzip;
	struct buf staged;
	size_t bytes;		   /* bytes that gzip has, and an upper bound for the mappings */
	struct buf message, inner; /* scratch: a message, and one inside it */
	struct buf text;	   /* scratch: a string as it is kept */
	struct intern *strings;
	uint32_t strings_count; /* strings that are written */
	struct map *functions;	/* struct function_key -> uint32_t: id, from 1 */
	struct map *by_module;	/* const struct module * -> uint32_t: id of its mapping, from 1 */
	struct pprof_mapping *mappings;
	uint32_t mappings_taken; /* mappings that the file refers to */
	uint8_t *used;		 /* by location: 1 if it is written; LOCATIONS_MORE behind frames */
	/* CPU time that demangling took: by hash of the module, and for all modules. */
	struct demangling demangling[DEMANGLINGS];
	uint64_t demangled_ns;
	int error; /* 0, or the first negative errno; the functions below keep their errors here */
};

/* Returns 0, or -ENOMEM. pprof_writer_done() is to be called also after an error. */
int pprof_writer_init(struct pprof_writer *writer, const struct tree *tree,
		      const struct profile_meta *meta);
void pprof_writer_done(struct pprof_writer *writer);

/* Stage a field of the profile: the message in writer->message, or a number. */
void pprof_put_message(struct pprof_writer *writer, uint32_t field);
void pprof_put_number(struct pprof_writer *writer, uint32_t field, uint64_t value);

/* Return the number of a string, staging the string if it is new. Invalid UTF-8 becomes U+FFFD; a
 * string that is longer than servers keep (64 KiB) is cut. */
uint32_t pprof_string(struct pprof_writer *writer, const char *string, size_t len);
uint32_t pprof_text(struct pprof_writer *writer, const char *text);

/* Return the id of a location, staging the location if it is new: of a frame of the tree, or of
 * LOCATION_UNKNOWN or LOCATION_TRUNCATED. */
uint64_t pprof_location(struct pprof_writer *writer, uint32_t frame);
uint64_t pprof_location_more(struct pprof_writer *writer, unsigned which);

/* Stages the mappings; to be called at the end, when all locations have set their has_… flags. */
void pprof_put_mappings(struct pprof_writer *writer);
