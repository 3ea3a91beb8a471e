/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The option --view: which view of a probe is recorded. */
#pragma once

#include "command/record/record_options.h"

#define GO_ON (-1) /* no exit code: the command goes on */

/* Both return GO_ON or an exit code. Keeps the name, if a probe has such a view. */
int record_view_take(struct record_options *options, const char *name);

/* Finds the view, when all probes are known. */
int record_view_choose(struct record_options *options);

/* Returns the view that is recorded of a probe: VIEW_ALL, if it lacks the one that was asked for.
 */
enum view record_view_of(const struct record_options *options, enum probe probe);
