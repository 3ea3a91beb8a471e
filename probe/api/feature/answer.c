// SPDX-License-Identifier: GPL-2.0-or-later
#include "api/feature/answer.h"

#include <cjson/cJSON.h>

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
