/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Programs that make code at run time, and write a perf map only where they are told to. */
#pragma once

#include <stdbool.h>

/*
 * Returns how a process that has mapped the file `path` is told to write a perf map, a sentence's
 * part for people; NULL: the file is of no such program. `is_program`: the file is what the process
 * runs. The text is constant. Any thread.
 */
const char *perfmap_flag(const char *path, bool is_program);
