/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The agent's own system calls, memory, and lock. It is linked with nothing, so that one file loads
 * in any VM: of old and new glibc, and of musl. Errors are negative errno, as the kernel says them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct stat;

/* fcntl.h's flags. */
long sys_open(int folder, const char *path, int flags, int mode);
long sys_close(int fd);
long sys_write(int fd, const void *data, size_t bytes);
long sys_pread(int fd, void *data, size_t bytes, uint64_t at);
long sys_truncate(int fd, uint64_t bytes);
long sys_stat(int fd, struct stat *stat);
long sys_rename(int folder, const char *from, const char *to);
long sys_unlink(int folder, const char *path, int flags);
long sys_flock(int fd, int how);
long sys_getpid(void);
long sys_gettid(void);
uint64_t sys_now_ns(void);

/* Zeroed pages; NULL: none. */
void *pages_take(size_t bytes);
void pages_give(void *at, size_t bytes);

/* Waits for others; not to be taken twice. */
struct lock {
	uint32_t state; /* 0: free, 1: taken, 2: others may wait */
};
void lock_take(struct lock *lock);
void lock_give(struct lock *lock);

size_t text_length(const char *text);
bool text_equals(const char *a, const char *b);

/* A growing buffer of pages. After the first failure it takes no more, and says so. */
struct bytes {
	uint8_t *data;
	size_t len, room;
	bool failed;
};
void bytes_add(struct bytes *bytes, const void *data, size_t count);
void bytes_varint(struct bytes *bytes, uint64_t value);
/* With zeroes, up to a multiple of 8. */
void bytes_align(struct bytes *bytes);
void bytes_free(struct bytes *bytes);
