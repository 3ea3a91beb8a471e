// SPDX-License-Identifier: GPL-2.0-or-later
#include "elf/root.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "elf/fd_budget.h"

uint32_t symbol_root_mark(const struct stat *stat)
{
	uint64_t hash = hash_bytes(stat->st_dev, &stat->st_ino, sizeof(stat->st_ino));

	return (uint32_t)hash | 1;
}

struct symbol_root *symbol_root_new(int *fd, const struct stat *stat)
{
	struct symbol_root *root = calloc(1, sizeof(*root));

	if (!root)
		return NULL;
	root->refs = 1;
	root->fd = TAKE_FD(*fd);
	root->device = stat->st_dev;
	root->inode = stat->st_ino;
	return root;
}

struct symbol_root *symbol_root_ref(struct symbol_root *root)
{
	if (root)
		atomic_fetch_add(&root->refs, 1);
	return root;
}

void symbol_root_unref(struct symbol_root *root)
{
	if (!root || atomic_fetch_sub(&root->refs, 1) > 1)
		return;
	if (root->fd >= 0) {
		close(root->fd); /* O_PATH: no file system is asked, so this can't hang */
		fd_budget_give();
	}
	free(root);
}
