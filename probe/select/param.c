// SPDX-License-Identifier: GPL-2.0-or-later
#include "select/param.h"

#include <stdio.h>
#include <string.h>

static bool is_number(const struct param *param)
{
	return param->type == PARAM_NUMBER || param->type == PARAM_CHOICE;
}

int64_t *param_number(const struct param *param, const void *values)
{
	return (int64_t *)(void *)((char *)values + param->offset);
}

char *param_text(const struct param *param, const void *values)
{
	return (char *)values + param->offset;
}

static void set_default(const struct param *param, void *values)
{
	if (is_number(param))
		*param_number(param, values) = param->number;
	else if (param->type != PARAM_EVENTS) /* there is none at first */
		snprintf(param_text(param, values), param->bytes, "%s", param->text);
}

void params_default_rows(const struct param *rows, void *values)
{
	for (; rows && rows->name; rows++)
		set_default(rows, values);
}

void params_default(const struct param_table *of, struct params *params)
{
	*params = (struct params){0};
	for (size_t i = 0; i < of->count; i++)
		set_default(&of->rows[i], params);
}

static bool is_equal(const struct param *param, const struct params *a, const struct params *b)
{
	if (is_number(param))
		return *param_number(param, a) == *param_number(param, b);
	if (param->type == PARAM_EVENTS)
		return memcmp(param_text(param, a), param_text(param, b), param->bytes) == 0;
	return strcmp(param_text(param, a), param_text(param, b)) == 0;
}

bool params_equal(const struct param_table *table, enum param_scope scope, const struct params *a,
		  const struct params *b)
{
	for (size_t i = 0; i < table->count; i++) {
		if (table->rows[i].scope == scope && !is_equal(&table->rows[i], a, b))
			return false;
	}
	return true;
}

bool param_shown(const struct param_table *of, const struct param *param,
		 const struct params *params)
{
	if (param->alias)
		return false;
	if (param->instead_of)
		return *param_number(param, params) != param->number;
	for (size_t i = 0; i < of->count; i++) {
		const struct param *other = &of->rows[i];

		if (other->instead_of && strcmp(other->instead_of, param->name) == 0 &&
		    *param_number(other, params) != other->number)
			return false;
	}
	return true;
}
