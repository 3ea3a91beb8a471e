/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by jvmcode*.c and java/files/jvmfile*.c: a piece of code, and the reading of one. */
#pragma once

#include "bpf/shared/sample.h"
#include "java/code/jvmblob.h"
#include "java/code/jvmcode.h"
#include "java/code/jvmmethod.h"
#include "java/code/jvmscopes.h"

enum jvmcode_kind {
	JVMCODE_COMPILED,
	JVMCODE_INTERPRETED,
	JVMCODE_STUB,
};

struct jvmcode {
	unsigned int refs;
	uint32_t bytes;
	enum jvmcode_kind kind;
	uint32_t id;
	uint64_t from, to;
	uint32_t complete;	  /* offset where the frame is made; no bytecode begins before */
	bool is_known_everywhere; /* the compiler kept places for all of the code */
	bool is_told;		  /* told by the agent (java/files/jvmfile.h): `complete` is
				   * unknown, and whether the method is native */
	bool calls_nothing;	  /* the outermost method calls none: nothing can be inlined */
	uint32_t line;		  /* the one line of all the code; 0: there are several */
	uint32_t places_count, scopes_count, methods_count, lines_count;
	/* These lie in this block of memory, one behind the other. Here a scope's method is a
	 * number from 0. */
	struct jvmplace *places;
	struct jvmscope *scopes;
	struct jvmmethod *methods; /* the first is the outermost; a stub has only a name */
	struct jvmline *lines;	   /* of an interpreted method */
	char *texts;
};

/* A piece of code while it is read. */
struct jvmcode_reading {
	struct jvm_reader reader;
	struct jvmblob blob;
	struct jvmscopes scopes;
	struct jvmmethod *methods;
	uint64_t *pools; /* each method's constant pool */
	uint32_t methods_count;
	struct jvmmethod_reading method; /* the method that is being read */
	struct buf texts;
	struct jvmcode code; /* without its arrays and counts */
};

/* Makes a piece of what was read: `code`, scopes, methods, lines, texts. Returns 0 or -ENOMEM. */
int jvmcode_make(struct jvmcode **ret, const struct jvmcode_reading *reading);
void jvmcode_reading_done(struct jvmcode_reading *reading);

/* Reads the compiled method in reading->blob. Errors as jvmcode_read(). */
int jvmcode_read_compiled(struct jvmcode_reading *reading);
