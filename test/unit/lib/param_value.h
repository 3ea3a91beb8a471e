/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Params of /flamegraph by their names, those of the probes among them. */
#pragma once

#include "unit/lib/unit.h"

#include "session/session_params.h"

/* Returns where the number or choice of that name lies in `params`. */
static inline int64_t *param_value(const struct params *params, const char *name)
{
	const struct param_table *table = flamegraph_params();
	size_t i = 0;

	while (i < table->count && strcmp(table->rows[i].name, name) != 0)
		i++;
	assert_true(i < table->count);
	return param_number(&table->rows[i], params);
}

/* Sets a choice by its text. */
static inline void param_choose(const struct params *params, const char *name, const char *text)
{
	const struct param_table *table = flamegraph_params();
	size_t i = 0;
	int64_t n = 0;

	while (i < table->count && strcmp(table->rows[i].name, name) != 0)
		i++;
	assert_true(i < table->count);
	while (table->rows[i].choices[n] && strcmp(table->rows[i].choices[n], text) != 0)
		n++;
	assert_non_null(table->rows[i].choices[n]);
	*param_number(&table->rows[i], params) = n;
}
