// SPDX-License-Identifier: GPL-2.0-or-later
#include "sys.h"

#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

#define PAGE_BYTES 4096

static long call(long number, long a, long b, long c, long d, long e, long f)
{
#ifdef __x86_64__
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
#elif defined(__aarch64__)
	register long x8 __asm__("x8") = number;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;

	__asm__ volatile("svc 0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
			 : "memory");
	return x0;
#else
#error "system calls of this processor"
#endif
}

long sys_open(int folder, const char *path, int flags, int mode)
{
	return call(SYS_openat, folder, (long)path, flags, mode, 0, 0);
}

long sys_close(int fd)
{
	return call(SYS_close, fd, 0, 0, 0, 0, 0);
}

long sys_write(int fd, const void *data, size_t bytes)
{
	return call(SYS_write, fd, (long)data, (long)bytes, 0, 0, 0);
}

long sys_pread(int fd, void *data, size_t bytes, uint64_t at)
{
	return call(SYS_pread64, fd, (long)data, (long)bytes, (long)at, 0, 0);
}

long sys_truncate(int fd, uint64_t bytes)
{
	return call(SYS_ftruncate, fd, (long)bytes, 0, 0, 0, 0);
}

long sys_stat(int fd, struct stat *stat)
{
	return call(SYS_fstat, fd, (long)stat, 0, 0, 0, 0);
}

long sys_rename(int folder, const char *from, const char *to)
{
	return call(SYS_renameat, folder, (long)from, folder, (long)to, 0, 0);
}

long sys_unlink(int folder, const char *path, int flags)
{
	return call(SYS_unlinkat, folder, (long)path, flags, 0, 0, 0);
}

long sys_flock(int fd, int how)
{
	return call(SYS_flock, fd, how, 0, 0, 0, 0);
}

long sys_getpid(void)
{
	return call(SYS_getpid, 0, 0, 0, 0, 0, 0);
}

long sys_gettid(void)
{
	return call(SYS_gettid, 0, 0, 0, 0, 0, 0);
}

uint64_t sys_now_ns(void)
{
	struct timespec now = {0};

	call(SYS_clock_gettime, CLOCK_MONOTONIC, (long)&now, 0, 0, 0, 0);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

void *pages_take(size_t bytes)
{
	long at = call(SYS_mmap, 0, (long)bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return at < 0 && at > -PAGE_BYTES ? NULL : (void *)at;
}

void pages_give(void *at, size_t bytes)
{
	if (at)
		call(SYS_munmap, (long)at, (long)bytes, 0, 0, 0, 0);
}

/* ---- what a compiler calls by itself ---- */

__attribute__((visibility("hidden"))) void *memcpy(void *to, const void *from, size_t bytes)
{
	uint8_t *t = to;
	const uint8_t *f = from;

	for (size_t i = 0; i < bytes; i++)
		t[i] = f[i];
	return to;
}

__attribute__((visibility("hidden"))) void *memset(void *to, int value, size_t bytes)
{
	uint8_t *t = to;

	for (size_t i = 0; i < bytes; i++)
		t[i] = (uint8_t)value;
	return to;
}

size_t text_length(const char *text)
{
	size_t len = 0;

	while (text[len])
		len++;
	return len;
}

bool text_equals(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return *a == *b;
}

/* ---- the lock ---- */

void lock_take(struct lock *lock)
{
	uint32_t state = 0;

	if (__atomic_compare_exchange_n(&lock->state, &state, 1, false, __ATOMIC_ACQUIRE,
					__ATOMIC_RELAXED))
		return;
	while (__atomic_exchange_n(&lock->state, 2, __ATOMIC_ACQUIRE) != 0)
		call(SYS_futex, (long)&lock->state, FUTEX_WAIT_PRIVATE, 2, 0, 0, 0);
}

void lock_give(struct lock *lock)
{
	if (__atomic_exchange_n(&lock->state, 0, __ATOMIC_RELEASE) == 2)
		call(SYS_futex, (long)&lock->state, FUTEX_WAKE_PRIVATE, 1, 0, 0, 0);
}

/* ---- buffers ---- */

static bool grow(struct bytes *bytes, size_t more)
{
	size_t room = bytes->room ? bytes->room : PAGE_BYTES;

	while (room < bytes->len + more)
		room *= 2;
	if (room == bytes->room)
		return true;
	uint8_t *data = pages_take(room);
	if (!data)
		return false;
	memcpy(data, bytes->data, bytes->len);
	pages_give(bytes->data, bytes->room);
	bytes->data = data;
	bytes->room = room;
	return true;
}

void bytes_add(struct bytes *bytes, const void *data, size_t count)
{
	bytes->failed = bytes->failed || !grow(bytes, count);
	if (bytes->failed)
		return;
	memcpy(bytes->data + bytes->len, data, count);
	bytes->len += count;
}

void bytes_varint(struct bytes *bytes, uint64_t value)
{
	uint8_t text[10];
	size_t len = 0;

	do {
		text[len++] = (uint8_t)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
		value >>= 7;
	} while (value);
	bytes_add(bytes, text, len);
}

void bytes_align(struct bytes *bytes)
{
	static const uint8_t zeroes[8];

	bytes_add(bytes, zeroes, (8 - bytes->len % 8) % 8);
}

void bytes_free(struct bytes *bytes)
{
	pages_give(bytes->data, bytes->room);
	*bytes = (struct bytes){0};
}
