// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/record/record_wishes.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/resource/flamegraph.h"
#include "base/cleanup.h"
#include "base/grow.h"
#include "base/json.h"
#include "command/command.h"
#include "command/put_words.h"
#include "kind/kind.h"
#include "output/text/near_word.h"
#include "session/session_params.h"

#define NAMES_MAX 128
#define KEY_BYTES 64
#define ID_DIGITS 12 /* of a container's id, at least */

/* Params of a PUT that mean something here; those of the probes do, too. */
static const char *const own_params[] = {
	"perf_sample_period", "frequency", "native_stack", "thread_frame", "frame_detail",
	"max_overhead",	      "icicle",	   "event_time",   "event_min_us"};

enum wish_kind { WISH_NAME, WISH_CGROUP, WISH_CONTAINER_ID, WISH_CONTAINER_NAME, WISH_PARAM };

/* Keys of a PUT's snoopers. */
static const char *const wish_keys[WISH_PARAM] = {
	[WISH_NAME] = "proc_name",
	[WISH_CGROUP] = "cgroup",
	[WISH_CONTAINER_ID] = "container_id",
	[WISH_CONTAINER_NAME] = "container_name",
};

/* An argument's value; of a param "KEY=VALUE". */
struct record_wish {
	enum wish_kind kind;
	const char *text;
};

static int no_memory(void)
{
	fputs("stackprobe: no memory\n", stderr);
	return EXIT_FAILED;
}

static int add_wish(struct record_wishes *wishes, enum wish_kind kind, const char *text)
{
	if (array_grow(wishes->list, wishes->capacity, wishes->count + 1, 8) < 0)
		return no_memory();
	wishes->list[wishes->count++] = (struct record_wish){kind, text};
	return 0;
}

int record_wishes_name(struct record_wishes *wishes, const char *pattern)
{
	return add_wish(wishes, WISH_NAME, pattern);
}

int record_wishes_all(struct record_wishes *wishes)
{
	return add_wish(wishes, WISH_NAME, ".");
}

int record_wishes_cgroup(struct record_wishes *wishes, const char *path)
{
	return add_wish(wishes, WISH_CGROUP, path);
}

int record_wishes_container(struct record_wishes *wishes, const char *name_or_id)
{
	size_t digits = strspn(name_or_id, "0123456789abcdef");
	bool is_id = digits >= ID_DIGITS && !name_or_id[digits];

	return add_wish(wishes, is_id ? WISH_CONTAINER_ID : WISH_CONTAINER_NAME, name_or_id);
}

/* Lists the params that may be set. Returns how many. */
static size_t list_params(const char *names[NAMES_MAX])
{
	size_t count = 0;

	for (size_t i = 0; i < ARRAY_SIZE(own_params); i++)
		names[count++] = own_params[i];
	for (int probe = 0; probe < PROBE_COUNT; probe++) {
		const struct param *row = kind_get(probe)->params;

		for (; row && row->name && count < NAMES_MAX; row++)
			names[count++] = row->name;
	}
	return count;
}

static int unknown_param(const char *key, const char *const *names, size_t count)
{
	const char *meant = near_word(key, names, count);

	fprintf(stderr, "stackprobe: --set has no parameter %s", key);
	if (meant)
		fprintf(stderr, " (is it %s?)", meant);
	fputs("; there are", stderr);
	for (size_t i = 0; i < count; i++)
		fprintf(stderr, "%s %s", i ? "," : "", names[i]);
	fputc('\n', stderr);
	return usage_hint();
}

int record_wishes_set(struct record_wishes *wishes, const char *key_and_value)
{
	const char *equals = strchr(key_and_value, '=');
	const char *names[NAMES_MAX];
	size_t count = list_params(names);
	char key[KEY_BYTES];

	if (!equals || equals - key_and_value >= KEY_BYTES)
		return usage_error("--set takes KEY=VALUE", key_and_value);
	snprintf(key, sizeof(key), "%.*s", (int)(equals - key_and_value), key_and_value);
	for (size_t i = 0; i < count; i++) {
		if (strcmp(names[i], key) == 0)
			return add_wish(wishes, WISH_PARAM, key_and_value);
	}
	return unknown_param(key, names, count);
}

bool record_wishes_choose(const struct record_wishes *wishes)
{
	for (size_t i = 0; i < wishes->count; i++) {
		if (wishes->list[i].kind != WISH_PARAM)
			return true;
	}
	return false;
}

bool record_wishes_have(const struct record_wishes *wishes, const char *param)
{
	size_t len = strlen(param);

	for (size_t i = 0; i < wishes->count; i++) {
		const struct record_wish *wish = &wishes->list[i];

		if (wish->kind == WISH_PARAM && strncmp(wish->text, param, len) == 0 &&
		    wish->text[len] == '=')
			return true;
	}
	return false;
}

/* Writes a param: a number where all of the text is one, else a text. */
static void put_param(struct json *json, const char *key_and_value)
{
	const char *equals = strchr(key_and_value, '=');
	char key[KEY_BYTES], *end;
	double number = strtod(equals + 1, &end);

	snprintf(key, sizeof(key), "%.*s", (int)(equals - key_and_value), key_and_value);
	if (isdigit((unsigned char)equals[1]) && !*end && isfinite(number))
		json_double(json, key, number);
	else
		json_text(json, key, equals + 1);
}

static void put_wishes(struct json *json, const struct record_wishes *wishes, enum wish_kind kind)
{
	json_array(json, wish_keys[kind]);
	for (size_t i = 0; i < wishes->count; i++) {
		if (wishes->list[i].kind != kind)
			continue;
		if (kind == WISH_NAME) {
			json_object(json, NULL);
			json_text(json, "comm", wishes->list[i].text);
			json_object_end(json);
		} else {
			json_text(json, NULL, wishes->list[i].text);
		}
	}
	json_array_end(json);
}

/* Writes the body of a PUT. */
static void put_body(struct buf *out, const struct record_wishes *wishes)
{
	struct json json = {.out = out};

	json_object(&json, NULL);
	json_object(&json, "snoopers");
	for (int kind = 0; kind < WISH_PARAM; kind++)
		put_wishes(&json, wishes, kind);
	json_object_end(&json);
	json_object(&json, "params");
	for (size_t i = 0; i < wishes->count; i++) {
		if (wishes->list[i].kind == WISH_PARAM)
			put_param(&json, wishes->list[i].text);
	}
	json_object_end(&json);
	json_object_end(&json);
}

int record_wishes_spec(const struct record_wishes *wishes, struct spec *spec)
{
	_cleanup_buf_ struct buf body = BUF_INIT(REQUEST_BODY_MAX);
	struct rules rules = flamegraph_rules;

	put_body(&body, wishes);
	rules.everybody = true; /* a command, or pids, may be chosen instead */
	return put_words_read(&body, &rules, spec);
}

/* Returns the name of a probe that has the param; NULL: it is no probe's, or a recorded one's. */
static const char *unrecorded_owner(const char *key, size_t len, uint32_t probes)
{
	const char *owner = NULL;

	for (int probe = 0; probe < PROBE_COUNT; probe++) {
		const struct param *row = kind_get(probe)->params;

		for (; row && row->name; row++) {
			if (strncmp(row->name, key, len) != 0 || row->name[len])
				continue;
			if (probes & 1u << probe)
				return NULL;
			owner = kind_get(probe)->name;
		}
	}
	return owner;
}

void record_wishes_warn(const struct record_wishes *wishes, uint32_t probes)
{
	for (size_t i = 0; i < wishes->count; i++) {
		const char *key = wishes->list[i].text;
		size_t len = strcspn(key, "=");
		const char *owner = wishes->list[i].kind == WISH_PARAM
					    ? unrecorded_owner(key, len, probes)
					    : NULL;

		if (owner)
			fprintf(stderr, "stackprobe: %.*s is of %s, which isn't recorded\n",
				(int)len, key, owner);
	}
}

void record_wishes_done(struct record_wishes *wishes)
{
	free(wishes->list);
	*wishes = (struct record_wishes){0};
}
