/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * syscalls SECONDS: nearly all of that CPU time in the kernel, reading /dev/zero.
 * The system call is made here and not by libc, so that the kernel's caller is read_block.
 */
#include <fcntl.h>
#include <unistd.h>
#include <sys/syscall.h>

#include "burn.h"

static char block[1 << 20];

static long read_block(int fd)
{
	long r;

	keep_frame();
#if defined(__x86_64__)
	__asm__ volatile("syscall"
			 : "=a"(r)
			 : "a"(SYS_read), "D"(fd), "S"(block), "d"(sizeof(block))
			 : "rcx", "r11", "memory");
#elif defined(__aarch64__)
	register long x8 __asm__("x8") = SYS_read;
	register long x0 __asm__("x0") = fd;
	register long x1 __asm__("x1") = (long)block;
	register long x2 __asm__("x2") = sizeof(block);
	__asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
	r = x0;
#else
	r = syscall(SYS_read, fd, block, sizeof(block));
#endif
	return r;
}

static int drain_zero(int fd, uint64_t ns)
{
	while (thread_cpu_ns() < ns)
		for (int i = 0; i < 50; i++)
			if (read_block(fd) <= 0)
				return 1;
	return 0;
}

int main(int argc, char **argv)
{
	int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return 1;
	return drain_zero(fd, seconds_ns(argc > 1 ? argv[1] : "1"));
}
