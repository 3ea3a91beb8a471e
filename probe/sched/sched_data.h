/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Data that a probe of /sched has measured in some time: histograms, lengths, or events. Plain
 * data.
 */
#pragma once

#include <stddef.h>

#include "base/cleanup.h"
#include "sched/sched_kind.h"
#include "sched/slow_log.h"
#include "hooks/tracer_sched.h"

struct cpu_lengths {
	unsigned cpu;
	struct lengths lengths;
};

/* Scale of a measurement, if not powers of two of us. */
struct sched_scale {
	uint32_t unit_us; /* 1: us, 1000: ms; 0: the measurement isn't scaled */
	uint32_t step;	  /* width of a cell, units; 0: powers of two of the unit */
};

struct sched_data {
	enum sched_probe probe;
	enum group_by group_by;
	uint64_t from_ns, until_ns; /* ns since 1970 */
	uint64_t slow_ns;	    /* threshold of the events */
	struct sched_scale scale;

	/* The data; which of the four depends on the form (sched_form()) and the scale. */
	struct hist_row *rows;	 /* sorted by group */
	struct hist_cell *cells; /* of a scaled measurement, sorted by group and cell */
	struct cpu_lengths *lengths;
	struct slow_entry *events; /* oldest first, with references to containers */
	size_t count, room;
	uint64_t missed; /* events of that time that are lost */
	/* Values of that time that found no room, of all measurements that ran; events that found
	 * none in the ring. */
	uint64_t refused;
};

void sched_data_done(struct sched_data *data);
#define _cleanup_sched_data_ _cleanup_(sched_data_done)

/*
 * Reads what a probe has counted since it was turned on; no events, which are in the log. Returns
 * 0, -ENOMEM or a negative errno of reading.
 */
int sched_data_read(struct sched_data *data, struct tracer *tracer);

/* Reads what a scaled measurement of the probe has counted since its begin. Errors as
 * tracer_scaled_read(). */
int sched_data_read_scaled(struct sched_data *data, struct tracer *tracer, uint64_t number);

/* Adds the events from number `from` on. Returns 0 or -ENOMEM. */
int sched_data_add_events(struct sched_data *data, const struct slow_log *log, uint64_t from);

/* Copies the rows, cells or lengths of `from` to *to, which has none. Returns 0 or -ENOMEM. */
int sched_data_copy(struct sched_data *to, const struct sched_data *from);

/* Subtracts what had been counted before. Groups that have counted nothing since are removed. */
void sched_data_subtract(struct sched_data *data, const struct sched_data *before);

/* Returns how many events or values the data stand for, those that are lost included. */
uint64_t sched_data_count(const struct sched_data *data);

/* Return the first value of a cell, in units of its scale; the first behind it. */
uint64_t scale_from(const struct sched_scale *scale, uint64_t cell);
uint64_t scale_until(const struct sched_scale *scale, uint64_t cell);

/* Returns the place of the first cell behind the group of cell `i`. */
size_t sched_data_group_end(const struct sched_data *data, size_t i);

/* Return the number of counted values. */
uint64_t hist_count(const struct hist *hist);

/*
 * Returns the upper end, us, of the slot below which that part of `count`, all events, lies; 0: it
 * is the open one.
 */
uint64_t hist_bound_us(const struct hist *hist, uint64_t count, double part);
uint64_t lengths_count(const struct lengths *lengths);

/* Sum up all groups; all CPUs. */
void sched_data_sum(const struct sched_data *data, struct hist *sum);
void sched_data_sum_lengths(const struct sched_data *data, struct lengths *sum);
