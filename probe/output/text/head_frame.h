/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which frames of folded text are a pod, a container or a process: told by `[Pod]`, `[Con]` and
 * `[pid]` in the first rows. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "elf/frame.h"

#define HEAD_ROWS 3 /* the most rows that they take: rows 1 to 3 */

/* Returns the type of a frame in row 1 to HEAD_ROWS, whose parent has type `on` (in row 1:
 * FRAME_TYPE_ROOT); FRAME_TYPE_NATIVE: it is none of them. */
enum frame_type head_frame_type(const char *name, size_t len, enum frame_type on);

/* Returns how many bytes `[pid]` of a process's frame takes; 0: the frame is no process. */
size_t head_frame_pid(const char *name, size_t len);
