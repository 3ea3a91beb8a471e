/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * State file: the configuration of each feature, which survives a restart, in
 * <state_dir>/state.json (ours alone, mode 0600). Written anew at each PUT that took effect:
 *
 *	{ "boot_id": "…", "features": { "flamegraph": { …what its save() added… } } }
 */
#pragma once

#include "api/feature/feature.h"

/*
 * Returns the probes (1 << enum probe, WANTED_SCHED) that state_apply_init() of the file `init`
 * and, if `restores`, state_restore() will begin.
 */
uint32_t state_begins(const struct services *services, const char *init, bool restores);

/* Writes the file; does nothing without a state_dir. Failures are logged. */
void state_save(const struct services *services);

/*
 * Restores the features from the file. A missing file is fine; what can't be restored is logged and
 * left out.
 */
void state_restore(const struct services *services);

/*
 * Applies the lines `<feature> <json>` of a file as PUTs; empty lines and lines that begin with `#`
 * are skipped. A missing file is fine; a refused line is logged.
 */
void state_apply_init(const struct services *services, const char *path);
