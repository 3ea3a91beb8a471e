// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/top/top_reading.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "costs/cost_kind.h"

static void delete_json(cJSON **json)
{
	cJSON_Delete(*json);
}

static double number_of(const cJSON *object, const char *key)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);

	return cJSON_IsNumber(item) && item->valuedouble > 0 ? item->valuedouble : 0;
}

static uint64_t count_of(const cJSON *object, const char *key)
{
	double number = number_of(object, key);

	return number < 0x1p63 ? (uint64_t)number : 0;
}

/* Copies a text, what a terminal may show of it. */
static void copy_text(char to[OWNER_BYTES], const cJSON *item)
{
	const char *text = cJSON_GetStringValue(item);
	size_t len = 0;

	for (; text && text[len] && len + 1 < OWNER_BYTES; len++)
		to[len] = text[len] >= ' ' && text[len] < 0x7f ? text[len] : '?';
	to[len] = '\0';
}

static void copy_member(char to[OWNER_BYTES], const cJSON *object, const char *key)
{
	copy_text(to, cJSON_GetObjectItemCaseSensitive(object, key));
}

static void read_costs(struct top_cost *cost, const cJSON *row)
{
	for (int i = 0; i < COSTS; i++)
		cost->costs.of[i] = count_of(row, cost_name(i));
}

/* Adds a part of a name behind those that are there. */
static void add_part(char name[OWNER_BYTES], const cJSON *row, const char *key)
{
	char part[OWNER_BYTES];
	size_t len = strlen(name);

	copy_member(part, row, key);
	if (part[0])
		snprintf(name + len, OWNER_BYTES - len, "%s%s", len ? "/" : "", part);
}

/* Reads whose a row is. The same name of a container or a pod in another pod or namespace is
 * another one. */
static void read_owner(struct top_owner *owner, const cJSON *row, const char *group)
{
	bool of_container = strcmp(group, "container") == 0;

	owner->pid = (pid_t)count_of(row, "pid");
	owner->processes = owner->pid ? 1 : count_of(row, "processes");
	owner->is_kernel = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(row, "kernel"));
	owner->has_ended = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(row, "ended"));
	copy_member(owner->name, row, "comm");
	if (strcmp(group, "pid") == 0)
		copy_member(owner->container, row, "container");
	if (strcmp(group, "cgroup") == 0)
		copy_member(owner->name, row, "cgroup");
	if (of_container || strcmp(group, "pod") == 0) {
		owner->name[0] = '\0';
		add_part(owner->name, row, "namespace");
		add_part(owner->name, row, "pod");
	}
	if (of_container)
		add_part(owner->name, row, "container");
}

/* `as`: names the rows as of another group; NULL: as of their own. */
static int read_rows(struct top_reading *reading, const cJSON *json, const char *as)
{
	const cJSON *rows = cJSON_GetObjectItemCaseSensitive(json, "rows"), *row;
	const char *own = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(json, "group_by"));
	const char *group = as ? as : own;

	if (!cJSON_IsArray(rows) || !group)
		return -EBADMSG;
	reading->rows = calloc((size_t)cJSON_GetArraySize(rows) + 1, sizeof(*reading->rows));
	if (!reading->rows)
		return -ENOMEM;
	cJSON_ArrayForEach (row, rows) {
		struct top_cost *cost = &reading->rows[reading->count++];

		read_owner(&cost->owner, row, group);
		read_costs(cost, row);
	}
	return 0;
}

static void read_host(struct top_reading *reading, const cJSON *json)
{
	const cJSON *host = cJSON_GetObjectItemCaseSensitive(json, "host");

	reading->cpus = count_of(host, "cpus");
	reading->wall_ns = count_of(host, "wall_ns");
	reading->idle_ns = count_of(host, "idle_ns");
	reading->iowait_ns = count_of(host, "iowait_ns");
	reading->interrupts_ns = count_of(host, "interrupts_ns");
	reading->steal_ns = count_of(host, "steal_ns");
}

static int parse_reading(struct top_reading *reading, const char *line, size_t bytes,
			 const char *as)
{
	cJSON *json __attribute__((cleanup(delete_json))) = cJSON_ParseWithLength(line, bytes);

	*reading = (struct top_reading){0};
	if (!cJSON_IsObject(json))
		return -EBADMSG;
	if (cJSON_HasObjectItem(json, "missed"))
		return 1;
	if (cJSON_HasObjectItem(json, "ended")) {
		copy_member(reading->ended, json, "ended");
		return 1;
	}
	const cJSON *all = cJSON_GetObjectItemCaseSensitive(json, "all");
	reading->from_s = number_of(json, "from");
	reading->until_s = number_of(json, "until");
	if (!cJSON_IsObject(all) || !(reading->until_s > reading->from_s))
		return -EBADMSG;
	for (int i = 0; i < COSTS; i++)
		reading->known |= cJSON_HasObjectItem(all, cost_name(i)) ? 1u << i : 0;
	read_costs(&reading->all, all);
	reading->all.owner.processes = count_of(all, "processes");
	reading->lost = count_of(cJSON_GetObjectItemCaseSensitive(json, "lost"), "processes");
	read_host(reading, json);
	return read_rows(reading, json, as);
}

int top_reading_parse(struct top_reading *reading, const char *line, size_t bytes)
{
	return parse_reading(reading, line, bytes, NULL);
}

int top_reading_parse_members(struct top_reading *reading, const char *line, size_t bytes,
			      const char *group)
{
	return parse_reading(reading, line, bytes, group);
}

void top_reading_done(struct top_reading *reading)
{
	free(reading->rows);
	*reading = (struct top_reading){0};
}
