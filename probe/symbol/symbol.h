/* SPDX-License-Identifier: GPL-2.0-only */
/* The only door from an address to a name. One thread uses a symbolizer: the bulk worker's. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "file/symbol_file.h"
#include "elf/frame.h"

struct jvmcode;
struct perfmap;
struct pycode;
struct pypath_script;

/* Where a frame's instruction lies. */
enum code_place {
	CODE_KERNEL, /* address: in the kernel */
	CODE_FILE,   /* address: offset in `file` */
	CODE_JIT,    /* in memory without a file */
	CODE_VSYSCALL,
	CODE_PYTHON, /* `instruction` of the code object `python` */
	CODE_JAVA,   /* one of the frames at the place `java_pair` of `java` */
};

struct code {
	enum code_place place;
	struct symbol_file *file;
	uint64_t address; /* of a return address the byte before it, where the call is */
	uint64_t mapped_from, mapped_to;    /* the mapping of `file`; 0: it isn't there any more */
	const struct pycode *python;	    /* borrowed; NULL: it could not be read */
	const struct pypath_script *script; /* of its process; borrowed, or NULL */
	/* Code that was made: where it is in memory, and what its process tells of it; borrowed,
	 * NULL: it isn't asked. */
	const struct perfmap *perfmap;
	uint64_t made;
	uint32_t instruction;
	const struct jvmcode *java; /* borrowed; NULL: it could not be read */
	uint64_t java_pair[2];	    /* as in a stack: bpf/shared/hotspot_tables.h */
	uint32_t java_depth;	    /* which frame, from the leaf; others are inlined there */
};

struct symbolizer;

/* -ENOMEM */
int symbolizer_new(struct symbolizer **ret);
void symbolizer_free(struct symbolizer *symbolizer);

/* To be called before a batch of names. */
void symbolizer_begin(struct symbolizer *symbolizer);

/* What a name doesn't tell. */
struct named {
	enum frame_type type;
	bool unnamed;	      /* it has no symbol */
	uint32_t line;	      /* CODE_PYTHON, CODE_JAVA: the one that runs; 0: none */
	size_t name_len;      /* what was added to `name`: so much of the function's name … */
	size_t signature_len; /* … of which this, at its end, is its parameters (Java) … */
	size_t file_len; /* … and behind it, without anything between, of its file's; 0: none */
};

/*
 * Adds the frame's name to `name`, without its kind's suffix. Without a symbol: `[module+0x1a2b]`
 * (where its function starts), `[module]` when the file could not be read, `[jit]` (of made code of
 * which its process tells nothing), `[kernel]`,
 * `[python]`, `[java]` for code that could not be read. What of a file is to be named has been read
 * before (file/symbol_file.h). Behind the name of Python's code comes its file's, shortened
 * (python/pypath.h); Java's is `package.Class.method(types)` and its file's.
 */
struct named symbolizer_name(struct symbolizer *symbolizer, const struct code *code,
			     struct buf *name);

/* So many frames that were shown have no symbol. */
void symbolizer_count_unnamed(struct symbolizer *symbolizer, uint64_t frames);

/* Why the kernel's names can't be read: 0 they can (or weren't needed yet), -EACCES
 * kernel.kptr_restrict hides them, or a negative errno. From any thread. */
int symbolizer_kernel_error(const struct symbolizer *symbolizer);

/* Frames that got no symbol since the start. */
uint64_t symbolizer_unnamed(const struct symbolizer *symbolizer);
