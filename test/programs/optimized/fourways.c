/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fourways SECONDS: one thread waits in four ways in turn, 200 microseconds each, every one in a
 * function of its own and all by libc's syscall(): the same instruction, other frames in the
 * kernel.
 */
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "level.h"

static const struct timespec wait = {.tv_nsec = 200000};
static uint32_t word;

static uint64_t wall_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

LEVEL static long sleeps(void)
{
	return syscall(SYS_nanosleep, &wait, NULL);
}

LEVEL static long polls(void)
{
	struct timespec left = wait;

	return syscall(SYS_ppoll, NULL, 0, &left, NULL, 0);
}

LEVEL static long parks(void)
{
	return syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &wait, NULL, 0);
}

LEVEL static long selects(void)
{
	struct timespec left = wait;

	return syscall(SYS_pselect6, 0, NULL, NULL, NULL, &left, NULL);
}

int main(int argc, char **argv)
{
	uint64_t end_ns = wall_ns() + seconds_ns(argc > 1 ? argv[1] : "1");
	long sum = 0;

	while (wall_ns() < end_ns)
		sum += sleeps() + polls() + parks() + selects();
	return sum == 5;
}
