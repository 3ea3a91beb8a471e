// SPDX-License-Identifier: GPL-2.0-or-later
/* The probe readahead: pages of files read into the page cache, and those that nobody used. */
#include <bpf/libbpf.h>
#include <errno.h>

#include "base/cleanup.h"
#include "bpf/shared/readahead_parts.h"
#include "kernel/tracer_part.h"
#include "probes/probe_needs.h"
#include "profile/view.h"
#include "readahead.skel.h"
#include "symbol/kernel_symbols.h"

/*
 * The functions that add pages, of one kernel or another (mm/filemap.c, mm/readahead.c): first
 * those that add one for somebody who looks for it, then those that read ahead. What the compiler
 * puts into its callers are these callers.
 */
#define LOOKING_FUNCTIONS 3
static const char *const functions[] = {
	"__filemap_get_folio",
	"__filemap_get_folio_mpol",
	"pagecache_get_page",
	"page_cache_ra_unbounded", /* since 5.11 */
	"page_cache_readahead_unbounded",
	"page_cache_ra_order", /* since 5.18 */
	"do_page_cache_ra",
	"__do_page_cache_readahead",
	"force_page_cache_ra",
	"page_cache_sync_ra",
	"page_cache_async_ra",
	"ondemand_readahead",
	NULL,
};

static const struct part_row parts[] = {
	[READAHEAD_ASKED] = {{"[asked]"}},
	[READAHEAD_AHEAD] = {{"[ahead]"}},
	[READAHEAD_ANY] = {{"[asked or ahead]"}},
};

static const struct pprof_shape never_used = {
	.values = {{"unused_pages", "count", PPROF_WEIGHT}},
	.period_type = "",
	.period_unit = "",
};

static const struct view_row views[VIEWS] = {
	[VIEW_ALL] = {.name = "pages"},
	[VIEW_SECOND] = {.name = "unused",
			 .folder = "readahead-unused",
			 .title = "Pages Read Ahead and Never Used",
			 .count_name = "pages",
			 .pprof = &never_used},
};

/* Returns 0 or a negative errno: the kernel hides its addresses, or none of them is known. */
static int fill_functions(struct readahead_bpf *bpf)
{
	struct kernel_range ranges[READAHEAD_FUNCTIONS];
	int count = kernel_code_find(functions, ranges, ARRAY_SIZE(ranges));

	for (int i = 0; i < count; i++)
		bpf->rodata->readahead_functions[i] =
			(struct code_range){.from = ranges[i].from,
					    .bytes = ranges[i].to - ranges[i].from,
					    .reads_ahead = ranges[i].name >= LOOKING_FUNCTIONS};
	if (count > 0)
		return 0;
	return count < 0 ? count : -EOPNOTSUPP;
}

static void choose_hooks(struct readahead_bpf *bpf, const struct ktypes *types)
{
	bpf->rodata->has_asked = types->has_asked;
	bpf->rodata->has_uses = types->has_uses;
	bpf_map__set_autocreate(bpf->maps.askings, types->has_asked);
	bpf_map__set_autocreate(bpf->maps.followed, types->has_uses);
	bpf_map__set_autocreate(bpf->maps.kept_stacks, types->has_uses);
	bpf_program__set_autoload(bpf->progs.add_folio, types->has_uses);
	bpf_program__set_autoload(bpf->progs.add_only, !types->has_uses);
	bpf_program__set_autoload(bpf->progs.delete_folio, types->has_uses);
	bpf_program__set_autoload(bpf->progs.get_pages, types->has_uses);
	bpf_program__set_autoload(bpf->progs.map_pages, types->has_uses);
	bpf_program__set_autoload(bpf->progs.begin_fault, types->has_uses);
	bpf_program__set_autoload(bpf->progs.write_folio,
				  types->has_uses && types->has_dirty_folio);
	bpf_program__set_autoload(bpf->progs.begin_sync, types->has_asked);
	bpf_program__set_autoload(bpf->progs.begin_async, types->has_asked);
}

/* Looks for the kernel's functions: that takes some 50 ms, on the worker that loads ahead. */
static struct readahead_bpf *open_readahead(const struct load_from *from)
{
	struct readahead_bpf *bpf = tracer_open(from->tracer, readahead);
	int r = bpf ? fill_functions(bpf) : -errno;

	if (r < 0) {
		readahead_bpf__destroy(bpf);
		errno = -r;
		return NULL;
	}
	tracer_set_stacks(bpf);
	tracer_drop_records(bpf);
	choose_hooks(bpf, tracer_ktypes(from->tracer));
	return bpf;
}

OWN_OBJECT(readahead)

static const char *added_lack(const struct ktypes *types)
{
	return types->has_added ? "" : "this kernel has no tracepoint mm_filemap_add_to_page_cache";
}

static int start_added(struct probe_run *run, struct why *why)
{
	const struct ktypes *types = tracer_ktypes(run->tracer);

	if (run->own)
		return 0;
	if (types && added_lack(types)[0]) {
		why_set(why, "%s", added_lack(types));
		return -EOPNOTSUPP;
	}
	return tracer_load_own(run->tracer, &loadable_readahead, &run->own,
			       "where the kernel reads ahead isn't known, or the programs on the "
			       "page cache can't be loaded",
			       why);
}

static void stop_added(struct probe_run *run)
{
	tracer_unload(&run->own);
}

static const char *added_limit(const struct ktypes *types)
{
	if (types->has_asked)
		return "";
	if (types->has_uses)
		return "pages that are needed and pages ahead aren't told apart: the kernel has no "
		       "tracepoint page_cache_sync_ra";
	return "pages ahead aren't told apart, nor which ones are used: the kernel has no "
	       "tracepoints page_cache_sync_ra and mm_filemap_get_pages";
}

const struct kind probe_readahead = {
	.name = "readahead",
	.title = "Pages Read into the Page Cache",
	.count_name = "pages",
	.for_users = true,
	.at_tracepoint = true,
	.second_apart = true,
	.pprof = {.values = {{"pages", "count", PPROF_WEIGHT}},
		  .period_type = "",
		  .period_unit = ""},
	.upload = {"readahead", "stackprobe-readahead", ".alloc_objects", "objects", 100},
	.deepflow = 4,
	.views = views,
	PARTS(parts),
	.needs = {NEEDS_PROGRAMS,
		  {CAN_TYPED_TRACEPOINT},
		  {CAN_NAME_KERNEL},
		  NEEDS_DATA,
		  NEEDS_FILE_NAMES},
	.loads = readahead_loads,
	.start = start_added,
	.stop = stop_added,
	.lack = added_lack,
	.limit = added_limit,
};
