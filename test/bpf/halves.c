// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Makes events with a begin and an end (bpf/stack/probe_halves.h), by system calls with a number,
 * as the scene says, and prints as JSON: the counts at the end of each window, what was lost by
 * cause, the frames of each stack sent, the events left in the map. The ends are a child's calls,
 * which is no target. WAY is that of renewing events at a window's end: "run" or "iterator". usage:
 * halves SCENE WAY
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "halves.skel.h"
#include "bpf/shared/sample.h"

#define STACKS	 256
#define NUMBERS	 (1UL << 40) /* no other process passes these */
#define NS_PER_S 1000000000ULL
#define WINDOW	 2

static struct halves_bpf *object;
static struct ring_buffer *ring;
static pid_t main_tid;

struct range {
	unsigned long from, count;
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static void call_each(long call, unsigned long from, unsigned long count)
{
	for (unsigned long i = 0; i < count; i++)
		syscall(call, NUMBERS + from + i);
}

static void begin(unsigned long from, unsigned long count)
{
	call_each(SYS_getpgid, from, count);
}

/* Ends the events in another process. */
static void end(unsigned long from, unsigned long count)
{
	pid_t child = fork();

	if (child == 0) {
		call_each(SYS_getsid, from, count);
		_exit(0);
	}
	waitpid(child, NULL, 0);
}

static void *begin_in_thread(void *arg)
{
	const struct range *range = arg;

	prctl(PR_SET_NAME, "another");
	begin(range->from, range->count);
	return NULL;
}

static void begin_elsewhere(unsigned long from, unsigned long count)
{
	struct range range = {from, count};
	pthread_t thread;

	if (pthread_create(&thread, NULL, begin_in_thread, &range) == 0)
		pthread_join(thread, NULL);
}

static void set_control(const struct control *settings)
{
	uint32_t zero = 0;

	bpf_map_update_elem(bpf_map__fd(object->maps.control), &zero, settings, BPF_ANY);
}

#define NO_WAY 77 /* exit status: the scene needs what this kernel refuses */

static bool by_iterator;

/* Has the events that go on renewed by the program that does so at once. */
static void renew_by_run(void)
{
	LIBBPF_OPTS(bpf_test_run_opts, options);

	if (bpf_program__fd(object->progs.run_halves) < 0)
		exit(NO_WAY);
	if (bpf_prog_test_run_opts(bpf_program__fd(object->progs.run_halves), &options))
		exit(1);
}

static int renew(void)
{
	union bpf_iter_link_info info = {.map.map_fd = (uint32_t)bpf_map__fd(object->maps.halves)};
	LIBBPF_OPTS(bpf_iter_attach_opts, options, .link_info = &info,
		    .link_info_len = sizeof(info));

	if (!by_iterator) {
		renew_by_run();
		return 0;
	}
	if (bpf_program__fd(object->progs.renew_halves) < 0)
		exit(NO_WAY);
	struct bpf_link *link = bpf_program__attach_iter(object->progs.renew_halves, &options);
	int fd = link ? bpf_iter_create(bpf_link__fd(link)) : -1;
	char words[64];
	ssize_t got = -1;

	while (fd >= 0 && (got = read(fd, words, sizeof(words))) > 0)
		continue;
	if (fd >= 0)
		close(fd);
	bpf_link__destroy(link);
	return got < 0 ? -1 : 0;
}

/* Prints the counts of a window, and forgets them. */
static void print_counts(uint64_t window)
{
	const struct bpf_map *map = window & 1 ? object->maps.counts_odd : object->maps.counts_even;
	struct count_key key;
	struct stack_count count;
	const char *separator = "";

	printf("[");
	while (bpf_map_get_next_key(bpf_map__fd(map), NULL, &key) == 0 &&
	       bpf_map_lookup_elem(bpf_map__fd(map), &key, &count) == 0) {
		printf("%s{\"mine\": %s, \"weight\": %llu, \"samples\": %llu, \"events\": %llu, "
		       "\"waiting\": %lld}",
		       separator, key.tid == (uint32_t)main_tid ? "true" : "false",
		       (unsigned long long)count.weight, (unsigned long long)count.samples,
		       (unsigned long long)count.events, (long long)count.waiting);
		separator = ", ";
		bpf_map_delete_elem(bpf_map__fd(map), &key);
	}
	printf("]");
}

static void end_window(uint64_t window)
{
	struct control next = {.window = window + 1};

	print_counts(window);
	printf(", ");
	set_control(&next);
}

/* ---- scenes: they print the counts of all windows but the last, and return the last window ----
 */

static uint64_t pairs(void)
{
	begin(0, 600);
	begin_elsewhere(600, 400);
	end(0, 1500);
	return WINDOW;
}

static uint64_t waiting(void)
{
	begin(0, 5);
	end(3, 1);
	return WINDOW;
}

/* The second thread has another name, so its stacks are others; there is room for one stack. */
static uint64_t lost(void)
{
	begin(0, 10);
	begin_elsewhere(10, 20);
	end(0, 30);
	return WINDOW;
}

static uint64_t full(void)
{
	begin(0, 100);
	end(0, 100);
	return WINDOW;
}

static uint64_t twice(void)
{
	begin(5, 1);
	begin(5, 1);
	end(5, 1);
	end(5, 1);
	return WINDOW;
}

static uint64_t windows(void)
{
	begin(0, 3);
	end(0, 1);
	renew();
	end_window(WINDOW);
	end(1, 1);
	renew();
	end_window(WINDOW + 1);
	end(2, 1);
	return WINDOW + 2;
}

static uint64_t old(void)
{
	begin(0, 6);
	renew();
	renew();
	end(0, 6);
	return WINDOW;
}

static uint64_t timed(void)
{
	uint64_t began_ns = now_ns(), most_ns, least_ns;

	begin(0, 1);
	least_ns = now_ns();
	usleep(20000);
	least_ns = now_ns() - least_ns;
	call_each(SYS_getpriority, 0, 1);
	most_ns = now_ns() - began_ns;
	fprintf(stderr, "%llu %llu\n", (unsigned long long)least_ns, (unsigned long long)most_ns);
	return WINDOW;
}

/* One event in 4 is drawn: no slice of the guard (100 ms) comes to its end. */
static uint64_t drawn(void)
{
	struct control settings = {.window = WINDOW, .budget_ppm = 1000000};

	settings.guards[PROBE_ONCPU].interval = 4;
	for (unsigned long i = 0; i < 4000; i++) {
		if (i % 50 == 0) {
			settings.guards[PROBE_ONCPU].slice_ns = now_ns();
			set_control(&settings);
		}
		begin(i, 1);
		call_each(SYS_getsid, i, 1);
	}
	return WINDOW;
}

static uint64_t whole(void)
{
	for (int i = 0; i < 3; i++)
		syscall(SYS_getppid);
	return WINDOW;
}

static uint64_t kernel(void)
{
	call_each(SYS_sched_getscheduler, 0, 2);
	end(0, 2);
	return WINDOW;
}

static const struct scene {
	const char *name;
	uint64_t (*run)(void);
	uint32_t stacks_max, halves_max;
	uint64_t old_ns;
} scenes[] = {
	{"pairs", pairs, .halves_max = 1024},
	{"waiting", waiting, .halves_max = 1024},
	{"lost", lost, .stacks_max = 1, .halves_max = 1024},
	{"full", full, .halves_max = 64},
	{"twice", twice, .halves_max = 1024},
	{"windows", windows, .halves_max = 1024},
	{"old", old, .halves_max = 8},
	{"young", old, .halves_max = 8, .old_ns = 60 * NS_PER_S},
	{"roomy", old, .halves_max = 64},
	{"timed", timed, .halves_max = 1024},
	{"drawn", drawn, .halves_max = 1024},
	{"whole", whole, .halves_max = 1024},
	{"kernel", kernel, .halves_max = 1024},
};

/* ---- what came of it ---- */

static int print_stack(void *arg, void *data, size_t bytes)
{
	const struct stack *stack = data;
	const uint64_t *words = (const uint64_t *)(stack + 1);
	const char **separator = arg;
	int in_kernel = 0;

	if (bytes < sizeof(*stack))
		return 0;
	for (int i = 0; i < stack->words_count; i++) {
		uint64_t kind = words[i] >> FRAME_KIND_SHIFT;

		in_kernel += kind == FRAME_KERNEL || kind == FRAME_KERNEL_RETURN;
	}
	printf("%s{\"kernel\": %d, \"user\": %d}", *separator, in_kernel,
	       stack->words_count - in_kernel);
	*separator = ", ";
	return 0;
}

static void print_counters(void)
{
	static const char *const names[] = {LOSSES(NAMED_NAME)};
	int cpus = libbpf_num_possible_cpus();
	struct counters *each = calloc((size_t)cpus, sizeof(*each));
	uint64_t sums[LOST_COUNT] = {0}, samples = 0, left_out = 0;
	uint32_t zero = 0;

	if (!each || bpf_map_lookup_elem(bpf_map__fd(object->maps.counters), &zero, each))
		exit(1);
	for (int cpu = 0; cpu < cpus; cpu++) {
		samples += each[cpu].samples[PROBE_ONCPU];
		left_out += each[cpu].left_out[PROBE_ONCPU];
		for (int i = 0; i < LOST_COUNT; i++)
			sums[i] += each[cpu].lost[PROBE_ONCPU][i];
	}
	free(each);
	printf("\"samples\": %llu, \"left_out\": %llu, \"lost\": {", (unsigned long long)samples,
	       (unsigned long long)left_out);
	for (int i = 0, shown = 0; i < LOST_COUNT; i++) {
		if (sums[i])
			printf("%s\"%s\": %llu", shown++ ? ", " : "", names[i],
			       (unsigned long long)sums[i]);
	}
	printf("}");
}

static unsigned left_in_map(void)
{
	struct {
		uint64_t number, probe;
	} key, *last = NULL;
	unsigned count = 0;

	for (; bpf_map_get_next_key(bpf_map__fd(object->maps.halves), last, &key) == 0; last = &key)
		count++;
	return count;
}

/* Some kernels let no iterator over a map's elements be loaded, whatever the privilege; old ones
 * have no program that goes through a map. */
static int load_object(const struct scene *scene, bool renews)
{
	object = halves_bpf__open();
	if (!object)
		return -1;
	object->rodata->calls.take = SYS_getppid;
	object->rodata->calls.begin = SYS_getpgid;
	object->rodata->calls.begin_kernel = SYS_sched_getscheduler;
	object->rodata->calls.end = SYS_getsid;
	object->rodata->calls.end_timed = SYS_getpriority;
	object->rodata->halves_max = scene->halves_max;
	object->rodata->halves_old_ns = scene->old_ns;
	bpf_map__set_max_entries(object->maps.halves, scene->halves_max);
	bpf_map__set_max_entries(object->maps.sent_even,
				 scene->stacks_max ? scene->stacks_max : STACKS);
	bpf_map__set_max_entries(object->maps.sent_odd, STACKS);
	bpf_map__set_max_entries(object->maps.counts_even, STACKS);
	bpf_map__set_max_entries(object->maps.counts_odd, STACKS);
	bpf_map__set_max_entries(object->maps.stacks, 1 << 20);
	bpf_program__set_autoattach(object->progs.renew_halves, false);
	bpf_program__set_autoattach(object->progs.run_halves, false);
	bpf_program__set_autoload(object->progs.renew_halves, renews && by_iterator);
	bpf_program__set_autoload(object->progs.run_halves, renews && !by_iterator);
	return halves_bpf__load(object);
}

static int load(const struct scene *scene)
{
	struct target_value target = {.id = 1, .probes = 1u << PROBE_ONCPU};
	struct control settings = {.window = WINDOW};
	uint32_t tgid = (uint32_t)getpid();
	libbpf_print_fn_t print = libbpf_set_print(NULL); /* a refusal is no news */
	int r = load_object(scene, true);

	libbpf_set_print(print);

	if (r < 0) {
		halves_bpf__destroy(object);
		r = load_object(scene, false);
	}
	if (r || bpf_map_update_elem(bpf_map__fd(object->maps.targets), &tgid, &target, BPF_ANY))
		return -1;
	set_control(&settings);
	return halves_bpf__attach(object);
}

int main(int argc, char **argv)
{
	const char *separator = "";
	const struct scene *scene = scenes, *behind = scenes + sizeof(scenes) / sizeof(scenes[0]);

	while (argc == 3 && scene < behind && strcmp(scene->name, argv[1]) != 0)
		scene++;
	if (argc != 3 || scene == behind)
		return 2;
	by_iterator = strcmp(argv[2], "iterator") == 0;
	main_tid = getpid();
	if (load(scene)) {
		perror("halves");
		return 1;
	}
	printf("{\"windows\": [");
	fflush(stdout); /* children don't print it again */
	uint64_t last = scene->run();
	halves_bpf__detach(object);
	print_counts(last);
	printf("], \"stacks\": [");
	ring = ring_buffer__new(bpf_map__fd(object->maps.stacks), print_stack, &separator, NULL);
	if (!ring || ring_buffer__consume(ring) < 0)
		return 1;
	ring_buffer__free(ring);
	printf("], \"left\": %u, ", left_in_map());
	print_counters();
	printf("}\n");
	halves_bpf__destroy(object);
	return 0;
}
