/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by python/cpython*.c, private to them. */
#pragma once

#include "python/cpython.h"

struct cpython_symbols {
	uint64_t runtime, code_type, loop, loop_bytes;
	uint64_t function_type; /* 0: there is no such symbol */
	uint64_t version;	/* Py_Version; 0: there is no such symbol */
};

/* Reads PY_VERSION_HEX from Py_Version (`symbol`), else from a text in the file's data. Returns 0
 * if the version can't be found. */
uint32_t cpython_version(int fd, const struct elf_image *image, uint64_t symbol);

/* Fills in file->loop: the function and its other pieces. Returns 0, or a negative errno: -ENOENT
 * if no piece is found; -ENOMEM; the errno of reading. */
int cpython_loop(int fd, const struct elf_image *image, const struct cpython_symbols *symbols,
		 struct cpython_file *file);
