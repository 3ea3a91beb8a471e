// SPDX-License-Identifier: GPL-2.0-or-later
/* The probe io: bytes that system calls read and wrote, by the stack that made the call. */
#include <bpf/libbpf.h>
#include <errno.h>

#include "bpf/shared/io_calls.h"
#include "io.skel.h"
#include "kernel/tracer_part.h"
#include "probes/io_numbers.h"
#include "probes/probe_needs.h"
#include "profile/view.h"
#include "select/param.h"

#define RINGS_MAX 4096 /* requests of io_urings that go on at a time */
#define NO_RINGS  "what io_uring moves is not seen"

struct io_params {
	int64_t time; /* count the time in the calls as well */
};
PARAMS_FIT(struct io_params);

static const struct param params[] = {
	{"io_time", PARAM_NUMBER_OF(struct io_params, time), .max = 1,
	 .help = "1: the time in the calls is counted as well (`value=time`). The begin of each "
		 "system call on the host is looked at then, as its return is anyway"},
	{0},
};

#define PARTS_OF(direction, frame)                                                                 \
	[IO_PART(direction, IO_FILE)] = {{frame, "[file]"}},                                       \
			    [IO_PART(direction, IO_SOCKET)] = {{frame, "[socket]"}},               \
			    [IO_PART(direction, IO_PIPE)] = {{frame, "[pipe]"}},                   \
			    [IO_PART(direction, IO_TTY)] = {{frame, "[tty]"}},                     \
			    [IO_PART(direction, IO_OTHER)] = {{frame, "[other]"}}

static const struct part_row parts[] = {
	PARTS_OF(IO_READ, "[read]"),
	PARTS_OF(IO_WRITE, "[write]"),
	PARTS_OF(IO_PEEKED, "[peek]"),
	PARTS_OF(IO_TRUNCATED, "[trunc]"),
};

static const struct pprof_shape in_call = {
	.values = {{"calls", "count", PPROF_EVENTS},
		   {"io_time", "nanoseconds", PPROF_WEIGHT, 1000}},
	.period_type = "",
	.period_unit = "",
};

static const struct view_row views[VIEWS] = {
	[VIEW_ALL] = {.name = "bytes"},
	[VIEW_SECOND] = {.name = "time",
			 .folder = "io-time",
			 .title = "Time in I/O Calls",
			 .count_name = "us",
			 .event_name = "calls",
			 .event_title = "I/O Calls",
			 .pprof = &in_call},
};

/* Has programs on io_uring loaded, where the kernel tells of requests. */
static void choose_rings(struct io_bpf *bpf, int arguments)
{
	bpf_program__set_autoload(bpf->progs.begin_request, arguments >= 3);
	bpf_program__set_autoload(bpf->progs.end_request, arguments >= 3);
	bpf->rodata->ring_has_entry = arguments == 3;
	bpf->rodata->halves_max = RINGS_MAX;
	bpf_map__set_max_entries(bpf->maps.halves, RINGS_MAX);
	if (arguments < 3)
		bpf_map__set_max_entries(bpf->maps.repeated_requests, 1);
}

static struct io_bpf *open_io(const struct load_from *from)
{
	struct io_bpf *bpf = tracer_open(from->tracer, io);

	if (!bpf)
		return NULL;
	tracer_set_stacks(bpf);
	io_numbers_fill(bpf->rodata->io_calls, bpf->rodata->io_narrow_calls);
	bpf_program__set_autoattach(bpf->progs.begin_call, false);
	bpf_program__set_autoattach(bpf->progs.end_thread, false);
	choose_rings(bpf, tracer_ktypes(from->tracer)->ring_arguments);
	return bpf;
}

OWN_OBJECT(io)

/* Attaches what only the time in calls needs, or detaches it. */
static int set_timed(struct io_bpf *bpf, bool timed, struct why *why)
{
	int r = 0;

	if (!timed) {
		bpf->bss->io_timed = 0;
		link_detach(&bpf->links.begin_call);
		link_detach(&bpf->links.end_thread);
		return 0;
	}
	r = link_attach(&bpf->links.end_thread, bpf->progs.end_thread);
	if (r == 0)
		r = link_attach(&bpf->links.begin_call, bpf->progs.begin_call);
	if (r == 0)
		bpf->bss->io_timed = 1;
	else
		tracer_explain(why, r, "the begin of system calls can't be seen");
	return r;
}

struct io_stats {
	uint64_t ring_thread_requests;
};
KIND_STATS_FIT(struct io_stats);

static const struct measure numbers[] = {
	{"io_ring_thread_requests_total", "ring_thread_requests", COUNTER,
	 "Requests that an io_uring's own thread submitted (IORING_SETUP_SQPOLL): they have no "
	 "stack.",
	 MEASURE_AT(io_stats, ring_thread_requests)},
};

static const struct measures measures = {"Probes: I/O", "status.probes.io", MEASURE_ROWS(numbers)};

static void count_requests(const struct tracer *tracer, const struct counters *counters,
			   union kind_stats *stats)
{
	struct io_stats *mine = (struct io_stats *)(void *)stats;

	(void)tracer;
	mine->ring_thread_requests = counters->ring_thread_requests;
}

static int start_calls(struct probe_run *run, struct why *why)
{
	const struct io_params *wanted = run->settings;
	int r = 0;

	if (!run->own)
		r = tracer_load_own(run->tracer, &loadable_io, &run->own,
				    "the programs on system calls can't be loaded", why);
	return r < 0 ? r : set_timed(tracer_own_bpf(run->own), wanted->time, why);
}

static void stop_calls(struct probe_run *run)
{
	tracer_unload(&run->own);
}

static const char *calls_limit(const struct ktypes *types)
{
	return types->ring_arguments < 3 ? NO_RINGS : "";
}

const struct kind probe_io = {
	.name = "io",
	.title = "I/O",
	.count_name = "bytes",
	.for_users = true,
	.counts_empty = true,
	.second_unit = 1000, /* ns */
	.event_name = "calls",
	.event_title = "I/O Calls",
	.pprof = {.values = {{"calls", "count", PPROF_EVENTS}, {"io", "bytes", PPROF_WEIGHT}},
		  .period_type = "",
		  .period_unit = ""},
	.upload = {"io", "stackprobe-io", ".bytes", "bytes", 100},
	.deepflow = 4,
	.views = views,
	.params = params,
	PARTS(parts),
	.measures = &measures,
	.count = count_requests,
	.needs = {NEEDS_PROGRAMS, {CAN_TYPED_TRACEPOINT}, NEEDS_DATA, NEEDS_FILE_NAMES},
	.loads = io_loads,
	.start = start_calls,
	.stop = stop_calls,
	.limit = calls_limit,
};
