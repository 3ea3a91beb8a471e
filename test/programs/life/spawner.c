/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * spawner COUNT GAP_MS PROGRAM [ARG…]: runs the program COUNT times, one after the other, and
 * prints the CPU time that all of them took, as the kernel counted it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static int run(char **argv)
{
	int status;
	pid_t pid = fork();

	if (pid < 0)
		return -1;
	if (pid == 0) {
		execv(argv[0], argv);
		_exit(127);
	}
	if (waitpid(pid, &status, 0) < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
		return -1;
	return 0;
}

static long long timeval_us(struct timeval t)
{
	return t.tv_sec * 1000000LL + t.tv_usec;
}

int main(int argc, char **argv)
{
	struct rusage usage;

	if (argc < 4) {
		fprintf(stderr, "usage: spawner COUNT GAP_MS PROGRAM [ARG...]\n");
		return 2;
	}
	for (long left = atol(argv[1]); left > 0; left--) {
		if (run(argv + 3) < 0) {
			perror(argv[3]);
			return 1;
		}
		usleep((useconds_t)atol(argv[2]) * 1000);
	}
	getrusage(RUSAGE_CHILDREN, &usage);
	printf("{\"children_cpu_us\": %lld}\n",
	       timeval_us(usage.ru_utime) + timeval_us(usage.ru_stime));
	return 0;
}
