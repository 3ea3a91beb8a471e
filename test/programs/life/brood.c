/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * brood COUNT EVERY_US: waits for SIGUSR1, then forks so many children, one after the other with
 * that pause between them. They exec nothing, and they and it live until they are killed.
 */
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	long count = argc > 2 ? strtol(argv[1], NULL, 10) : 0;
	long every_us = argc > 2 ? strtol(argv[2], NULL, 10) : 0;
	sigset_t set;
	int signal;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	sigwait(&set, &signal);
	for (long i = 0; i < count; i++) {
		pid_t pid = fork();

		if (pid < 0)
			return 1;
		if (pid == 0)
			break;
		usleep((useconds_t)every_us);
	}
	for (;;)
		pause();
}
