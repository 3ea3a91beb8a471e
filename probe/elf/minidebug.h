/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The small debug file that some distributions put into each program and library: an ELF file with
 * the .symtab that was stripped, packed by xz, in a section .gnu_debugdata.
 *
 * Source: GDB's manual, "Debugging information in a special section".
 */
#pragma once

#include "proc/elf.h"

/* Unpacks it into memory of its own: a file descriptor. -ENOENT: there is none; -EBADMSG broken,
 * -EFBIG it would take too much memory, -ENOMEM, errno of reading. In a job. */
int minidebug_open(int fd, const struct elf_image *image);
