// SPDX-License-Identifier: GPL-2.0-or-later
/* The probe writeback: who makes pages of files dirty, and who has to wait for their writing. */
#include <bpf/libbpf.h>
#include <errno.h>
#include <unistd.h>

#include "kernel/tracer_part.h"
#include "probes/probe_needs.h"
#include "profile/view.h"
#include "writeback.skel.h"

#define LONG_ARGUMENTS	12 /* of balance_dirty_pages before 6.17 */
#define SHORT_ARGUMENTS 8

static const struct pprof_shape in_pause = {
	.values = {{"waits", "count", PPROF_EVENTS}, {"wait", "nanoseconds", PPROF_WEIGHT, 1000}},
	.period_type = "",
	.period_unit = "",
};

static const struct view_row views[VIEWS] = {
	[VIEW_ALL] = {.name = "dirty"},
	[VIEW_SECOND] = {.name = "wait",
			 .folder = "writeback-wait",
			 .title = "Time Throttled for Writeback",
			 .count_name = "us",
			 .event_name = "waits",
			 .event_title = "Waits for Writeback",
			 .pprof = &in_pause},
};

static bool knows_pauses(const struct ktypes *types)
{
	return types->throttle_arguments == LONG_ARGUMENTS ||
	       types->throttle_arguments == SHORT_ARGUMENTS;
}

static void choose_hooks(struct writeback_bpf *bpf, const struct ktypes *types)
{
	bool pauses = knows_pauses(types);

	bpf->rodata->has_long_arguments = types->throttle_arguments == LONG_ARGUMENTS;
	bpf->rodata->has_switch_state = types->has_switch_state;
	bpf_program__set_autoload(bpf->progs.on_dirty_folio, types->has_dirty_folio);
	bpf_program__set_autoload(bpf->progs.on_dirty_page, !types->has_dirty_folio);
	bpf_program__set_autoload(bpf->progs.plan_pause, pauses);
	bpf_program__set_autoload(bpf->progs.on_pause_switch, pauses);
	bpf_program__set_autoload(bpf->progs.end_paused, pauses);
}

static struct writeback_bpf *open_writeback(const struct load_from *from)
{
	struct writeback_bpf *bpf = tracer_open(from->tracer, writeback);

	if (!bpf)
		return NULL;
	tracer_set_stacks(bpf);
	tracer_drop_records(bpf);
	bpf->rodata->page_bytes = (uint32_t)sysconf(_SC_PAGESIZE);
	choose_hooks(bpf, tracer_ktypes(from->tracer));
	return bpf;
}

OWN_OBJECT(writeback)

static const char *dirty_lack(const struct ktypes *types)
{
	return types->has_dirty_folio || types->has_dirty_page
		       ? ""
		       : "this kernel has no tracepoint writeback_dirty_folio";
}

static int start_dirty(struct probe_run *run, struct why *why)
{
	const struct ktypes *types = tracer_ktypes(run->tracer);

	if (run->own)
		return 0;
	if (types && dirty_lack(types)[0]) {
		why_set(why, "%s", dirty_lack(types));
		return -EOPNOTSUPP;
	}
	return tracer_load_own(run->tracer, &loadable_writeback, &run->own,
			       "the programs on dirty pages can't be loaded", why);
}

static void stop_dirty(struct probe_run *run)
{
	tracer_unload(&run->own);
}

static const char *dirty_limit(const struct ktypes *types)
{
	if (knows_pauses(types))
		return "";
	return "waits for writeback aren't seen: the tracepoint balance_dirty_pages has other "
	       "arguments here";
}

const struct kind probe_writeback = {
	.name = "writeback",
	.title = "Dirtied Pages",
	.count_name = "bytes",
	.for_users = true,
	.at_tracepoint = true,
	.second_apart = true,
	.second_unit = 1000, /* ns */
	.event_name = "folios",
	.event_title = "Dirtied Folios",
	.pprof = {.values = {{"folios", "count", PPROF_EVENTS}, {"dirty", "bytes", PPROF_WEIGHT}},
		  .period_type = "",
		  .period_unit = ""},
	.upload = {"writeback", "stackprobe-writeback", ".bytes", "bytes", 100},
	.deepflow = 4,
	.views = views,
	.needs = {NEEDS_PROGRAMS,
		  {CAN_TYPED_TRACEPOINT},
		  NEEDS_DATA,
		  NEEDS_KERNEL_NAMES,
		  NEEDS_FILE_NAMES},
	.loads = writeback_loads,
	.start = start_dirty,
	.stop = stop_dirty,
	.lack = dirty_lack,
	.limit = dirty_limit,
};
