/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * THE TABLES of parameters, one for each feature: name, type, range, default, and the place in
 * struct params. Checking, merging and showing all follow these tables; a new parameter is a new
 * row (and a line in the feature's document).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "select/spec.h"

enum param_type {
	PARAM_NUMBER, /* int64_t */
	PARAM_FOLDER, /* char[bytes], a folder for output */
	PARAM_SERVER, /* char[bytes], a server for uploads */
	PARAM_CHOICE, /* int64_t: number of an entry of `choices`; in bodies the entry's text */
};

struct param {
	const char *name;
	enum param_type type;
	size_t offset; /* offset in struct params */
	size_t bytes;  /* size of a text, bytes */
	int64_t min, max;
	int64_t number; /* default of a number or a choice */
	const char *text;
	const char *const *choices; /* texts of the choices; a NULL ends them */
	/* Name of another row that this row replaces. One body may have one of the two; the one
	 * that was set last counts, and only that one is shown. At its default, this row is
	 * unset. */
	const char *instead_of;
	bool zero_is_default;
	bool alias; /* another name of a row: accepted, not shown */
};

struct param_table {
	const struct param *rows;
	size_t count;
};

extern const struct param_table flamegraph_params, sched_params;

/* Return the text of a choice. Static text. */
const char *java_source_name(enum java_source source);
const char *pyroscope_api_name(enum pyroscope_api api);

/* Sets all params of the table to their defaults, and the rest to 0. */
void params_default(const struct param_table *table, struct params *params);

/* Returns whether a parameter is shown: it is no alias, is not unset, and no other row replaces
 * it. */
bool param_shown(const struct param_table *table, const struct param *param,
		 const struct params *params);

/* Return where the value of a parameter lies in `params`, as a number or a text. */
int64_t *param_number(const struct param *param, const struct params *params);
char *param_text(const struct param *param, const struct params *params);
