/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reader for the pcs where a Java VM may stop in a piece of code: there the VM has an OopMap. */
#pragma once

#include "java/code/jvmread.h"

/* Reads the pcs, as offsets from the code's begin, in the VM's order, which is rising. `maps` is
 * the address of the OopMaps. The caller sets *pcs to NULL and frees it, also after an error.
 * Returns their number (0: none, or this VM doesn't tell), or a negative errno: -EBADMSG; -ENOMEM;
 * an errno of reading. */
long jvmstops_read(struct jvm_reader *reader, uint64_t maps, uint32_t **pcs);
