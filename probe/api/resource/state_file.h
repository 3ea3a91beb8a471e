/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What survives a restart: the configuration of each feature, in <state_dir>/state.json (ours
 * alone, mode 0600), written anew at each PUT that took effect:
 *
 *	{ "boot_id": "…", "features": { "flamegraph": { …what its saved() made… } } }
 */
#pragma once

#include "api/feature/feature.h"

/* Writes it; without a state_dir nothing. What fails is logged. */
void state_save(const struct services *services);

/* Applies it to the features. A file that isn't there is fine; what can't be applied is logged and
 * left out. */
void state_restore(const struct services *services);

/* Applies the lines `<feature> <json>` of a file, as PUTs; empty lines and those that begin with
 * `#` are skipped. A file that isn't there is fine; a line that is refused is logged. */
void state_apply_init(const struct services *services, const char *path);
