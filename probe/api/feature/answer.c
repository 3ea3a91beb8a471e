// SPDX-License-Identifier: GPL-2.0-or-later
#include "api/feature/answer.h"

#include "base/json.h"
#include "base/log.h"

static void add_warnings(struct json *json, const struct notes *notes)
{
	if (!notes->count)
		return;
	json_array(json, "warnings");
	for (unsigned i = 0; i < notes->count && i < WARNINGS_MAX; i++)
		json_text(json, NULL, notes->warnings[i]);
	if (notes->count > WARNINGS_MAX)
		json_text(json, NULL, "and more");
	json_array_end(json);
}

void answer_failed(struct answer *answer, unsigned status, const char *message)
{
	struct json json = {.out = &answer->body};

	answer->status = status;
	answer->content_type = "application/json";
	answer->body.len = 0;
	answer->body.error = 0; /* of an answer that found no memory */
	answer->is_gzip = false;
	answer->etag[0] = '\0';
	answer->policy = NULL;
	buf_str(&answer->body, "{ \"result\": \"failed\", \"message\":");
	json_text(&json, NULL, message);
	if (status == 400)
		json_text(&json, "detail",
			  answer->notes.detail[0] ? answer->notes.detail : message);
	add_warnings(&json, &answer->notes);
	buf_str(&answer->body, " }\n");
}

void answer_log_warnings(const struct answer *answer, const char *what)
{
	for (unsigned i = 0; i < answer->notes.count && i < WARNINGS_MAX; i++)
		log_warn("%s: %s", what, answer->notes.warnings[i]);
}

void answer_taken(struct answer *answer)
{
	struct json json = {.out = &answer->body, .has_value = true};

	answer->status = 200;
	answer->content_type = "application/json";
	buf_str(&answer->body,
		"{ \"result\": \"success\", \"message\":\"New config takes effect\"");
	add_warnings(&json, &answer->notes);
	buf_str(&answer->body, " }\n");
}
