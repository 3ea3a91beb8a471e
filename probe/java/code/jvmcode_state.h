/* SPDX-License-Identifier: GPL-2.0-only */
/* What jvmcode*.c share. */
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
	uint32_t complete;	  /* before it, no bytecode has begun: where the frame is made */
	bool is_known_everywhere; /* the compiler kept places for all of the code */
	bool is_told;		  /* by the agent: `complete` isn't known, nor is it native
				   * (java/files/jvmfile.h)
				   */
	bool calls_nothing;	  /* the outermost method: nothing can be inlined */
	uint32_t line;		  /* that all of it has; 0: it has several */
	uint32_t places_count, scopes_count, methods_count, lines_count;
	/* In this block, behind one another. A scope's method is a number from 0 here. */
	struct jvmplace *places;
	struct jvmscope *scopes;
	struct jvmmethod *methods; /* the first one is the outermost; a stub's name is its name */
	struct jvmline *lines;	   /* an interpreted method's */
	char *texts;
};

/* A piece while it is read. */
struct jvmcode_reading {
	struct jvm_reader reader;
	struct jvmblob blob;
	struct jvmscopes scopes;
	struct jvmmethod *methods;
	uint64_t *pools; /* of each of the methods */
	uint32_t methods_count;
	struct jvmmethod_reading method; /* the one that is read */
	struct buf texts;
	struct jvmcode code; /* but for what lies behind it */
};

/* A piece of what was read: `code`, scopes, methods, lines, texts. -ENOMEM */
int jvmcode_make(struct jvmcode **ret, const struct jvmcode_reading *reading);
void jvmcode_reading_done(struct jvmcode_reading *reading);

/* A compiled method; the blob is known. */
int jvmcode_read_compiled(struct jvmcode_reading *reading);
