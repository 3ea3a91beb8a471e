/* SPDX-License-Identifier: GPL-2.0-only */
/* What python/cpython*.c share. Nobody else includes it. */
#pragma once

#include "python/cpython.h"

struct cpython_symbols {
	uint64_t runtime, code_type, loop, loop_bytes;
	uint64_t version; /* Py_Version; 0: it has none */
};

/* PY_VERSION_HEX by Py_Version, else by the text in the file's data; 0: it can't be told. */
uint32_t cpython_version(int fd, const struct elf_image *image, uint64_t symbol);

/* Fills file->loop: the function and its other parts. Negative errno of reading, -ENOMEM. */
int cpython_loop(int fd, const struct elf_image *image, const struct cpython_symbols *symbols,
		 struct cpython_file *file);
