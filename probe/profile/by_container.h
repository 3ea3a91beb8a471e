/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sorts a profile by container, as outputs want it: `[Pod]pod;[Con]container;[pid]process;…`, with
 * Pod and Con where there is one. In a profile that is collected, processes stand on the root, as
 * what is known of their containers comes later and changes. So it is sorted when it is shown. Jobs
 * of the bulk worker only.
 */
#pragma once

#include "profile/profile.h"

#define POD_PREFIX	 "[Pod]"
#define CONTAINER_PREFIX "[Con]"

/*
 * Makes a sorted copy of a profile whose tree_has_owners(), owned by the caller; processes are
 * identified by their text, below their container's frame. Nothing may be merged with the copy.
 * Returns 0, -ENOSPC or -ENOMEM.
 */
int profile_by_container(struct profile **ret, const struct profile *from, bool places);
