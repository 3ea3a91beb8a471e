// SPDX-License-Identifier: GPL-2.0-or-later
#include "api/status/saved_spec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api/status/status.h"
#include "base/cleanup.h"

#define STARTS "proc_id_start" /* start times of snoopers.proc_id, in clock ticks; 0: none */

void saved_spec_write(struct json *json, const struct rules *rules, const struct spec *spec)
{
	const struct id_snooper *ids;

	if (!spec)
		return;
	json_object(json, rules->feature);
	status_config(json, rules, spec);
	json_array(json, STARTS);
	for (size_t i = 0, count = snoopers_ids(spec->snoopers, &ids); i < count; i++)
		json_u64(json, NULL, ids[i].existed ? ids[i].start_ticks : 0);
	json_array_end(json);
	json_object_end(json);
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

int spec_read_unbounded(const struct rules *rules, char *data, size_t bytes, struct spec *spec,
			struct why *why)
{
	const struct bounds any = {.roots = {(const char *const[]){"/"}, 1}};

	return request_parse(data, bytes, rules, NULL, &any, spec, NULL, NULL, why);
}

int saved_spec_read(const struct rules *rules, const cJSON *kept, bool same_boot, struct spec *spec,
		    struct why *why)
{
	char *text = cJSON_PrintUnformatted(kept);
	const cJSON *starts = cJSON_GetObjectItemCaseSensitive(kept, STARTS);

	why_set(why, "no memory");
	if (!text)
		return -ENOMEM;
	int r = spec_read_unbounded(rules, text, strlen(text), spec, why);
	cJSON_free(text);
	if (r < 0)
		return r;
	r = set_starts(spec->snoopers, same_boot ? starts : NULL);
	if (r < 0)
		spec_done(spec);
	return r;
}
