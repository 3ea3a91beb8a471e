/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Opens a process's jitdump through its mapping. */
#pragma once

#include "runtime/made_dump.h"

/*
 * Returns a descriptor, which the caller owns, or a negative errno: -EPERM if the file belongs to
 * another user than the process's present one (such a file is never opened), or is no regular file;
 * -ESRCH if the process is gone or runs another program; as mapped_open(). May hang: in a job.
 */
int made_dump_open(const struct made_dump_place *place);
