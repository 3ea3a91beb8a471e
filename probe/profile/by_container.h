/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Profiles as outputs want them: `[Pod]pod;[Con]container;[pid]process;…`, Pod and Con where there
 * is one. While a profile is collected its processes stand on the root, for what is known of their
 * containers comes later, and changes: it is sorted when it is shown, by what is known then.
 */
#pragma once

#include "profile/profile.h"

#define POD_PREFIX	 "[Pod]"
#define CONTAINER_PREFIX "[Con]"

/* Of a profile whose tree_has_owners(): a copy in which a process is known by its text, below its
 * container's frame. Nothing may be merged with it. -ENOSPC, -ENOMEM */
int profile_by_container(struct profile **ret, const struct profile *from, bool places);
