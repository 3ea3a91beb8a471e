/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * naps [-d DEPTH] [-r RUN_US] [-s SLACK_NS] LENGTH:COUNT...: sleeps, in main -> nap_LENGTH, for
 * each LENGTH of 100us, 2ms, 10ms, 100ms, 1s. With -d there are DEPTH frames `dig` between the two.
 * With -r it burns so much CPU time (in main -> run) before each. With -s the kernel may wake it
 * only so late (its own choice: 50 us).
 */
#define _GNU_SOURCE
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "wait.h"

#define NAP(length, ns)                                                                            \
	LEVEL static void nap_##length(struct waits *waits)                                        \
	{                                                                                          \
		sleep_ns(waits, ns);                                                               \
	}

NAP(100us, 100000)
NAP(2ms, 2000000)
NAP(10ms, 10000000)
NAP(100ms, 100000000)
NAP(1s, 1000000000)

static struct kind {
	const char *name;
	void (*nap)(struct waits *waits);
	struct waits waits;
} kinds[] = {
	{"nap_100us", nap_100us, {0}}, {"nap_2ms", nap_2ms, {0}}, {"nap_10ms", nap_10ms, {0}},
	{"nap_100ms", nap_100ms, {0}}, {"nap_1s", nap_1s, {0}},
};

#define KINDS (sizeof(kinds) / sizeof(kinds[0]))
#define ROOM  10000

LEVEL static void run(uint64_t ns)
{
	uint64_t start = thread_cpu_ns(), x = start;

	while (thread_cpu_ns() - start < ns)
		x = burn_rounds(x, 1009);
}

LEVEL static void dig(struct kind *kind, long depth)
{
	keep_frame();
	if (depth > 1)
		dig(kind, depth - 1);
	else
		kind->nap(&kind->waits);
	keep_frame();
}

static struct kind *kind_find(const char *length)
{
	for (unsigned i = 0; i < KINDS; i++) {
		size_t len = strlen(kinds[i].name + 4);

		if (strncmp(length, kinds[i].name + 4, len) == 0 && length[len] == ':')
			return &kinds[i];
	}
	return NULL;
}

int main(int argc, char **argv)
{
	uint64_t run_ns = 0;
	long depth = 0;
	int option;

	while ((option = getopt(argc, argv, "d:r:s:")) != -1) {
		if (option == 'r')
			run_ns = strtoul(optarg, NULL, 10) * 1000;
		else if (option == 'd')
			depth = atol(optarg);
		else if (option != 's' || prctl(PR_SET_TIMERSLACK, strtoul(optarg, NULL, 10)))
			return 2;
	}
	for (unsigned i = 0; i < KINDS; i++)
		kinds[i].waits = waits_new(kinds[i].name, ROOM);
	stand_by();
	for (int i = optind; i < argc; i++) {
		struct kind *kind = kind_find(argv[i]);

		if (!kind)
			return 2;
		for (long left = atol(strchr(argv[i], ':') + 1); left > 0; left--) {
			if (run_ns)
				run(run_ns);
			if (depth)
				dig(kind, depth);
			else
				kind->nap(&kind->waits);
		}
	}
	printf("{");
	for (unsigned i = 0; i < KINDS; i++) {
		waits_print(&kinds[i].waits);
		printf(", ");
	}
	printf("\"cpu_ns\": %" PRIu64, thread_cpu_ns());
	answer_end();
	return 0;
}
