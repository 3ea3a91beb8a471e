/* SPDX-License-Identifier: GPL-2.0-only */
/* Where a Java VM may stop in a piece of its code: it has a map of the references there. */
#pragma once

#include "java/code/jvmread.h"

/* Their pcs, from the code's begin on, in the order in which the VM has them, which is theirs.
 * `maps` is their address. *pcs is the caller's to free, after an error as well. Returns how many;
 * 0: none, or this VM doesn't say. */
long jvmstops_read(struct jvm_reader *reader, uint64_t maps, uint32_t **pcs);
