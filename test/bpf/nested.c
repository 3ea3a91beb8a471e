// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Takes stacks of process TARGET for SECONDS at each of its system calls, switches and calls of
 * FUNCTION in PROGRAM, and by a timer at 1,000 Hz: into the maps of the daemon DAEMON, which
 * samples that process, too. Prints as JSON how many there were; `nested`: of the timer's, those in
 * the middle of another hook's walk. Status 3: something that it needs is missing. usage: nested
 * DAEMON TARGET PROGRAM FUNCTION SECONDS
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "nested.skel.h"

#define HZ	   1000
#define CPUS_MAX   256
#define NAME_BYTES 16 /* the kernel keeps so much of a map's name */

static unsigned map_id_of(const char *folder, const char *name)
{
	char path[512], line[128];
	unsigned id = 0;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	FILE *file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "map_id: %u", &id) == 1)
			break;
	}
	if (file)
		fclose(file);
	return id;
}

/* A process's BPF map of that name, or negative. */
static int find_map(const char *pid, const char *name)
{
	char folder[64];
	struct dirent *entry;
	int found = -1;

	snprintf(folder, sizeof(folder), "/proc/%s/fdinfo", pid);
	DIR *dir = opendir(folder);
	while (dir && found < 0 && (entry = readdir(dir))) {
		struct bpf_map_info info = {0};
		uint32_t bytes = sizeof(info);
		unsigned id = map_id_of(folder, entry->d_name);
		int fd = id ? bpf_map_get_fd_by_id(id) : -1;

		if (fd < 0)
			continue;
		if (bpf_obj_get_info_by_fd(fd, &info, &bytes) == 0 &&
		    strncmp(info.name, name, NAME_BYTES - 1) == 0)
			found = fd;
		else
			close(fd);
	}
	if (dir)
		closedir(dir);
	return found;
}

static struct nested_bpf *load(const char *daemon, const char *target)
{
	struct nested_bpf *object = nested_bpf__open();
	struct bpf_map *map;
	int shared = 0;

	if (!object)
		return NULL;
	object->rodata->wanted_tgid = (uint32_t)atoi(target);
	bpf_object__for_each_map(map, object->obj)
	{
		int fd = bpf_map__is_internal(map) ? -1 : find_map(daemon, bpf_map__name(map));

		if (fd >= 0 && bpf_map__reuse_fd(map, fd) == 0)
			shared++;
		if (fd >= 0)
			close(fd);
	}
	fprintf(stderr, "%d maps are shared\n", shared);
	return shared && nested_bpf__load(object) == 0 ? object : NULL;
}

static int attach_timers(const struct nested_bpf *object, struct bpf_link **links)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
				       .size = sizeof(attr),
				       .config = PERF_COUNT_SW_CPU_CLOCK,
				       .sample_freq = HZ,
				       .freq = 1,
				       .exclude_idle = 1};
	int cpus = libbpf_num_possible_cpus(), attached = 0;

	for (int cpu = 0; cpu < cpus && cpu < CPUS_MAX; cpu++) {
		int fd =
			(int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

		if (fd < 0)
			continue; /* it isn't online */
		links[cpu] = bpf_program__attach_perf_event(object->progs.on_tick, fd);
		attached += links[cpu] != NULL;
	}
	return attached;
}

static struct bpf_link *attach_calls(const struct nested_bpf *object, const char *target,
				     const char *program, const char *function)
{
	LIBBPF_OPTS(bpf_uprobe_opts, options, .func_name = function);

	return bpf_program__attach_uprobe_opts(object->progs.on_call, atoi(target), program, 0,
					       &options);
}

int main(int argc, char **argv)
{
	static struct bpf_link *timers[CPUS_MAX];

	if (argc != 6)
		return 2;
	struct nested_bpf *object = load(argv[1], argv[2]);
	if (!object || attach_timers(object, timers) == 0) {
		perror("nested");
		return 3;
	}
	struct bpf_link *enter = bpf_program__attach(object->progs.on_enter);
	struct bpf_link *leave = bpf_program__attach(object->progs.on_switch);
	struct bpf_link *call = attach_calls(object, argv[2], argv[3], argv[4]);
	if (!enter || !leave) {
		perror("nested");
		return 3;
	}
	sleep((unsigned)atoi(argv[5]));
	bpf_link__destroy(enter);
	bpf_link__destroy(leave);
	bpf_link__destroy(call);
	for (int cpu = 0; cpu < CPUS_MAX; cpu++)
		bpf_link__destroy(timers[cpu]);
	printf("{\"enters\": %llu, \"switches\": %llu, \"calls\": %llu, \"ticks\": %llu, "
	       "\"nested\": %llu, \"uprobes\": %s}\n",
	       (unsigned long long)object->bss->enters, (unsigned long long)object->bss->switches,
	       (unsigned long long)object->bss->calls, (unsigned long long)object->bss->ticks,
	       (unsigned long long)object->bss->nested, call ? "true" : "false");
	nested_bpf__destroy(object);
	return 0;
}
