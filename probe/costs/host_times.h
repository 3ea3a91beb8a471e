/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How the host's CPUs have spent the time in which no process ran, since the boot. Any thread. */
#pragma once

#include <stdint.h>

struct host_times {
	uint64_t idle_ns;	/* nothing to do */
	uint64_t iowait_ns;	/* nothing to do but to wait for a disk */
	uint64_t interrupts_ns; /* interrupts and softirqs; whose kernel counts them by ticks has
				   them in processes' times as well */
	uint64_t steal_ns;	/* the host of this virtual machine had the CPU */
	uint64_t cpus;		/* online now */
};

/* Reads /proc/stat, whose unit is 10 ms. Returns 0 or a negative errno. */
int host_times_read(struct host_times *times);

/* Parses its text, which ends with a NUL. Returns 0 or -EBADMSG. */
int host_times_parse(const char *text, struct host_times *times);

/* Subtracts earlier times; a CPU that went and came back may have less. */
void host_times_subtract(struct host_times *times, const struct host_times *before);
