/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Symbolizer: the only way from an address to a name. One thread uses it: the bulk worker's. */
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
	CODE_KERNEL, /* at `address` in the kernel */
	CODE_FILE,   /* at the offset `address` in `file` */
	CODE_JIT,    /* in memory without a file */
	CODE_VSYSCALL,
	CODE_PYTHON, /* at `instruction` of the code object `python` */
	CODE_JAVA,   /* at the place `java_pair` of `java`, which may have several frames */
};

struct code {
	enum code_place place;
	struct symbol_file *file;
	uint64_t address; /* for a return address the byte before, where the call is */
	uint64_t mapped_from, mapped_to;    /* the mapping of `file`; 0: gone */
	const struct pycode *python;	    /* borrowed; NULL: couldn't be read */
	const struct pypath_script *script; /* of the process; borrowed, or NULL */
	/* JIT code: the process's perf map (borrowed; NULL: not asked), and the address in memory.
	 */
	const struct perfmap *perfmap;
	uint64_t made;
	/* JIT code: what its process tells debuggers of it (jit/jit_code.h); borrowed, or NULL */
	const char *told;
	size_t told_len;
	uint32_t instruction;
	const struct jvmcode *java; /* borrowed; NULL: couldn't be read */
	uint64_t java_pair[2];	    /* as in a stack: bpf/shared/hotspot_tables.h */
	uint32_t java_depth;	    /* number of the frame at the place, from the leaf */
};

struct symbolizer;

/* Returns 0 or -ENOMEM. */
int symbolizer_new(struct symbolizer **ret);
void symbolizer_free(struct symbolizer *symbolizer);

/* Reads the kernel's names, unless they were read before: ahead of a batch that needs some. */
void symbolizer_read_kernel(struct symbolizer *symbolizer);

/* As kernel_symbols_section(), of what was read. The same thread as above. */
size_t symbolizer_kernel_section(const struct symbolizer *symbolizer, const char *first,
				 const char *last, uint64_t *starts, size_t max, uint64_t *end);

/* Begins a batch of names. */
void symbolizer_begin(struct symbolizer *symbolizer);

/* Facts about the text that symbolizer_name() added, which is a name and then a file's name. */
struct named {
	enum frame_type type;
	bool unnamed;	      /* there is no symbol */
	uint32_t line;	      /* CODE_PYTHON, CODE_JAVA: the line that runs; 0: none */
	size_t name_len;      /* bytes of the function's name */
	size_t signature_len; /* Java: bytes of the parameters, at the end of the name */
	size_t file_len;      /* bytes of the file's name, right behind the name; 0: none */
};

/*
 * Adds the frame's name to `name`, without the suffix of its type. Without a symbol it adds
 * `[module+0x1a2b]` (where the function starts); `[module]` if the file couldn't be read; `[jit]`
 * for JIT code whose process tells no name; `[kernel]`; `[python]` or `[java]` for code that
 * couldn't be read. The functions of a file have been read before (file/symbol_file.h). Python's
 * name is followed by the file's, shortened (python/pypath.h); Java's is
 * `package.Class.method(types)`, followed by the file's.
 */
struct named symbolizer_name(struct symbolizer *symbolizer, const struct code *code,
			     struct buf *name);

/* Adds to the number of shown frames without a symbol. */
void symbolizer_count_unnamed(struct symbolizer *symbolizer, uint64_t frames);

/* Returns why the kernel's names can't be read: 0 if they can (or weren't needed yet), -EACCES if
 * kernel.kptr_restrict hides them, or another negative errno. Any thread. */
int symbolizer_kernel_error(const struct symbolizer *symbolizer);

/* Returns the number of frames without a symbol since the start. Any thread. */
uint64_t symbolizer_unnamed(const struct symbolizer *symbolizer);
