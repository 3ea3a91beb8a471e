/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * storm [-n STARTERS] [-p FIRST] RATE SECONDS PROGRAM...: starts the programs in turn, RATE a
 * second for so many seconds, at most 256 at a time, and prints how many it really started and the
 * CPU time that they took. Who starts a program waits until it has execed: with -n so many
 * processes take turns. With -p the pids come from the 256 numbers behind FIRST, so that each is
 * used again soon (by /proc/sys/kernel/ns_last_pid).
 */
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "burn.h"

#define AT_A_TIME    256
#define PIDS	     256
#define STARTERS_MAX 16

extern char **environ;

struct order {
	uint64_t gap_ns, length_ns;
	char **programs;
	long programs_count, starters;
	int last_pid; /* a file, or -1 */
	long first_pid;
};

/* What a starter has done. */
struct told {
	long started, failed;
	double seconds;
	long long children_cpu_us;
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static long living; /* of this starter's */

static void reap(struct told *told, int options)
{
	int status;

	while (living > 0 && waitpid(-1, &status, options) > 0) {
		living--;
		told->failed += status != 0;
		options = WNOHANG;
	}
}

static int choose_pid(const struct order *order, long number)
{
	char text[32];
	int len = snprintf(text, sizeof(text), "%ld", order->first_pid + number % PIDS);

	return pwrite(order->last_pid, text, (size_t)len, 0) == len ? 0 : -1;
}

static int start(const struct order *order, long number, struct told *told)
{
	char *program = order->programs[number % order->programs_count];
	char *argv[] = {program, NULL};
	pid_t pid;

	if (living >= AT_A_TIME / order->starters)
		reap(told, 0);
	reap(told, WNOHANG);
	if (order->last_pid >= 0 && choose_pid(order, number) < 0) {
		perror("ns_last_pid");
		return -1;
	}
	if (posix_spawn(&pid, program, NULL, NULL, argv, environ)) {
		perror(program);
		return -1;
	}
	living++;
	told->started++;
	return 0;
}

static long long children_cpu_us(void)
{
	struct rusage usage;

	getrusage(RUSAGE_CHILDREN, &usage);
	return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000LL +
	       usage.ru_utime.tv_usec + usage.ru_stime.tv_usec;
}

/* One starter's: each start whose number is `turn`, but for multiples of the starters. */
static int start_all(const struct order *order, uint64_t began_ns, long turn, struct told *told)
{
	for (long number = turn;; number += order->starters) {
		uint64_t due_ns = order->gap_ns * (uint64_t)number;
		uint64_t passed_ns = now_ns() - began_ns;

		if (due_ns >= order->length_ns || passed_ns >= order->length_ns)
			break; /* done, or too slow for that rate */
		if (passed_ns < due_ns)
			usleep((useconds_t)((due_ns - passed_ns) / 1000));
		if (start(order, number, told) < 0)
			return 1;
	}
	told->seconds = (double)(now_ns() - began_ns) / 1e9;
	while (living > 0)
		reap(told, 0);
	told->children_cpu_us = children_cpu_us();
	return 0;
}

/* In as many processes as there are starters. */
static int start_in_turns(const struct order *order, uint64_t began_ns, struct told *sum)
{
	size_t bytes = (size_t)order->starters * sizeof(*sum);
	struct told *each =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int status, failed = each == MAP_FAILED;

	for (long turn = 0; turn < order->starters && !failed; turn++) {
		pid_t pid = fork();

		if (pid == 0)
			_exit(start_all(order, began_ns, turn, &each[turn]));
		failed = pid < 0;
	}
	while (wait(&status) > 0)
		failed |= status != 0;
	for (long turn = 0; turn < order->starters && !failed; turn++) {
		sum->started += each[turn].started;
		sum->failed += each[turn].failed;
		sum->children_cpu_us += each[turn].children_cpu_us;
		if (each[turn].seconds > sum->seconds)
			sum->seconds = each[turn].seconds;
	}
	return failed;
}

static int read_order(struct order *order, int argc, char **argv)
{
	int option;

	while ((option = getopt(argc, argv, "+n:p:")) != -1) {
		if (option == 'n')
			order->starters = atol(optarg);
		else if (option == 'p')
			order->first_pid = atol(optarg);
		else
			return -1;
	}
	if (argc - optind < 3 || order->starters < 1 || order->starters > STARTERS_MAX)
		return -1;
	order->gap_ns = (uint64_t)(1e9 / atof(argv[optind]));
	order->length_ns = seconds_ns(argv[optind + 1]);
	order->programs = argv + optind + 2;
	order->programs_count = argc - optind - 2;
	return 0;
}

int main(int argc, char **argv)
{
	struct order order = {.last_pid = -1, .starters = 1};
	struct told told = {0};

	if (read_order(&order, argc, argv) < 0)
		return 2;
	if (order.first_pid) {
		order.last_pid = open("/proc/sys/kernel/ns_last_pid", O_WRONLY | O_CLOEXEC);
		if (order.last_pid < 0) {
			perror("ns_last_pid");
			return 1;
		}
	}
	uint64_t began_ns = now_ns();
	if (order.starters == 1 ? start_all(&order, began_ns, 0, &told)
				: start_in_turns(&order, began_ns, &told))
		return 1;
	printf("{\"started\": %ld, \"failed\": %ld, \"seconds\": %.3f, \"children_cpu_us\": "
	       "%lld}\n",
	       told.started, told.failed, told.seconds, told.children_cpu_us);
	return 0;
}
