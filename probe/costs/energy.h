/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The energy that the host's processors have used, as RAPL counts it (Documentation/power/powercap
 * in the kernel): of each package and its cores, of the memory. Read at most every ENERGY_EVERY_NS,
 * whoever asks: finer readings tell what code computes (CVE-2020-8694). Loop thread only; a reading
 * takes some 10 us a zone.
 */
#pragma once

#include <stdint.h>

#define ENERGY_ROOT	"/sys/class/powercap"
#define ENERGY_ZONES	32
#define ENERGY_NAME	32
#define ENERGY_EVERY_NS (10ULL * 1000 * 1000 * 1000)

/* Sums since the first reading; or, subtracted, of the time between two readings. */
struct energy_counts {
	uint64_t time_ns; /* of the reading, CLOCK_MONOTONIC; 0: there was none */
	unsigned count;
	struct energy_zone_count {
		char name[ENERGY_NAME]; /* "package-0", "package-0/dram" */
		uint64_t uj;		/* microjoules */
	} zones[ENERGY_ZONES];
};

struct energy;

/* Finds the zones below `root`; the caller owns *ret. Returns 0; -ENOENT: there are none; another
 * negative errno. */
int energy_open(struct energy **ret, const char *root);
void energy_close(struct energy *energy);

/* Reads the counters, unless the last reading is too young. A zone that can't be read keeps its
 * sum. */
void energy_read(struct energy *energy, uint64_t now_ns);

/* Returns what the last reading found, borrowed. */
const struct energy_counts *energy_counts(const struct energy *energy);

/* Subtracts an earlier reading; time_ns becomes the time between both, 0: there is none. */
void energy_subtract(struct energy_counts *counts, const struct energy_counts *before);

/* Returns the energy of all packages, uJ. */
uint64_t energy_of_packages(const struct energy_counts *counts);
