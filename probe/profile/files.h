/* SPDX-License-Identifier: GPL-2.0-only */
/* Writes a profile's files: one for all, or one for each process; one after the other. */
#pragma once

#include <stdint.h>

#include "base/worker.h"
#include "output/store.h"
#include "profile/profile.h"
#include "profile/spec.h"

struct files_setup {
	struct worker *bulk;	/* renders */
	struct worker *foreign; /* writes: that can hang */
	struct store_roots roots;
	const char *host;
};

struct files_result {
	uint64_t written, failed;
};

/*
 * A profile without weight makes no file. done() is called on the loop's thread; a reference to the
 * profile is held until then. Failures are logged and counted. -ENOMEM: done() won't be called.
 */
int files_write(const struct files_setup *setup, struct profile *profile,
		const struct params *params,
		void (*done)(void *arg, const struct files_result *result), void *arg);
