/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A process's root folder that isn't ours, shared by references: the process's files and their
 * debug files are searched there. References may be taken and dropped on any thread. */
#pragma once

#include <stdint.h>
#include <sys/stat.h>

struct symbol_root {
	_Atomic unsigned refs;
	int fd; /* O_PATH, kept open, with a place of fd_budget_take(); or -1 */
	dev_t device;
	ino_t inode;
};

/* Returns a hash of a root folder that isn't ours, as job_of() takes it: never 0. */
uint32_t symbol_root_mark(const struct stat *stat);

/* Takes over *fd (the root as O_PATH, with its place of fd_budget_take(); or -1), which becomes -1.
 * Returns NULL without memory; then the caller keeps *fd. */
struct symbol_root *symbol_root_new(int *fd, const struct stat *stat);
struct symbol_root *symbol_root_ref(struct symbol_root *root);
void symbol_root_unref(struct symbol_root *root);
