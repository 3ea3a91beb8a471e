// SPDX-License-Identifier: GPL-2.0-or-later
#include "api/feature/answer.h"

#include "base/json.h"

void answer_failed(struct answer *answer, unsigned status, const char *message)
{
	struct json json = {.out = &answer->body};

	answer->status = status;
	answer->content_type = "application/json";
	answer->body.len = 0;
	answer->body.error = 0; /* of an answer that found no memory */
	buf_str(&answer->body, "{ \"result\": \"failed\", \"message\":");
	json_text(&json, NULL, message);
	buf_str(&answer->body, " }\n");
}

void answer_taken(struct answer *answer)
{
	answer->status = 200;
	answer->content_type = "application/json";
	buf_str(&answer->body,
		"{ \"result\": \"success\", \"message\":\"New config takes effect\" }\n");
}
