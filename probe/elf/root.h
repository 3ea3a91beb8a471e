/* SPDX-License-Identifier: GPL-2.0-only */
/* The root folder of a process that has another one than we: where its files and their debug files
 * are looked for. References may be dropped on any thread. */
#pragma once

#include <stdint.h>
#include <sys/stat.h>

struct symbol_root {
	_Atomic unsigned refs;
	int fd; /* O_PATH, held open, or -1 */
	dev_t device;
	ino_t inode;
};

/* Tells a root folder that isn't ours from others, as job_of() takes it: never 0. */
uint32_t symbol_root_mark(const struct stat *stat);

/* *fd: it, as O_PATH, with its place (held_take()), or -1; it is taken over (*fd becomes -1).
 * NULL: no memory. */
struct symbol_root *symbol_root_new(int *fd, const struct stat *stat);
struct symbol_root *symbol_root_ref(struct symbol_root *root);
void symbol_root_unref(struct symbol_root *root);
