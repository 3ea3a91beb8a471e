/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The option --event: which probes are recorded, and events that it names. */
#pragma once

#include "command/record/record_options.h"

/* Adds a probe, or an event: NAME=EVENT, or EVENT alone. Returns GO_ON, or the exit status after
 * printing why. */
int record_probes_take(struct record_options *options, char *part);
