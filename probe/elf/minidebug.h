/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Unpacker for the small debug file that some distributions put into each program and library
 * ("MiniDebugInfo"): an ELF file with the stripped .symtab, packed by xz, in the section
 * .gnu_debugdata.
 *
 * Source: GDB's manual, "Debugging information in a special section".
 */
#pragma once

#include "proc/elf.h"

/* Unpacks the debug file into a memfd and returns its descriptor, which the caller owns; or a
 * negative errno: -ENOENT if there is none; -EBADMSG if it is broken; -EFBIG if it needs too much
 * memory; -ENOMEM; an errno of reading. Call this in a job. */
int minidebug_open(int fd, const struct elf_image *image);
