/* SPDX-License-Identifier: GPL-2.0-only */
/* The proof that the built probes work here: the daemon's own programs sample this very process. */
#pragma once

#include "capability/capability.h"

/*
 * Takes an on-CPU profile of the calling process, which burns a tenth of a second of CPU time
 * meanwhile. Yes: samples came, and a function of ours has its name in them. To be called in a
 * process of its own, which may be given up: it starts threads.
 */
void self_profile(struct finding *finding);
