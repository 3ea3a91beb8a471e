/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Looks whether there is an event that somebody named, before it is watched: tracepoints in the
 * kernel's types, functions in /proc/kallsyms, functions and static probes in the host's file. What
 * only a container's file may have isn't looked for. May hang: in a job.
 */
#pragma once

#include "event/event_text.h"

/* Returns 0: there is one, or nobody can say; -ENOENT: there is none. Then `message` says so in a
 * sentence, and `detail` what may have been meant. */
int event_check(const struct event_text *event, struct why *message, struct why *detail);
