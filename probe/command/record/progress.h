/* SPDX-License-Identifier: GPL-2.0-only */
/* One line on a terminal that says how far a recording has come, drawn over itself. */
#pragma once

#include <stdint.h>

struct progress {
	int columns; /* drawn and not erased; 0: none */
};

/* Nothing where standard error is no terminal, or another job has it, or a full-screen program. */
void progress_draw(struct progress *progress, uint64_t seconds, uint64_t samples, uint64_t lost);

void progress_erase(struct progress *progress);
