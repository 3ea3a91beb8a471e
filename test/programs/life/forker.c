/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * forker [-w] SECONDS [PROGRAM [ARG...]]: parent and child burn that much CPU time each, in
 * parent_work and in child_work; then the child becomes the program, where one is given. With -w it
 * stops itself before the fork, until SIGCONT. Prints the child's pid at once, and at the end what
 * each took.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "burn.h"

static void parent_work(uint64_t ns)
{
	burn_ns(ns);
}

static void child_work(uint64_t ns)
{
	burn_ns(ns);
}

static int be_child(uint64_t ns, int out, char **program)
{
	child_work(ns);
	uint64_t took_ns = thread_cpu_ns();
	if (write(out, &took_ns, sizeof(took_ns)) != sizeof(took_ns))
		return 1;
	if (program[0])
		execv(program[0], program);
	return program[0] ? 127 : 0;
}

int main(int argc, char **argv)
{
	uint64_t child_ns = 0;
	int pipes[2], status;

	if (argc > 1 && strcmp(argv[1], "-w") == 0) {
		raise(SIGSTOP);
		argc--;
		argv++;
	}
	if (argc < 2 || pipe(pipes) < 0)
		return 2;
	uint64_t ns = seconds_ns(argv[1]);
	pid_t pid = fork();
	if (pid < 0)
		return 1;
	if (pid == 0)
		_exit(be_child(ns, pipes[1], argv + 2));
	printf("{\"child\": %d}\n", (int)pid);
	fflush(stdout);
	parent_work(ns);
	if (read(pipes[0], &child_ns, sizeof(child_ns)) != sizeof(child_ns))
		return 1;
	if (waitpid(pid, &status, 0) < 0 || status != 0)
		return 1;
	printf("{\"cpu_ns\": %" PRIu64 ", \"child_cpu_ns\": %" PRIu64 "}\n", thread_cpu_ns(),
	       child_ns);
	return 0;
}
