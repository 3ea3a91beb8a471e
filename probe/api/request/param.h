/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * THE TABLES of parameters, one for each feature: name, type, range, default and where it lies in
 * struct params. Checking, merging and showing all go by them; a new parameter is a new row (and
 * its line in the feature's document).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "select/spec.h"

enum param_type {
	PARAM_NUMBER, /* int64_t */
	PARAM_FOLDER, /* char[bytes], a folder for output */
	PARAM_SERVER, /* char[bytes], a server for uploads */
	PARAM_CHOICE, /* int64_t: which of `choices`; in bodies its text */
};

struct param {
	const char *name;
	enum param_type type;
	size_t offset; /* in struct params */
	size_t bytes;  /* of a text */
	int64_t min, max;
	int64_t number; /* default */
	const char *text;
	const char *const *choices; /* up to a NULL */
	/* The name of another row that this one takes the place of: one body may have one of them,
	 * the one that was set last counts, only that one is shown. At its default this one is
	 * unset. */
	const char *instead_of;
	bool zero_is_default;
	bool alias; /* of another row: taken, not shown */
};

struct param_table {
	const struct param *rows;
	size_t count;
};

extern const struct param_table flamegraph_params, sched_params;

/* The text of a choice: `params.java_source` … */
const char *java_source_name(enum java_source source);
const char *pyroscope_api_name(enum pyroscope_api api);

void params_default(const struct param_table *table, struct params *params);

/* Whether its number is shown: neither unset, nor taken the place of. */
bool param_shown(const struct param_table *table, const struct param *param,
		 const struct params *params);

int64_t *param_number(const struct param *param, const struct params *params);
char *param_text(const struct param *param, const struct params *params);
