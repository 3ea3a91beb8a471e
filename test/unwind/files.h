/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The files that recorded processes had mapped, by path: opened once, with their unwind tables. The
 * vDSO is our own process's, the same as theirs: one kernel serves it to all.
 */
#pragma once

#include "replay.h"

struct mapped_file {
	char *path;
	int fd;			  /* -1: no file, or it can't be opened */
	struct elf_image elf;	  /* no segments: not an ELF file */
	struct table_image image; /* words NULL: it has no table */
	enum span_kind kind;
	struct mapped_file *next;
};

struct files {
	struct mapped_file *first;
};

/* NULL: no memory. */
struct mapped_file *files_get(struct files *files, const char *path);
void files_done(struct files *files);

/* The last part of its path. */
const char *mapped_file_name(const struct mapped_file *file);
