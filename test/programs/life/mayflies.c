/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mayflies COUNT: COUNT processes, one after the other; each naps once for 5 ms (in main -> mayfly
 * -> mayfly_nap) and dies at once. What they measured is kept in memory that all share.
 */
#define _GNU_SOURCE
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "wait.h"

#define NAP_NS 5000000u

LEVEL static void mayfly_nap(struct waits *waits)
{
	sleep_ns(waits, NAP_NS);
}

LEVEL static void mayfly(struct waits *waits)
{
	mayfly_nap(waits);
	_exit(0);
}

int main(int argc, char **argv)
{
	uint64_t count = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
	struct waits *waits = mmap(NULL, sizeof(*waits) + count * sizeof(uint64_t),
				   PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (waits == MAP_FAILED)
		return 1;
	*waits = (struct waits){
		.name = "mayfly_nap", .each_ns = (uint64_t *)(waits + 1), .room = count};
	stand_by();
	for (uint64_t i = 0; i < count; i++) {
		pid_t pid = fork();

		if (pid == 0)
			mayfly(waits);
		if (pid < 0 || waitpid(pid, NULL, 0) < 0)
			return 1;
	}
	printf("{");
	waits_print(waits);
	answer_end();
	return 0;
}
