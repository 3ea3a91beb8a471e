/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * THE TABLE of parameters: name, type, range, default and where it lies in struct params. Checking,
 * merging and showing all go by it; a new parameter is a new row (and its line in doc/api.md).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "profile/spec.h"

enum param_type {
	PARAM_NUMBER, /* int64_t */
	PARAM_TEXT,   /* char[bytes] */
	PARAM_FOLDER, /* char[bytes], a folder for output */
};

struct param {
	const char *name;
	enum param_type type;
	size_t offset; /* in struct params */
	size_t bytes;  /* of a text */
	int64_t min, max;
	int64_t number; /* default */
	const char *text;
	bool zero_is_default;
	bool alias;   /* of another row: taken, not shown */
	bool missing; /* of a later version */
};

/* All rows; the count. */
size_t params_table(const struct param **rows);

void params_default(struct params *params);

int64_t *param_number(const struct param *param, const struct params *params);
char *param_text(const struct param *param, const struct params *params);
