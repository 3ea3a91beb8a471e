// SPDX-License-Identifier: GPL-2.0-or-later
/* The probe blkio: bytes of disks' requests, by the stack of who caused them. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "blkio.skel.h"
#include "bpf/shared/blkio_parts.h"
#include "kernel/tracer_part.h"
#include "measure/measure.h"
#include "probes/probe_needs.h"
#include "profile/view.h"
#include "select/param.h"

#define EVENTS_MAX 131072 /* bios and folios that are on their way at a time */
#define NO_HEADS                                                                                   \
	"of folios of several pages, only what begins at the first page has an owner: this "       \
	"kernel's struct page doesn't lead to the folio"

#define NO_BLOCKS                                                                                  \
	"this kernel has no tracepoints block_bio_queue and block_rq_complete (CONFIG_BLOCK)"
#define UNSEEN_BIOS                                                                                \
	"disks without requests (zram, pmem) don't tell when they are done: what they take is "    \
	"counted in unseen_bytes"

struct blkio_params {
	int64_t writeback; /* keep who made pages dirty */
};
PARAMS_FIT(struct blkio_params);

static const struct param params[] = {
	{"blkio_writeback", PARAM_NUMBER_OF(struct blkio_params, writeback), .max = 1, .number = 1,
	 .help = "1: what is written back counts for who made the page dirty, which costs the walk "
		 "of a stack for each page or folio that becomes dirty. 0: write-back isn't "
		 "counted"},
	{0},
};

static const char *const directions[BLKIO_DIRECTIONS] = {
	[BLKIO_READ] = "[read]",
	[BLKIO_WRITE] = "[write]",
	[BLKIO_DISCARD] = "[discard]",
	[BLKIO_FLUSH] = "[flush]",
};

static const struct pprof_shape in_device = {
	.values = {{"requests", "count", PPROF_EVENTS},
		   {"blkio_time", "nanoseconds", PPROF_WEIGHT, 1000}},
	.period_type = "",
	.period_unit = "",
};

static const struct view_row views[VIEWS] = {
	[VIEW_ALL] = {.name = "bytes"},
	[VIEW_SECOND] = {.name = "time",
			 .folder = "blkio-time",
			 .title = "Time of Block Requests",
			 .count_name = "us",
			 .event_name = "requests",
			 .event_title = "Block Requests",
			 .pprof = &in_device},
};

struct blkio_stats {
	uint64_t bios[BARE_DISK_COUNT], bytes[BARE_DISK_COUNT];
};
KIND_STATS_FIT(struct blkio_stats);

static const char *bareness_name(unsigned bareness)
{
	static const char *const names[] = {BARE_DISKS(NAMED_NAME)};

	return names[bareness];
}

static const struct measure_label of_bareness = {"cause", bareness_name, 0, BARE_DISK_COUNT};

static const struct measure numbers[] = {
	{"blkio_unseen_bios_total", "unseen_bios", COUNTER,
	 "Bios of targets that disks without requests took, which blkio doesn't show.",
	 MEASURE_EACH(blkio_stats, bios, &of_bareness)},
	{"blkio_unseen_bytes_total", "unseen_bytes", COUNTER, "Bytes of these.",
	 MEASURE_EACH(blkio_stats, bytes, &of_bareness)},
};

static const struct measures measures = {"Probes: block I/O", "status.probes.blkio",
					 MEASURE_ROWS(numbers)};

static void count_bios(const struct tracer *tracer, const struct counters *counters,
		       union kind_stats *stats)
{
	struct blkio_stats *mine = (struct blkio_stats *)(void *)stats;

	(void)tracer;
	memcpy(mine->bios, counters->unseen_bios, sizeof(mine->bios));
	memcpy(mine->bytes, counters->unseen_bytes, sizeof(mine->bytes));
}

/*
 * Names of disks, by the numbers that the kernel's side gives them. Its two maps stay for as long
 * as the daemon runs: a window is named later than it ended, maybe when the probe has stopped.
 */
static struct {
	pthread_mutex_t lock;
	int numbers_fd, names_fd; /* -1: not there yet */
	char names[BLKIO_DISKS_MAX][PART_NAME_BYTES];
} disks = {.lock = PTHREAD_MUTEX_INITIALIZER, .numbers_fd = -1, .names_fd = -1};

static void look_up_disk(uint32_t number, char name[PART_NAME_BYTES])
{
	struct blkio_disk disk = {0};

	if (disks.names_fd >= 0 && bpf_map_lookup_elem(disks.names_fd, &number, &disk) == 0)
		snprintf(name, PART_NAME_BYTES, "[%.*s]", (int)sizeof(disk.name), disk.name);
}

static const struct part_row *name_part(unsigned number, struct part_named *room)
{
	uint32_t disk = BLKIO_DISK(number);

	snprintf(room->text[1], PART_NAME_BYTES, "[disk]"); /* it found no number */
	if (disk > 0 && disk < BLKIO_DISKS_MAX) {
		pthread_mutex_lock(&disks.lock);
		if (!disks.names[disk][0])
			look_up_disk(disk, disks.names[disk]);
		if (disks.names[disk][0])
			memcpy(room->text[1], disks.names[disk], PART_NAME_BYTES);
		pthread_mutex_unlock(&disks.lock);
	}
	room->row = (struct part_row){{directions[BLKIO_DIRECTION(number)], room->text[1]}};
	return &room->row;
}

/* Keeps a map for the next object. */
static int keep_map(int *kept_fd, const struct bpf_map *map)
{
	int fd = *kept_fd < 0 ? fcntl(bpf_map__fd(map), F_DUPFD_CLOEXEC, 0) : *kept_fd;

	if (fd < 0)
		return -errno;
	pthread_mutex_lock(&disks.lock);
	*kept_fd = fd;
	pthread_mutex_unlock(&disks.lock);
	return 0;
}

static int keep_maps(const struct blkio_bpf *bpf)
{
	int r = keep_map(&disks.numbers_fd, bpf->maps.disks);

	return r < 0 ? r : keep_map(&disks.names_fd, bpf->maps.disk_names);
}

/* Has an object go on with the numbers of the one before. */
static int share_disks(struct blkio_bpf *bpf)
{
	uint32_t count = 0;
	struct blkio_disk disk;
	int r = 0;

	pthread_mutex_lock(&disks.lock);
	if (disks.numbers_fd >= 0 && disks.names_fd >= 0) {
		for (uint32_t next = 1; bpf_map_lookup_elem(disks.names_fd, &next, &disk) == 0;
		     next++)
			count = next;
		bpf->bss->disks_count = count;
		r = bpf_map__reuse_fd(bpf->maps.disks, disks.numbers_fd);
		if (r == 0)
			r = bpf_map__reuse_fd(bpf->maps.disk_names, disks.names_fd);
	}
	pthread_mutex_unlock(&disks.lock);
	return r;
}

static int choose_programs(struct blkio_bpf *bpf, const struct ktypes *types)
{
	bool folios = types->has_dirty_folio;

	bpf->rodata->has_queue_args = types->has_block_queues;
	bpf->rodata->has_issue_queue = types->has_issue_queue;
	bpf->rodata->page_bytes = (uint32_t)sysconf(_SC_PAGESIZE);
	bpf->rodata->halves_max = types->has_map_allocator ? EVENTS_MAX : MAP_ALL_AT_ONCE;
	bpf_program__set_autoload(bpf->progs.dirty_folio, folios);
	bpf_program__set_autoload(bpf->progs.dirty_page, !folios);
	bpf_program__set_autoattach(bpf->progs.dirty_folio, false);
	bpf_program__set_autoattach(bpf->progs.dirty_page, false);
	bpf_map__set_map_flags(bpf->maps.halves, BPF_F_NO_PREALLOC);
	return bpf_map__set_max_entries(bpf->maps.halves, EVENTS_MAX);
}

static struct blkio_bpf *open_blkio(const struct load_from *from)
{
	struct blkio_bpf *bpf = tracer_open(from->tracer, blkio);
	const struct ktypes *types = tracer_ktypes(from->tracer);

	if (!bpf)
		return NULL;
	int r = types->has_blocks ? share_disks(bpf) : -EOPNOTSUPP;
	if (r == 0)
		r = choose_programs(bpf, types);
	if (r < 0) {
		blkio_bpf__destroy(bpf);
		errno = -r;
		return NULL;
	}
	tracer_set_stacks(bpf);
	return bpf;
}

OWN_OBJECT(blkio)

static struct bpf_link **dirty_link(struct blkio_bpf *bpf)
{
	return bpf_program__autoload(bpf->progs.dirty_folio) ? &bpf->links.dirty_folio
							     : &bpf->links.dirty_page;
}

/* Sees who makes folios dirty, whose writing the kernel begins later. */
static int watch_dirty(struct blkio_bpf *bpf)
{
	return link_attach(dirty_link(bpf), bpf_program__autoload(bpf->progs.dirty_folio)
						    ? bpf->progs.dirty_folio
						    : bpf->progs.dirty_page);
}

/* With write-back or without is another object: what is kept of folios would be of before. */
static int start_requests(struct probe_run *run, struct why *why)
{
	const struct blkio_params *wanted = run->settings;
	int r = 0;

	if (run->own && (*dirty_link(tracer_own_bpf(run->own)) != NULL) != (wanted->writeback != 0))
		tracer_unload(&run->own);
	if (run->own)
		return 0;
	r = tracer_load_own(run->tracer, &loadable_blkio, &run->own,
			    "the programs on block devices can't be loaded", why);
	if (r == 0 && wanted->writeback)
		r = watch_dirty(tracer_own_bpf(run->own));
	return r < 0 ? r : keep_maps(tracer_own_bpf(run->own));
}

static void stop_requests(struct probe_run *run)
{
	tracer_unload(&run->own);
}

static const char *requests_lack(const struct ktypes *types)
{
	return types->has_blocks ? "" : NO_BLOCKS;
}

static const char *requests_limit(const struct ktypes *types)
{
	return !types->has_blocks || types->has_folio_heads ? "" : NO_HEADS;
}

const struct kind probe_blkio = {
	.name = "blkio",
	.title = "Block I/O",
	.count_name = "bytes",
	.for_users = true,
	.at_tracepoint = true,
	.counts_empty = true,
	.second_unit = 1000, /* ns */
	.event_name = "requests",
	.event_title = "Block Requests",
	.pprof = {.values = {{"requests", "count", PPROF_EVENTS}, {"blkio", "bytes", PPROF_WEIGHT}},
		  .period_type = "",
		  .period_unit = ""},
	.upload = {"blkio", "stackprobe-blkio", ".bytes", "bytes", 100},
	.deepflow = 4,
	.views = views,
	.name_part = name_part,
	.params = params,
	.needs = {NEEDS_PROGRAMS, NEEDS_DATA, NEEDS_KERNEL_NAMES, NEEDS_FILE_NAMES},
	.loads = blkio_loads,
	.start = start_requests,
	.stop = stop_requests,
	.measures = &measures,
	.count = count_bios,
	.lack = requests_lack,
	.limit = requests_limit,
	.never = UNSEEN_BIOS,
};
