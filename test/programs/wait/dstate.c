/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dstate vfork COUNT: waits of 20 ms in state D, in vfork_wait: a child has its memory. The child
 * sleeps in child_nap, in state S.
 * dstate direct COUNT FILE: reads the file past the page cache, in direct_wait; it is made first.
 * The kernel waits for the disk in io_schedule.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "wait.h"

#define BLOCK  65536
#define NAP_NS 20000000u

/* In the parent's memory, and so measured for it as well. */
LEVEL static void child_nap(struct waits *waits)
{
	sleep_ns(waits, NAP_NS);
}

LEVEL static pid_t vfork_wait(struct waits *waits, struct waits *naps)
{
	struct wait wait = wait_begin();
	pid_t pid = vfork();

	if (pid == 0) {
		child_nap(naps);
		_exit(0);
	}
	wait_end(waits, &wait, NAP_NS);
	return pid;
}

LEVEL static void direct_wait(struct waits *waits, int fd, void *block)
{
	struct wait wait = wait_begin();

	keep_frame();
	if (pread(fd, block, BLOCK, 0) != BLOCK)
		abort();
	wait_end(waits, &wait, 0);
}

static int file_make(const char *path, void *block)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	memset(block, 'x', BLOCK);
	if (fd < 0 || write(fd, block, BLOCK) != BLOCK || fsync(fd) < 0 || close(fd) < 0)
		return -1;
	return open(path, O_RDONLY | O_DIRECT | O_CLOEXEC);
}

int main(int argc, char **argv)
{
	uint64_t count = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
	struct waits waits = waits_new("waits", count), naps = waits_new("naps", count);
	void *block = aligned_alloc(BLOCK, BLOCK);
	int fd = -1;

	if (argc < 3 || !block)
		return 2;
	if (argv[1][0] == 'd') {
		fd = argc > 3 ? file_make(argv[3], block) : -1;
		if (fd < 0) {
			perror("O_DIRECT");
			return 3;
		}
	}
	stand_by();
	for (uint64_t i = 0; i < count; i++) {
		if (fd >= 0)
			direct_wait(&waits, fd, block);
		else if (waitpid(vfork_wait(&waits, &naps), NULL, 0) < 0)
			return 1;
	}
	printf("{");
	waits_print(&waits);
	printf(", ");
	waits_print(&naps);
	answer_end();
	return 0;
}
