/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sampling of page faults by size. A fault of s bytes is drawn with probability 1 - exp(-s / mean),
 * and then weighs s divided by that. So sums are right in the mean, and no fault much larger than
 * the mean is missed.
 */
#pragma once

#include "bpf/shared/faults.h"

/*
 * Fills in the table for faults of 0 to FAULT_PAGES_MAX pages; `mean` is in bytes, 0: each fault is
 * taken.
 */
void fault_sampling_fill(struct fault_chance chances[FAULT_PAGES_MAX + 1], uint32_t page_bytes,
			 uint64_t mean);
