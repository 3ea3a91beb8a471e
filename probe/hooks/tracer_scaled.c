// SPDX-License-Identifier: GPL-2.0-or-later
/* Scaled measurements: each has its own map of cells, which is exchanged when it is read. */
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

/* Makes an empty map of cells; from the return on values go there. Returns the map, or a negative
 * errno. */
static int put_cells(struct tracer *tracer, unsigned number)
{
	_cleanup_close_ int fd =
		bpf_map_create(BPF_MAP_TYPE_HASH, "sched_cells", sizeof(struct cell_key),
			       sizeof(struct cell), CELLS_MAX, NULL);

	/* The kernel waits for programs that have the old map. */
	if (fd < 0 || bpf_map_update_elem(bpf_map__fd(tracer->sched->maps.scaled), &number, &fd, 0))
		return -errno;
	return TAKE_FD(fd);
}

static void switch_scaled(struct tracer *tracer, unsigned number, bool on)
{
	uint32_t *scaled = &tracer->settings->scaled;

	__atomic_store_n(scaled, on ? *scaled | 1U << number : *scaled & ~(1U << number),
			 __ATOMIC_SEQ_CST);
}

int tracer_scaled_begin(struct tracer *tracer, const struct hist_scale *scale, unsigned *number)
{
	unsigned i = 0;

	if (!tracer->settings || !(tracer->settings->hists & 1U << scale->probe))
		return -ENOENT;
	while (i < SCALED_MAX && tracer->scaled_fds[i] >= 0)
		i++;
	if (i == SCALED_MAX)
		return -EBUSY;
	int fd = put_cells(tracer, i);
	if (fd < 0)
		return fd;
	tracer->scaled_fds[i] = fd;
	tracer->settings->scales[i] = *scale;
	switch_scaled(tracer, i, true);
	*number = i;
	return 0;
}

static int read_cells(int fd, void (*each)(void *arg, const struct hist_cell *cell), void *arg)
{
	_cleanup_free_ struct cell_key *keys = calloc(BATCH, sizeof(*keys));
	_cleanup_free_ struct cell *cells = calloc(BATCH, sizeof(*cells));
	uint32_t position, *from = NULL;

	if (!keys || !cells)
		return -ENOMEM;
	for (int r = 0; r == 0; from = &position) {
		uint32_t count = BATCH;

		r = bpf_map_lookup_batch(fd, from, &position, keys, cells, &count, NULL);
		if (r < 0 && r != -ENOENT) /* -ENOENT: that was all */
			return r;
		for (uint32_t i = 0; i < count; i++)
			each(arg, &(struct hist_cell){keys[i], cells[i]});
	}
	return 0;
}

int tracer_scaled_take(struct tracer *tracer, unsigned number,
		       void (*each)(void *arg, const struct hist_cell *cell), void *arg)
{
	_cleanup_close_ int fd = tracer->scaled_fds[number];

	if (fd < 0)
		return -ENOENT;
	tracer->scaled_fds[number] = put_cells(tracer, number);
	if (tracer->scaled_fds[number] < 0) {
		int r = TAKE_FD(tracer->scaled_fds[number]);

		tracer->scaled_fds[number] = TAKE_FD(fd); /* it goes on as it was */
		return r;
	}
	return read_cells(fd, each, arg);
}

void tracer_scaled_end(struct tracer *tracer, unsigned number)
{
	if (tracer->scaled_fds[number] < 0)
		return;
	switch_scaled(tracer, number, false);
	bpf_map_delete_elem(bpf_map__fd(tracer->sched->maps.scaled), &number);
	close(tracer->scaled_fds[number]);
	tracer->scaled_fds[number] = -1;
}
