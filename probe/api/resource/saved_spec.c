// SPDX-License-Identifier: GPL-2.0-or-later
#include "api/resource/saved_spec.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/status/status.h"
#include "base/cleanup.h"

#define STARTS "proc_id_start" /* start times of snoopers.proc_id, in clock ticks; 0: none */

cJSON *saved_spec_make(const struct rules *rules, const struct spec *spec)
{
	const struct id_snooper *ids;
	cJSON *root = status_config(rules, spec), *starts = cJSON_AddArrayToObject(root, STARTS);
	size_t count = snoopers_ids(spec->snoopers, &ids);

	for (size_t i = 0; i < count; i++)
		cJSON_AddItemToArray(
			starts,
			cJSON_CreateNumber(ids[i].existed ? (double)ids[i].start_ticks : 0));
	return root;
}

/* Sets the processes meant by ids: those of the time of saving; none after a boot. */
static int set_starts(struct snoopers *snoopers, const cJSON *starts)
{
	size_t count = (size_t)cJSON_GetArraySize(starts), i = 0;
	_cleanup_free_ uint64_t *ticks = calloc(count + 1, sizeof(*ticks));
	const cJSON *start;

	if (!ticks)
		return -ENOMEM;
	cJSON_ArrayForEach (start, starts)
		ticks[i++] =
			cJSON_IsNumber(start) && start->valuedouble > 0 && start->valuedouble < 9e15
				? (uint64_t)start->valuedouble
				: 0;
	snoopers_set_starts(snoopers, ticks, count);
	return 0;
}

int saved_spec_read(const struct rules *rules, const cJSON *kept, bool same_boot, struct spec *spec,
		    char *why, size_t why_bytes)
{
	char message[REQUEST_MESSAGE_MAX];
	char *text = cJSON_PrintUnformatted(kept);
	/*
	 * A server that isn't allowed any more turns off the uploads, not all; folders that can't
	 * be used (any more) lose their files, counted.
	 */
	const struct bounds any = {.roots = {(const char *const[]){"/"}, 1}};
	const cJSON *starts = cJSON_GetObjectItemCaseSensitive(kept, STARTS);

	snprintf(why, why_bytes, "no memory");
	if (!text)
		return -ENOMEM;
	int r = request_parse(text, strlen(text), rules, NULL, &any, spec, NULL, message);
	cJSON_free(text);
	if (r < 0) {
		snprintf(why, why_bytes, "%s", message);
		return r;
	}
	r = set_starts(spec->snoopers, same_boot ? starts : NULL);
	if (r < 0)
		spec_done(spec);
	return r;
}
