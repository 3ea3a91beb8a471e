// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Probes in an allocator's FILE, until its input ends. Prints "attached" when they are there.
 * usage: points FILE empty OFFSET…	    programs that do nothing, at instructions
 *        points FILE counting MALLOC FREE  that count, at the functions' entries and malloc's
 * return
 */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "points.skel.h"

/* union bpf_attr of BPF_LINK_CREATE, with uprobe_multi (include/uapi/linux/bpf.h of Linux 6.6). */
struct multi_attr {
	uint32_t program_fd, target_fd, attach_type, flags;
	uint64_t path, offsets, counters, cookies;
	uint32_t count, multi_flags, pid, pad;
};

/* BPF_TRACE_UPROBE_SESSION; 0: the kernel has none. */
static int session_type(void)
{
	struct btf *btf = btf__load_vmlinux_btf();
	int id = btf ? btf__find_by_name_kind(btf, "bpf_attach_type", BTF_KIND_ENUM) : -1,
	    found = 0;
	const struct btf_type *type = id > 0 ? btf__type_by_id(btf, (uint32_t)id) : NULL;

	for (int i = 0; type && i < btf_vlen(type); i++) {
		const char *name = btf__name_by_offset(btf, btf_enum(type)[i].name_off);

		if (strcmp(name, "BPF_TRACE_UPROBE_SESSION") == 0)
			found = btf_enum(type)[i].val;
	}
	btf__free(btf);
	return found;
}

static uint32_t pmu_type(void)
{
	FILE *file = fopen("/sys/bus/event_source/devices/uprobe/type", "r");
	unsigned type = 0;

	if (!file || fscanf(file, "%u", &type) != 1)
		exit(1);
	fclose(file);
	return type;
}

static void attach(const struct bpf_program *program, const char *path, uint64_t offset,
		   bool at_return)
{
	struct perf_event_attr event = {
		.size = sizeof(event),
		.type = pmu_type(),
		.config = at_return,
		.config1 = (uintptr_t)path,
		.config2 = offset,
	};
	int fd = (int)syscall(SYS_perf_event_open, &event, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0 || ioctl(fd, PERF_EVENT_IOC_SET_BPF, bpf_program__fd(program)) < 0 ||
	    ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) < 0) {
		perror("points");
		exit(1);
	}
}

static void attach_session(const struct bpf_program *program, int type, const char *path,
			   uint64_t offset)
{
	struct multi_attr attr = {
		.program_fd = (uint32_t)bpf_program__fd(program),
		.attach_type = (uint32_t)type,
		.path = (uintptr_t)path,
		.offsets = (uintptr_t)&offset,
		.count = 1,
	};

	if (syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr)) < 0) {
		perror("points");
		exit(1);
	}
}

int main(int argc, char **argv)
{
	if (argc < 4)
		return 2;
	struct points_bpf *points = points_bpf__open();
	int session = session_type();
	bool counting = strcmp(argv[2], "counting") == 0;

	if (points && session)
		bpf_program__set_expected_attach_type(points->progs.on_point,
						      (enum bpf_attach_type)session);
	if (!points || points_bpf__load(points)) {
		perror("points");
		return 1;
	}
	if (counting && argc == 5) {
		uint64_t to_malloc = strtoull(argv[3], NULL, 0);

		attach(points->progs.on_malloc, argv[1], to_malloc, false);
		attach(points->progs.on_malloc_return, argv[1], to_malloc, true);
		attach(points->progs.on_free, argv[1], strtoull(argv[4], NULL, 0), false);
	}
	for (int i = 3; i < argc && !counting; i++) {
		if (session)
			attach_session(points->progs.on_point, session, argv[1],
				       strtoull(argv[i], NULL, 0));
		else
			attach(points->progs.on_point, argv[1], strtoull(argv[i], NULL, 0), false);
	}
	puts("attached");
	fflush(stdout);
	while (getchar() != EOF)
		continue;
	printf("{\"calls\": %llu, \"returns\": %llu, \"frees\": %llu}\n",
	       (unsigned long long)points->bss->calls, (unsigned long long)points->bss->returns,
	       (unsigned long long)points->bss->frees);
	points_bpf__destroy(points);
	return 0;
}
