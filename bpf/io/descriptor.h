/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is behind a file descriptor of the current process. (Another thread may have closed it since
 * the call began, and opened another file under its number: then the kind is that file's.)
 */
#pragma once

#include "bpf/core/kernel_types.h"
#include "bpf/shared/io_calls.h"

/* include/uapi/linux/stat.h */
#define S_IFMT	      0170000
#define S_IFSOCK      0140000
#define S_IFREG	      0100000
#define S_IFCHR	      0020000
#define S_IFIFO	      0010000

#define MAJOR(device) ((device) >> 20) /* include/linux/kdev_t.h */

struct super_block;

struct inode___mode {
	unsigned short i_mode;
	uint32_t i_rdev;
} RELOCATED;

struct file___any {
	struct inode___mode *f_inode;
} RELOCATED;

struct fdtable {
	unsigned int max_fds;
	struct file___any **fd;
} RELOCATED;

struct files_struct {
	struct fdtable *fdt;
} RELOCATED;

struct task_struct___files {
	struct files_struct *files;
} RELOCATED;

/* Returns the file behind a descriptor; NULL: none, or it can't be read. */
static __always_inline struct file___any *descriptor_file(uint64_t descriptor)
{
	struct task_struct___files *task = (void *)bpf_get_current_task();
	struct fdtable *table = BPF_CORE_READ(task, files, fdt);
	uint32_t number = descriptor;
	struct file___any *file = NULL;

	if (number >= BPF_CORE_READ(table, max_fds))
		return NULL;
	bpf_probe_read_kernel(&file, sizeof(file), BPF_CORE_READ(table, fd) + number);
	return file;
}

/* Documentation/admin-guide/devices.txt: consoles and serial lines, /dev/tty, Unix98 terminals,
 * serial lines behind USB. */
static __always_inline bool is_tty(uint32_t major)
{
	return major == 4 || major == 5 || (major >= 136 && major <= 143) || major == 166 ||
	       major == 188 || major == 204;
}

static __always_inline enum io_kind file_kind(const struct file___any *file)
{
	struct inode___mode *inode = BPF_CORE_READ(file, f_inode);

	switch (BPF_CORE_READ(inode, i_mode) & S_IFMT) {
	case S_IFREG:
		return IO_FILE;
	case S_IFSOCK:
		return IO_SOCKET;
	case S_IFIFO:
		return IO_PIPE;
	case S_IFCHR:
		return is_tty(MAJOR(BPF_CORE_READ(inode, i_rdev))) ? IO_TTY : IO_OTHER;
	default:
		return IO_OTHER;
	}
}

static __always_inline enum io_kind descriptor_kind(uint64_t descriptor)
{
	return file_kind(descriptor_file(descriptor));
}
