// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The tracer's histograms without the daemon: of all tasks, or of the processes TGID... only. Says
 * "ready", and reads commands: "by PROBE GROUP_BY" (a name, a number) regroups a probe, "only
 * PROBE…" leaves these probes on, "read" prints all that is known as one line of JSON. Ends with
 * its input. usage: hists GROUP_BY SLOW_US [TGID...]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "loop/loop.h"
#include "sched/cpu_holder.h"
#include "hooks/tracer_sched.h"
#include "sched/sched_kind.h"

#define ALL ((1U << SCHED_COUNT) - 1)

struct test {
	struct loop *loop;
	struct tracer *tracer;
	struct sched_hists_settings settings;
	struct loop_watch input;
	bool comma;
	char slow[1 << 20]; /* events so far, as JSON; more than fit are left out */
	size_t slow_bytes;
};

static void on_slow(void *arg, const struct slow_event *event, const struct slice *slices)
{
	struct test *test = arg;
	struct cpu_holder culprit;
	size_t left = sizeof(test->slow) - test->slow_bytes;

	if (event->probe != SCHED_RUNQSLOWER)
		return;
	cpu_holder_find(&culprit, event, slices);
	int bytes = snprintf(test->slow + test->slow_bytes, left,
			     "%s{\"tgid\": %u, \"tid\": %u, \"cpu\": %u, \"us\": %.3f, "
			     "\"before\": \"%.16s\", \"before_tid\": %u, "
			     "\"most_tid\": %u, \"most_us\": %.3f, \"slices\": %u}",
			     test->slow_bytes ? ", " : "", event->tgid, event->tid, event->cpu,
			     (double)event->delay_ns / 1e3, culprit.before.comm, culprit.before.tid,
			     culprit.most_tid, (double)culprit.most_ns / 1e3, event->slices_count);
	if (bytes > 0 && (size_t)bytes < left)
		test->slow_bytes += (size_t)bytes;
	else
		test->slow[test->slow_bytes] = '\0'; /* no half of one */
}

static void print_slots(const uint64_t *slots, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		printf("%s%llu", i ? ", " : "", (unsigned long long)slots[i]);
	printf("]}");
}

static void print_row(void *arg, const struct hist_row *row)
{
	struct test *test = arg;

	printf("%s{\"group\": %llu, \"comm\": \"%.16s\", \"ns\": %llu, \"slots\": [",
	       test->comma ? ", " : "", (unsigned long long)row->group, row->hist.comm,
	       (unsigned long long)row->hist.sum_ns);
	print_slots(row->hist.slots, HIST_SLOTS);
	test->comma = true;
}

static void print_lengths(void *arg, unsigned cpu, const struct lengths *lengths)
{
	struct test *test = arg;

	printf("%s{\"cpu\": %u, \"slots\": [", test->comma ? ", " : "", cpu);
	print_slots(lengths->slots, LENGTH_SLOTS);
	test->comma = true;
}

static void print_all(struct test *test)
{
	struct counters counters;

	putchar('{');
	for (enum sched_probe i = 0; i < SCHED_COUNT; i++) {
		test->comma = false;
		printf("\"%s\": [", sched_kind_get(i)->name);
		if (sched_form(i) == SCHED_LENGTHS)
			tracer_lengths_read(test->tracer, print_lengths, test);
		else if (sched_form(i) == SCHED_EVENTS)
			fputs(i == SCHED_RUNQSLOWER ? test->slow : "", stdout);
		else
			tracer_hists_read(test->tracer, i, print_row, test);
		printf("], ");
	}
	tracer_counters(test->tracer, &counters);
	printf("\"now_ns\": %llu, ", (unsigned long long)loop_now_ns());
	printf("\"slow_waits\": %llu, \"slow_lost\": %llu, \"refused\": %llu, \"records_full\": "
	       "%llu}\n",
	       (unsigned long long)counters.slow_waits[SCHED_RUNQSLOWER],
	       (unsigned long long)counters.slow_lost, (unsigned long long)counters.hists_refused,
	       (unsigned long long)counters.lost[LOSERS_SCHED][LOST_RECORDS_FULL]);
	fflush(stdout);
}

static void apply(struct test *test)
{
	struct why why;

	if (tracer_hists(test->tracer, &test->settings, &why) < 0)
		fprintf(stderr, "%s\n", why.text);
	puts("ready");
	fflush(stdout);
}

static int find_probe(const char *name)
{
	int probe = sched_kind_find(name);

	if (probe < 0)
		fprintf(stderr, "hists: there is no probe %s\n", name);
	return probe;
}

static void obey(struct test *test, char *line)
{
	const char *command = strsep(&line, " "), *name = strsep(&line, " ");
	int probe;

	if (strcmp(command, "read") == 0) {
		print_all(test);
		return;
	}
	if (strcmp(command, "only") == 0) {
		test->settings.probes = 0;
		for (; name; name = strsep(&line, " ")) {
			probe = find_probe(name);
			if (probe >= 0)
				test->settings.probes |= 1U << probe;
		}
	} else if (strcmp(command, "by") == 0 && name && line) {
		probe = find_probe(name);
		if (probe >= 0)
			test->settings.group_by[probe] = (enum group_by)atoi(line);
	}
	apply(test);
}

static void on_input(void *arg)
{
	struct test *test = arg;
	char lines[1024] = "";

	if (read(STDIN_FILENO, lines, sizeof(lines) - 1) <= 0)
		loop_stop(test->loop);
	for (char *line = strtok(lines, "\n"); line; line = strtok(NULL, "\n"))
		obey(test, line);
}

static int begin(struct test *test, int argc, char **argv)
{
	static const struct tracer_sizes sizes = {.stacks = 1024,
						  .targets = 1024,
						  .stack_ring = 1 << 20,
						  .life_ring = 1 << 18,
						  .tables_bytes = 16 << 20,
						  .allocations = 1};
	struct tracer_events events = {.slow = on_slow, .arg = test};
	struct why why = {"no memory"};
	int r = loop_new(&test->loop);

	if (r == 0)
		r = tracer_new(&test->tracer, test->loop, &sizes, &events);
	if (r == 0)
		r = tracer_start(test->tracer, &why);
	for (int i = 3; i < argc && r == 0; i++) {
		struct target_value target = {.id = (uint64_t)i, .probes = WANTED_SCHED};

		r = tracer_target_set(test->tracer, atoi(argv[i]), &target, true);
	}
	if (r == 0)
		r = tracer_hists(test->tracer, &test->settings, &why);
	test->input = (struct loop_watch){STDIN_FILENO, on_input, test, "test"};
	if (r == 0)
		r = loop_watch(test->loop, &test->input);
	if (r < 0)
		fprintf(stderr, "hists: %s\n", why.text);
	return r;
}

int main(int argc, char **argv)
{
	static struct test test;

	if (argc < 3)
		return 2;
	log_set_level(LOG_DEBUG); /* what the verifier says */
	test.settings = (struct sched_hists_settings){
		.probes = ALL,
		.everybody = argc == 3,
		.slow_ns = (uint64_t)atoll(argv[2]) * 1000,
		.groups_max = HISTS_MAX,
	};
	for (int i = 0; i < SCHED_COUNT; i++)
		test.settings.group_by[i] = (enum group_by)atoi(argv[1]);
	int r = begin(&test, argc, argv);
	if (r == 0) {
		puts("ready");
		fflush(stdout);
		r = loop_run(test.loop);
		tracer_hists_stop(test.tracer);
	}
	tracer_free(test.tracer);
	loop_free(test.loop);
	return r < 0;
}
