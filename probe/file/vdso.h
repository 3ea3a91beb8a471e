/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's vDSO: an ELF file that it maps into each process (vdso(7)). */
#pragma once

#include <stdbool.h>

/*
 * Returns a file in memory (memfd_create(2)) with the vDSO of 64-bit processes, or, if `narrow`,
 * with that of 32-bit ones; the caller closes it. Or a negative errno: -ENOENT if there is none
 * (narrow: the kernel doesn't run such programs, or lacks CONFIG_CHECKPOINT_RESTORE); -EBADMSG if
 * it makes no sense; -EIO if it can't be had now; that of making the file or a child.
 */
int vdso_open(bool narrow);
