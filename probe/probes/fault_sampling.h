/* SPDX-License-Identifier: GPL-2.0-only */
/* How page faults are drawn by their size: one of s bytes with the chance 1 - exp(-s / mean), which
 * then weighs s over that chance. So sums are true in the mean, and no fault much larger than the
 * mean is missed. */
#pragma once

#include "bpf/shared/faults.h"

/* For faults of 0 to FAULT_PAGES_MAX pages; `mean` 0: each is taken. */
void fault_sampling_fill(struct fault_chance chances[FAULT_PAGES_MAX + 1], uint32_t page_bytes,
			 uint64_t mean);
