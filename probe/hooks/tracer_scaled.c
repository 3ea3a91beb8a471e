// SPDX-License-Identifier: GPL-2.0-or-later
/* Scaled measurements: each has a map of cells of its own. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "hooks/tracer_sched.h"
#include "hooks/hooks_state.h"
#include "sched.skel.h"

#define BATCH 1024

/* Returns the place of a measurement that is on; -1: it is no more. Numbers are not used again. */
static int place_of(const struct tracer *tracer, uint64_t number)
{
	int place = (int)(number % SCALED_MAX);

	return tracer->scaled_fds[place] >= 0 && tracer->scaled_numbers[place] == number ? place
											 : -1;
}

static void switch_scaled(struct tracer *tracer, int place, bool on)
{
	uint32_t *scaled = &tracer->settings->scaled;

	__atomic_store_n(scaled, on ? *scaled | 1U << place : *scaled & ~(1U << place),
			 __ATOMIC_SEQ_CST);
}

int tracer_scaled_begin(struct tracer *tracer, const struct hist_scale *scale, uint64_t *number)
{
	int place = 0;

	if (!tracer->settings || !(tracer->settings->hists & 1U << scale->probe))
		return -ENOENT;
	while (place < SCALED_MAX && tracer->scaled_fds[place] >= 0)
		place++;
	if (place == SCALED_MAX)
		return -EBUSY;
	_cleanup_close_ int fd =
		bpf_map_create(BPF_MAP_TYPE_HASH, "sched_cells", sizeof(struct cell_key),
			       sizeof(struct cell), CELLS_MAX, NULL);
	if (fd < 0 || bpf_map_update_elem(bpf_map__fd(tracer->sched->maps.scaled), &place, &fd, 0))
		return -errno;
	tracer->scaled_fds[place] = TAKE_FD(fd);
	tracer->scaled_numbers[place] = *number =
		++tracer->scaled_count * SCALED_MAX + (unsigned)place;
	tracer->settings->scales[place] = *scale;
	switch_scaled(tracer, place, true);
	return 0;
}

int tracer_scaled_read(struct tracer *tracer, uint64_t number,
		       void (*each)(void *arg, const struct hist_cell *cell), void *arg)
{
	_cleanup_free_ struct cell_key *keys = calloc(BATCH, sizeof(*keys));
	_cleanup_free_ struct cell *cells = calloc(BATCH, sizeof(*cells));
	int place = place_of(tracer, number);
	uint32_t position, *from = NULL;

	if (place < 0)
		return -ENOENT;
	if (!keys || !cells)
		return -ENOMEM;
	for (int r = 0; r == 0; from = &position) {
		uint32_t count = BATCH;

		r = bpf_map_lookup_batch(tracer->scaled_fds[place], from, &position, keys, cells,
					 &count, NULL);
		if (r < 0 && r != -ENOENT) /* -ENOENT: that was all */
			return r;
		for (uint32_t i = 0; i < count; i++)
			each(arg, &(struct hist_cell){keys[i], cells[i]});
	}
	return 0;
}

static void end_place(struct tracer *tracer, int place)
{
	if (tracer->scaled_fds[place] < 0)
		return;
	switch_scaled(tracer, place, false);
	bpf_map_delete_elem(bpf_map__fd(tracer->sched->maps.scaled), &place);
	close(tracer->scaled_fds[place]);
	tracer->scaled_fds[place] = -1;
}

void tracer_scaled_end(struct tracer *tracer, uint64_t number)
{
	int place = place_of(tracer, number);

	if (place >= 0)
		end_place(tracer, place);
}

void tracer_scaled_end_others(struct tracer *tracer, uint32_t probes)
{
	for (int place = 0; place < SCALED_MAX; place++) {
		if (tracer->scaled_fds[place] >= 0 &&
		    !(probes & 1U << tracer->settings->scales[place].probe))
			end_place(tracer, place);
	}
}
