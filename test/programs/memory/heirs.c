/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * heirs fork|exec|rest|rename: allocates 50 x 100 bytes in `before`; then
 * fork: a child frees its copies of these, and allocates 30 x 200 in `child_keeps`;
 * exec: it becomes a new program (this one), which allocates 20 x 10 in `after`;
 * rest: it stands by, and allocates 20 x 10 in `after`;
 * rename: it is called heirs2, and allocates 20 x 10 in `after`.
 * It stands by before, and when all that is done (fork: parent and child; {"child": PID}).
 */
#define _GNU_SOURCE
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "heap.h"

#define SITE(name)                                                                                 \
	LEVEL static void *name(size_t bytes)                                                      \
	{                                                                                          \
		return given(malloc(bytes));                                                       \
	}

SITE(before)
SITE(after)
SITE(child_keeps)

static void *old[50];

static void go_on(void)
{
	for (unsigned i = 0; i < 20; i++)
		took("after", 10, after(10));
	answer_sites();
}

static void be_child(int out)
{
	for (unsigned i = 0; i < 50; i++)
		free(old[i]);
	for (unsigned i = 0; i < 30; i++)
		took("child_keeps", 200, child_keeps(200));
	if (write(out, "", 1) != 1)
		abort();
	raise(SIGSTOP);
	_exit(0);
}

static void beget(void)
{
	int pipes[2], status;
	char byte;

	if (pipe(pipes) < 0)
		abort();
	pid_t pid = fork();

	if (pid == 0)
		be_child(pipes[1]);
	if (pid < 0 || read(pipes[0], &byte, 1) != 1)
		abort();
	printf("{\"child\": %d}\n", (int)pid);
	stand_by();
	kill(pid, SIGCONT);
	waitpid(pid, &status, 0);
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	if (strcmp(argv[1], "after") == 0) {
		go_on();
		return 0;
	}
	stand_by();
	for (unsigned i = 0; i < 50; i++)
		old[i] = took("before", 100, before(100));
	switch (argv[1][0]) {
	case 'f':
		beget();
		return 0;
	case 'e':
		execl(argv[0], argv[0], "after", NULL);
		return 1;
	case 'r':
		if (strcmp(argv[1], "rest") == 0)
			answer_sites();
		else
			prctl(PR_SET_NAME, "heirs2");
		go_on();
		return 0;
	}
	return 2;
}
