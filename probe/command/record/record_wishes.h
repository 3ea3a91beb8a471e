/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the arguments of `record` say in the words of a PUT: who is recorded by name, container or
 * cgroup, and parameters. They are put together as a PUT's body and read by its parser, so that
 * both have the same rules.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "select/spec.h"

struct record_wish;

struct record_wishes {
	struct record_wish *list; /* owned; its texts are the arguments' */
	size_t count, capacity;
};

/* Add an argument's value. Return 0, or an exit status after printing why. */
int record_wishes_all(struct record_wishes *wishes);
int record_wishes_name(struct record_wishes *wishes, const char *pattern);
int record_wishes_cgroup(struct record_wishes *wishes, const char *path);
int record_wishes_container(struct record_wishes *wishes, const char *name_or_id);
int record_wishes_set(struct record_wishes *wishes, const char *key_and_value);

/* Returns whether they choose processes; whether they set that param. */
bool record_wishes_choose(const struct record_wishes *wishes);
bool record_wishes_have(const struct record_wishes *wishes, const char *param);

/* Makes the spec, with defaults for what wasn't said; spec_done() frees it. Returns 0, or an exit
 * status after printing why. */
int record_wishes_spec(const struct record_wishes *wishes, struct spec *spec);

/* Prints which params that are set are of no recorded probe (`probes`: 1 << enum probe). */
void record_wishes_warn(const struct record_wishes *wishes, uint32_t probes);
void record_wishes_done(struct record_wishes *wishes);
