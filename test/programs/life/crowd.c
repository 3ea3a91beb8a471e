/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * crowd [-x] COUNT [BUSY]: COUNT processes that sleep, and BUSY more that burn 1 ms of CPU time in
 * busy_work and sleep for 50, over and over. With -x each execs this program again and so has
 * memory of its own layout. Prints a line once all are there; they end with this process.
 */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "burn.h"

static void busy_work(void)
{
	for (;;) {
		burn_ns(1000000);
		usleep(50000);
	}
}

static void live(bool busy)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (busy)
		busy_work();
	for (;;)
		pause();
}

static int be_child(char *program, bool exec, bool busy, int out)
{
	char *argv[] = {program, busy ? "busy" : "idle", NULL};

	dup2(out, STDERR_FILENO);
	if (exec)
		execv(program, argv);
	if (write(out, "!", 1) != 1)
		return 1;
	live(busy);
	return 0;
}

int main(int argc, char **argv)
{
	bool exec = argc > 1 && strcmp(argv[1], "-x") == 0;
	int pipes[2];
	char byte;

	if (argc == 2 && (strcmp(argv[1], "busy") == 0 || strcmp(argv[1], "idle") == 0)) {
		if (write(STDERR_FILENO, "!", 1) != 1)
			return 1;
		live(strcmp(argv[1], "busy") == 0);
	}
	if (argc < (exec ? 3 : 2) || pipe(pipes) < 0)
		return 2;
	long idle = atol(argv[exec ? 2 : 1]);
	long busy = argc > (exec ? 3 : 2) ? atol(argv[exec ? 3 : 2]) : 0;
	for (long i = 0; i < idle + busy; i++) {
		pid_t pid = fork();

		if (pid < 0) {
			perror("fork");
			return 1;
		}
		if (pid == 0)
			_exit(be_child(argv[0], exec, i >= idle, pipes[1]));
		if (read(pipes[0], &byte, 1) !=
		    1) /* one after the other: little memory, no crush */
			return 1;
	}
	printf("{\"there\": %ld}\n", idle + busy);
	fflush(stdout);
	for (;;)
		pause();
}
