/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * storm [-p FIRST] RATE SECONDS PROGRAM...: starts the programs in turn, RATE a second for so many
 * seconds, at most 256 at a time, and prints how many it really started and the CPU time that they
 * took. With -p their pids come from the 256 numbers behind FIRST, so that each is used again soon
 * (by /proc/sys/kernel/ns_last_pid).
 */
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "burn.h"

#define AT_A_TIME 256
#define PIDS	  256

extern char **environ;

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static long living, failed;

static void reap(int options)
{
	int status;

	while (living > 0 && waitpid(-1, &status, options) > 0) {
		living--;
		failed += status != 0;
		options = WNOHANG;
	}
}

static int choose_pid(int last_pid, long first, long number)
{
	char text[32];
	int len = snprintf(text, sizeof(text), "%ld", first + number % PIDS);

	return pwrite(last_pid, text, (size_t)len, 0) == len ? 0 : -1;
}

static int start(char *program)
{
	char *argv[] = {program, NULL};
	pid_t pid;

	if (living >= AT_A_TIME)
		reap(0);
	reap(WNOHANG);
	if (posix_spawn(&pid, program, NULL, NULL, argv, environ))
		return -1;
	living++;
	return 0;
}

static long long cpu_us(const struct rusage *usage)
{
	return (usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * 1000000LL +
	       usage->ru_utime.tv_usec + usage->ru_stime.tv_usec;
}

int main(int argc, char **argv)
{
	int last_pid = -1;
	long first = 0, started = 0;
	struct rusage usage;

	if (argc > 2 && strcmp(argv[1], "-p") == 0) {
		first = atol(argv[2]);
		last_pid = open("/proc/sys/kernel/ns_last_pid", O_WRONLY | O_CLOEXEC);
		if (last_pid < 0) {
			perror("ns_last_pid");
			return 1;
		}
		argv += 2;
		argc -= 2;
	}
	if (argc < 4)
		return 2;
	uint64_t gap_ns = (uint64_t)(1e9 / atof(argv[1])), length_ns = seconds_ns(argv[2]);
	uint64_t began_ns = now_ns(), due_ns = 0;
	for (; due_ns < length_ns; due_ns += gap_ns) {
		uint64_t passed_ns = now_ns() - began_ns;

		if (passed_ns >= length_ns)
			break; /* too slow for that rate */
		if (passed_ns < due_ns)
			usleep((useconds_t)((due_ns - passed_ns) / 1000));
		if (last_pid >= 0 && choose_pid(last_pid, first, started) < 0)
			return 1;
		if (start(argv[3 + started % (argc - 3)]) < 0) {
			perror(argv[3]);
			return 1;
		}
		started++;
	}
	double seconds = (double)(now_ns() - began_ns) / 1e9;
	while (living > 0)
		reap(0);
	getrusage(RUSAGE_CHILDREN, &usage);
	printf("{\"started\": %ld, \"failed\": %ld, \"seconds\": %.3f, \"children_cpu_us\": "
	       "%lld}\n",
	       started, failed, seconds, cpu_us(&usage));
	return 0;
}
