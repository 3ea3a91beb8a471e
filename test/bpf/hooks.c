// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Keeps the kernel's BPF statistics on, and empty programs on the scheduler's hooks and around page
 * faults, until its input ends. Says "ready" when they are there. usage: hooks [switch] [wakeup]
 * [fault] [exit]
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "hooks.skel.h"

static bool is_wanted(int argc, char **argv, const char *hook)
{
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], hook) == 0)
			return true;
	}
	return false;
}

/* On each CPU; they go with us. */
static int attach_after(struct bpf_program *program)
{
	static const uint64_t events[] = {PERF_COUNT_SW_PAGE_FAULTS_MIN,
					  PERF_COUNT_SW_PAGE_FAULTS_MAJ};

	for (int cpu = 0; cpu < libbpf_num_possible_cpus(); cpu++) {
		for (size_t i = 0; i < sizeof(events) / sizeof(*events); i++) {
			struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
						       .size = sizeof(attr),
						       .config = events[i],
						       .sample_period = 1};
			int fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, 0);

			if (fd >= 0 && !bpf_program__attach_perf_event(program, fd))
				return -1;
		}
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct hooks_bpf *object = hooks_bpf__open();
	bool wakeups = is_wanted(argc, argv, "wakeup"), faults = is_wanted(argc, argv, "fault");
	char byte;

	if (!object)
		return 1;
	bpf_program__set_autoload(object->progs.empty_switch, is_wanted(argc, argv, "switch"));
	bpf_program__set_autoload(object->progs.empty_exit, is_wanted(argc, argv, "exit"));
	bpf_program__set_autoload(object->progs.empty_wakeup, wakeups);
	bpf_program__set_autoload(object->progs.empty_wakeup_new, wakeups);
	bpf_program__set_autoload(object->progs.empty_before_user, faults);
	bpf_program__set_autoload(object->progs.empty_before_kernel, faults);
	bpf_program__set_autoload(object->progs.empty_after, faults);
	if (bpf_enable_stats(BPF_STATS_RUN_TIME) < 0 || hooks_bpf__load(object) ||
	    hooks_bpf__attach(object) || (faults && attach_after(object->progs.empty_after))) {
		perror("hooks");
		return 1;
	}
	puts("ready");
	fflush(stdout);
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
	hooks_bpf__destroy(object);
	return 0;
}
