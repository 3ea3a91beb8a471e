// SPDX-License-Identifier: GPL-2.0-only
#include "api/feature/feature.h"

#include <string.h>
#include <strings.h>

#include "api/resource/flamegraph.h"
#include "api/resource/puts.h"
#include "api/resource/sched.h"
#include "base/cleanup.h"

static const struct feature features[] = {
	{"flamegraph", flamegraph_put, flamegraph_get, flamegraph_fetch, flamegraph_need,
	 flamegraph_saved, flamegraph_restore},
	{"sched", sched_put, sched_get, sched_fetch, sched_need, sched_saved, sched_restore},
};

void services_forget(const struct services *services, const void *arg)
{
	puts_forget(services->puts, arg);
	engine_forget(services->engine, arg);
}

size_t features_table(const struct feature **rows)
{
	*rows = features;
	return ARRAY_SIZE(features);
}

const struct feature *feature_find(const char *name, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(features); i++) {
		if (strlen(features[i].name) == len &&
		    strncasecmp(features[i].name, name, len) == 0)
			return &features[i];
	}
	return NULL;
}

void answer_failed(struct answer *answer, unsigned status, const char *message)
{
	cJSON *text = cJSON_CreateString(message);
	char *quoted = text ? cJSON_PrintUnformatted(text) : NULL;

	answer->status = status;
	answer->content_type = "application/json";
	answer->body.len = 0;
	buf_str(&answer->body, "{ \"result\": \"failed\", \"message\":");
	buf_str(&answer->body, quoted ? quoted : "\"no memory\"");
	buf_str(&answer->body, " }\n");
	cJSON_free(quoted);
	cJSON_Delete(text);
}

void answer_taken(struct answer *answer)
{
	answer->status = 200;
	answer->content_type = "application/json";
	buf_str(&answer->body,
		"{ \"result\": \"success\", \"message\":\"New config takes effect\" }\n");
}
