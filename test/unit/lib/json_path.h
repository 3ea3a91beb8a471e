/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Values in a JSON text, by paths: "status.processes.0.comm". */
#pragma once

#include "unit/lib/unit.h"

#include <cjson/cJSON.h>

/* Prints the value at a path without blanks; the caller frees it. NULL: there is none. */
static inline char *json_at(const char *text, const char *path)
{
	cJSON *root = cJSON_Parse(text);
	const cJSON *at = root;
	char name[64];

	if (!root)
		fail_msg("no JSON: %.300s", text);
	for (const char *from = path; at && *from;) {
		size_t len = strcspn(from, ".");

		snprintf(name, sizeof(name), "%.*s", (int)len, from);
		at = cJSON_IsArray(at) ? cJSON_GetArrayItem(at, atoi(name))
				       : cJSON_GetObjectItemCaseSensitive(at, name);
		from += len + (from[len] == '.');
	}
	char *printed = at ? cJSON_PrintUnformatted(at) : NULL;
	char *value = printed ? strdup(printed) : NULL;
	cJSON_free(printed);
	cJSON_Delete(root);
	return value;
}

/* The value at a path, as JSON: "1", "\"text\"", "null", "[1,2]". */
static inline void assert_json_at(const char *text, const char *path, const char *expected)
{
	_cleanup_free_ char *value = json_at(text, path);

	if (!value)
		fail_msg("nothing at %s in: %.2000s", path, text);
	if (strcmp(value, expected) != 0)
		fail_msg("%s is %s, not %s", path, value, expected);
}
