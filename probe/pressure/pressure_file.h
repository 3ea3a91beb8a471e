/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's files of pressure: /proc/pressure/RESOURCE of the whole host, RESOURCE.pressure of a
 * cgroup below the v2 hierarchy. They are the kernel's own and never hang. Any thread.
 */
#pragma once

#include "base/why.h"
#include "pressure/pressure_text.h"

/*
 * Opens the file for reading. Returns a descriptor, which the caller owns, or a negative errno and
 * a sentence in `why`: -EOPNOTSUPP: this kernel doesn't measure that, or is told not to; -ENOENT:
 * there is no such cgroup; others.
 */
int pressure_file_open(const struct pressure_text *text, struct why *why);

/*
 * Opens the file with the kernel's trigger set: poll() tells POLLPRI when it fires, and POLLERR
 * once its cgroup is removed. Returns a descriptor, or a negative errno with why not in `why`, some
 * words.
 */
int pressure_file_arm(const struct pressure_text *text, struct why *why);

/*
 * Reads the sum of all stalls, us. Returns 0, or a negative errno and a sentence: -EOPNOTSUPP as
 * above; -ENODEV: its cgroup was removed.
 */
int pressure_file_read(int fd, const struct pressure_text *text, uint64_t *total_us,
		       struct why *why);
