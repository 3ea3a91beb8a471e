/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether two profiles are of the same version of a source file or module, told by the lines or
 * addresses that both have: in a source file that has changed, the lines of functions have moved by
 * the same number each; of a module that was built again, the addresses of one profile are hardly
 * in the other.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "output/svg/stacks.h"

struct file_versions;

/* Returns 0 or -ENOMEM; the caller owns *ret. */
int versions_new(struct file_versions **ret);
void versions_free(struct file_versions *versions);
static inline void versions_freep(struct file_versions **versions)
{
	versions_free(*versions);
}

/* Tells a frame and the weight of its stack. Returns 0 or -ENOMEM. */
int versions_add(struct file_versions *versions, enum stacks_side side, uint64_t weight,
		 const char *name, size_t len);

/* Decides; `totals` are the weights of all stacks by side. Returns 0 or -ENOMEM. */
int versions_compare(struct file_versions *versions, const uint64_t totals[2]);

/* Returns whether the file or module with that name is of two versions. */
bool versions_differ(const struct file_versions *versions, const char *group, size_t len);

/* Returns how many files and modules are of two versions. */
size_t versions_different(const struct file_versions *versions);
