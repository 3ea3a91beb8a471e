/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Self test of on-CPU profiling, for `doctor`: the daemon's own BPF programs sample this
 * process. */
#pragma once

#include "capability/capability.h"

/*
 * Takes an on-CPU profile of the calling process, which burns 0.1 s of CPU time meanwhile.
 * FINDING_YES: there are samples, and a function of ours has its name in them; FINDING_LIMITED: no
 * function has its name; FINDING_NO: failed. To be called in a child that may be given up: it
 * starts threads.
 */
void self_profile(struct finding *finding);
