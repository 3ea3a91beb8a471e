// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Trials of BPF programs, which are really loaded, attached and hit. Probes are opened as perf
 * events, never by writing to tracefs: perf events are gone when this process ends in any way.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "loop/loop.h"
#include "capability/ktypes.h"
#include "capability/self_offset.h"
#include "capability/trial.h"
#include "trial.skel.h"

#define LOG_BYTES	(64 * 1024)
#define CLOCK_PERIOD_NS 1000000
#define CYCLES_PERIOD	100000
#define CACHE_PERIOD	100
#define CACHE_BYTES	(4u << 20)
#define TOUCHED_PAGES	16
#define UPROBE_SESSION	57		    /* enum bpf_attach_type: since Linux 6.13 */
#define KERNEL_FUNCTION "hrtimer_nanosleep" /* what provoke_switch() ends in */

/* How a program is attached. */
struct attached {
	struct bpf_link *link;
	int link_fd; /* a link of a kind that libbpf doesn't know; -1: none */
	int cpu;     /* the CPU that this thread is pinned to */
};

/* ---- attaching: 0 or negative errno ---- */

static int attach_event(const struct bpf_program *program, struct attached *attached,
			struct perf_event_attr *attr, pid_t pid, int cpu)
{
	attr->size = sizeof(*attr);
	_cleanup_close_ int fd =
		(int)syscall(SYS_perf_event_open, attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		return -errno;
	attached->link = bpf_program__attach_perf_event(program, fd);
	if (!attached->link)
		return -errno;
	(void)TAKE_FD(fd); /* the link owns it */
	return 0;
}

static int attach_clock(const struct bpf_program *program, struct attached *attached)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = CLOCK_PERIOD_NS,
	};

	return attach_event(program, attached, &attr, -1, attached->cpu);
}

static int attach_counter(const struct bpf_program *program, struct attached *attached,
			  uint64_t counter, uint64_t period)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.config = counter,
		.sample_period = period,
	};

	return attach_event(program, attached, &attr, -1, attached->cpu);
}

static int attach_cycles(const struct bpf_program *program, struct attached *attached)
{
	return attach_counter(program, attached, PERF_COUNT_HW_CPU_CYCLES, CYCLES_PERIOD);
}

static int attach_misses(const struct bpf_program *program, struct attached *attached)
{
	return attach_counter(program, attached, PERF_COUNT_HW_CACHE_MISSES, CACHE_PERIOD);
}

static int attach_references(const struct bpf_program *program, struct attached *attached)
{
	return attach_counter(program, attached, PERF_COUNT_HW_CACHE_REFERENCES, CACHE_PERIOD);
}

static int attach_faults(const struct bpf_program *program, struct attached *attached)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_PAGE_FAULTS_MIN,
		.sample_period = 1,
	};

	return attach_event(program, attached, &attr, -1, attached->cpu);
}

static int attach_raw_tracepoint(const struct bpf_program *program, struct attached *attached)
{
	attached->link = bpf_program__attach_raw_tracepoint(program, "sched_switch");
	return attached->link ? 0 : -errno;
}

static int attach_by_type(const struct bpf_program *program, struct attached *attached)
{
	attached->link = bpf_program__attach_trace(program);
	return attached->link ? 0 : -errno;
}

/* Reads the number in a file; returns it, or a negative errno. */
static long read_number(const char *path)
{
	_cleanup_buf_ struct buf text = BUF_INIT(64);
	int r = file_read(AT_FDCWD, path, &text);

	buf_char(&text, '\0');
	if (r < 0 || buf_error(&text))
		return r < 0 ? r : buf_error(&text);
	return strtol(text.data, NULL, 10);
}

static int attach_tracepoint(const struct bpf_program *program, struct attached *attached)
{
	long id = read_number("/sys/kernel/tracing/events/sched/sched_switch/id");
	struct perf_event_attr attr = {.type = PERF_TYPE_TRACEPOINT, .sample_period = 1};

	if (id == -ENOENT)
		id = read_number("/sys/kernel/debug/tracing/events/sched/sched_switch/id");
	if (id < 0)
		return (int)id;
	attr.config = (uint64_t)id;
	return attach_event(program, attached, &attr, -1, 0);
}

/* `source`: the name of the perf event source, "kprobe" or "uprobe". */
static int attach_probe(const struct bpf_program *program, struct attached *attached,
			const char *source, const char *where, uint64_t offset, bool at_return,
			pid_t pid)
{
	struct perf_event_attr attr = {.sample_period = 1};
	char path[80];

	snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%s/type", source);
	long type = read_number(path);
	if (type < 0)
		return (int)type;
	attr.type = (uint32_t)type;
	attr.config = at_return; /* …/format/retprobe: config:0 */
	attr.config1 = (uint64_t)(uintptr_t)where;
	attr.config2 = offset;
	return attach_event(program, attached, &attr, pid, pid < 0 ? 0 : -1);
}

static int attach_kprobe(const struct bpf_program *program, struct attached *attached)
{
	return attach_probe(program, attached, "kprobe", KERNEL_FUNCTION, 0, false, -1);
}

/* The function that uprobes are put on. */
__attribute__((noinline, used)) static void probed(void)
{
	__asm__ volatile("");
}

static int attach_user_probe(const struct bpf_program *program, struct attached *attached,
			     bool at_return)
{
	uint64_t offset;
	int r = self_offset((uintptr_t)probed, &offset);

	return r < 0 ? r
		     : attach_probe(program, attached, "uprobe", "/proc/self/exe", offset,
				    at_return, getpid());
}

/* Source: Linux's include/uapi/linux/bpf.h, BPF_LINK_CREATE with uprobe_multi. */
static int attach_session(const struct bpf_program *program, struct attached *attached)
{
	uint64_t offset;
	struct {
		uint32_t program_fd, target_fd, attach_type, flags;
		uint64_t path, offsets, counters, cookies;
		uint32_t count, multi_flags, pid, pad;
	} attr = {
		.program_fd = (uint32_t)bpf_program__fd(program),
		.attach_type = UPROBE_SESSION,
		.path = (uintptr_t) "/proc/self/exe",
		.offsets = (uintptr_t)&offset,
		.count = 1,
		.pid = (uint32_t)getpid(),
	};
	int r = self_offset((uintptr_t)probed, &offset);

	if (r < 0)
		return r;
	attached->link_fd = (int)syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));
	return attached->link_fd < 0 ? -errno : 0;
}

static int attach_uprobe(const struct bpf_program *program, struct attached *attached)
{
	return attach_user_probe(program, attached, false);
}

static int attach_uretprobe(const struct bpf_program *program, struct attached *attached)
{
	return attach_user_probe(program, attached, true);
}

/* Attaches, and reads once through all tasks. */
static int attach_iterator(const struct bpf_program *program, struct attached *attached)
{
	char bytes[256];

	attached->link = bpf_program__attach_iter(program, NULL);
	if (!attached->link)
		return -errno;
	_cleanup_close_ int fd = bpf_iter_create(bpf_link__fd(attached->link));
	if (fd < 0)
		return -errno;
	while (read(fd, bytes, sizeof(bytes)) > 0)
		continue;
	return 0;
}

/* ---- provoking a hit ---- */

static void provoke_clock(void)
{
	uint64_t until = loop_now_ns() + 2 * NS_PER_MS;

	while (loop_now_ns() < until)
		probed();
}

static void provoke_faults(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = TOUCHED_PAGES * page;
	char *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (pages == MAP_FAILED)
		return;
	madvise(pages, bytes, MADV_NOHUGEPAGE);
	for (size_t at = 0; at < bytes; at += page)
		*(volatile char *)(pages + at) = 1;
	munmap(pages, bytes);
}

/* Fresh memory is in no cache. */
static void provoke_misses(void)
{
	char *fresh =
		mmap(NULL, CACHE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (fresh == MAP_FAILED)
		return;
	for (size_t at = 0; at < CACHE_BYTES; at += 64)
		*(volatile char *)(fresh + at) = 1;
	munmap(fresh, CACHE_BYTES);
}

static void provoke_switch(void)
{
	nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

/* ---- one program ---- */

static const struct {
	const char *program; /* name in bpf/trial.bpf.c; NULL: no trial of this file */
	const char *hook;    /* for people */
	int (*attach)(const struct bpf_program *program, struct attached *attached);
	void (*provoke)(void);
	const char *map; /* the map that the program needs; NULL: none */
} trials[CAPABILITY_COUNT] = {
	[CAN_READ_KERNEL] = {"reads_kernel_memory", "bpf_probe_read_kernel", attach_clock,
			     provoke_clock, NULL},
	[CAN_CPU_CLOCK] = {"on_event", "the software event cpu-clock", attach_clock, provoke_clock,
			   NULL},
	[CAN_CPU_CYCLES] = {"on_event", "the hardware event cycles", attach_cycles, provoke_clock,
			    NULL},
	[CAN_CACHE_MISSES] = {"on_event", "the hardware event cache-misses", attach_misses,
			      provoke_misses, NULL},
	[CAN_CACHE_REFERENCES] = {"on_event", "the hardware event cache-references",
				  attach_references, provoke_misses, NULL},
	[CAN_PAGE_FAULTS] = {"on_event", "the software event minor-faults", attach_faults,
			     provoke_faults, NULL},
	[CAN_FAULT_CODES] = {"on_fault", "tp_btf/page_fault_user", attach_by_type, provoke_faults,
			     NULL},
	[CAN_RAW_TRACEPOINT] = {"on_raw_tracepoint", "raw tracepoint sched_switch",
				attach_raw_tracepoint, provoke_switch, NULL},
	[CAN_TYPED_TRACEPOINT] = {"on_typed_tracepoint", "tp_btf/sched_switch", attach_by_type,
				  provoke_switch, NULL},
	[CAN_TRACEPOINT] = {"on_tracepoint", "tracepoint sched:sched_switch", attach_tracepoint,
			    provoke_switch, NULL},
	[CAN_KPROBE] = {"on_probe", "kprobe on " KERNEL_FUNCTION, attach_kprobe, provoke_switch,
			NULL},
	[CAN_FENTRY] = {"on_entry", "fentry/" KERNEL_FUNCTION, attach_by_type, provoke_switch,
			NULL},
	[CAN_UPROBE] = {"on_probe", "uprobe on a function of ours", attach_uprobe, probed, NULL},
	[CAN_URETPROBE] = {"on_probe", "uretprobe on a function of ours", attach_uretprobe, probed,
			   NULL},
	[CAN_UPROBE_SESSION] = {"on_probe", "a uprobe session on a function of ours",
				attach_session, probed, NULL},
	[CAN_ITERATE_TASKS] = {"on_task", "iter/task", attach_iterator, probed, NULL},
	[CAN_ITERATE_SLEEPABLE] = {"on_task_sleepable", "iter.s/task, bpf_copy_from_user_task",
				   attach_iterator, probed, NULL},
	[CAN_RING_BUFFER] = {"uses_ring", "a ring buffer", attach_clock, provoke_clock, "ring"},
	[CAN_TASK_REGS] = {"uses_task_regs", "bpf_task_pt_regs", attach_clock, provoke_clock, NULL},
	[CAN_TASK_STORAGE] = {"uses_storage", "task storage", attach_by_type, provoke_switch,
			      "storage"},
};

/* Returns the last line of the verifier's log that is no line of its statistics. */
static const char *last_words(char *log)
{
	char *found = "";

	for (char *line = strtok(log, "\n"); line; line = strtok(NULL, "\n")) {
		if (strncmp(line, "processed ", 10) != 0 &&
		    strncmp(line, "verification time", 17) != 0)
			found = line;
	}
	return found;
}

static void report_hook_refusal(struct finding *finding, const char *hook, const char *what,
				int error, char *log)
{
	const char *words = log ? last_words(log) : "";

	if (error == ESRCH) { /* libbpf's errno for a kernel without BTF */
		finding_set(finding, FINDING_NO, "%s can't be %s: the kernel has no BTF", hook,
			    what);
		finding_set_remedy(finding, REMEDY_BTF);
		return;
	}
	finding_set(finding, FINDING_NO, "%s can't be %s: %s%s%.180s", hook, what,
		    error_words(error), words[0] ? "; the verifier: " : "", words);
	if (error == EPERM || error == EACCES)
		privileges_remedy(finding);
}

static struct bpf_program *choose_program(const struct trial_bpf *trial, enum capability which)
{
	struct bpf_program *program, *chosen = NULL;
	struct bpf_map *map;

	bpf_object__for_each_program(program, trial->obj)
	{
		bool wanted = strcmp(bpf_program__name(program), trials[which].program) == 0;

		bpf_program__set_autoload(program, wanted);
		chosen = wanted ? program : chosen;
	}
	bpf_object__for_each_map(map, trial->obj)
	{
		const char *needed = trials[which].map;

		if (!bpf_map__is_internal(map))
			bpf_map__set_autocreate(map,
						needed && strcmp(bpf_map__name(map), needed) == 0);
	}
	return chosen;
}

static bool is_hit(const struct trial_bpf *trial, void (*provoke)(void))
{
	uint64_t until = loop_now_ns() + TRIAL_NS;
	const volatile uint64_t *hits = &trial->bss->hits;

	while (!*hits && loop_now_ns() < until)
		provoke();
	return *hits > 0;
}

static void destroy_trial(struct trial_bpf **trial)
{
	trial_bpf__destroy(*trial);
}

static void try_program(enum capability which, struct finding *finding, char *log, int cpu)
{
	LIBBPF_OPTS(bpf_object_open_opts, options);
	const char *hook = trials[which].hook;
	struct attached attached = {.link_fd = -1, .cpu = cpu};

	options.kernel_log_buf = log;
	options.kernel_log_size = LOG_BYTES;
	_cleanup_(destroy_trial) struct trial_bpf *trial = trial_bpf__open_opts(&options);
	if (!trial) {
		report_hook_refusal(finding, hook, "opened", errno, NULL);
		return;
	}
	struct bpf_program *program = choose_program(trial, which);
	if (program && which == CAN_UPROBE_SESSION)
		bpf_program__set_expected_attach_type(program, UPROBE_SESSION);
	trial->rodata->task_word = (uint64_t)(uintptr_t)&trials;
	int r = program ? trial_bpf__load(trial) : -ENOENT;
	if (r < 0) {
		report_hook_refusal(finding, hook, "loaded", -r, log);
		return;
	}
	r = trials[which].attach(program, &attached);
	if (r < 0)
		report_hook_refusal(finding, hook, "attached", -r, NULL);
	else if (!is_hit(trial, trials[which].provoke))
		finding_set(finding, FINDING_NO, "%s was loaded and attached, but never ran", hook);
	else
		finding_set(finding, FINDING_YES, "%s was loaded, attached and hit", hook);
	bpf_link__destroy(attached.link);
	if (attached.link_fd >= 0)
		close(attached.link_fd);
}

/* Pins the thread to one CPU, on which the perf events are opened. */
void trial_program(enum capability which, struct finding *finding)
{
	_cleanup_free_ char *log = calloc(1, LOG_BYTES);
	cpu_set_t before, one;
	int cpu = sched_getcpu();

	if (!log || cpu < 0 || sched_getaffinity(0, sizeof(before), &before) < 0) {
		finding_set(finding, FINDING_NO, "can't be tried: %s", strerror(errno));
		return;
	}
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	sched_setaffinity(0, sizeof(one), &one);
	libbpf_print_fn_t print = libbpf_set_print(NULL); /* errors are in the finding */
	try_program(which, finding, log, cpu);
	libbpf_set_print(print);
	sched_setaffinity(0, sizeof(before), &before);
}

void trial_types(enum capability which, struct finding *finding)
{
	libbpf_print_fn_t print = libbpf_set_print(NULL);
	struct ktypes ktypes;
	_cleanup_close_ int fd = ktypes_open(&ktypes);

	(void)which;
	libbpf_set_print(print);
	if (fd == -ESRCH || fd == -ENOENT)
		finding_set(finding, FINDING_NO,
			    "/sys/kernel/btf/vmlinux has not the types that the programs read");
	else if (fd < 0)
		finding_set(finding, FINDING_NO, "the kernel's types can't be read: %s",
			    error_words(-fd));
	else
		finding_set(finding, FINDING_YES, "the types that the programs read are there");
}
