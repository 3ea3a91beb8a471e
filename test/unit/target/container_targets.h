/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Targets that are chosen for their container or cgroup, with a docker's state on disk. */
#pragma once

#include "unit/lib/folder.h"
#include "unit/target/target_life.h"

#define WEB	 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define IN_WEB	 "/docker/" WEB
#define IN_NONE	 "/user.slice"
#define LINE_WEB "0::" IN_WEB "\n" /* of /proc/PID/cgroup */
/* The time until a container's names are read again, and more than that. */
#define FRESH_NS (20 * NS_PER_S)

static struct folder host;
static struct process other; /* of the same name */
static const struct cgroup_key key_web = {.v2 = 1001}, key_none = {.v2 = 1002};

/* Names the container in its runtime's state. */
static inline void name_web(const char *name)
{
	static const char *const folders[] = {"var", "var/lib", "var/lib/docker",
					      "var/lib/docker/containers",
					      "var/lib/docker/containers/" WEB};
	char text[256];

	for (size_t i = 0; i < ARRAY_SIZE(folders); i++)
		mkdirat(host.fd, folders[i], 0755);
	snprintf(text, sizeof(text),
		 "{\"ID\":\"" WEB "\",\"Name\":\"/%s\",\"Config\":{\"Image\":\"nginx\"}}", name);
	folder_put(&host, "var/lib/docker/containers/" WEB "/config.v2.json", text, strlen(text));
}

static inline int container_begin(void **state)
{
	folder_make(&host);
	scene_begin(state);
	assert_int_equal(containers_set_root(scene.containers, host.path), 0);
	return 0;
}

static inline int container_end(void **state)
{
	process_end(&other);
	scene_end(state);
	folder_done(&host);
	return 0;
}

#define CONTAINER_TEST(name) cmocka_unit_test_setup_teardown(name, container_begin, container_end)

static inline void follow_container(enum container_by by, const char *text)
{
	struct snoopers *snoopers;

	assert_int_equal(snoopers_new(&snoopers), 0);
	assert_int_equal(snoopers_add_container(snoopers, by, text, ""), 0);
	scene_follow(snoopers);
}

/* Tells the paths of both keys. */
static inline void tell_groups(void)
{
	scripted_group(&key_web, IN_WEB, NULL);
	scripted_group(&key_none, IN_NONE, NULL);
}

/* A new program in these cgroups, delivered; returns its id. */
static inline uint64_t exec_in(const struct process *process, const struct cgroup_key *group)
{
	uint64_t id = life_renew(LIFE_EXEC, process, scene.comm, group);

	scene_read();
	return id;
}

static bool is_not_current(void *arg)
{
	const struct process *process = arg;

	return !scene_current(process->pid);
}
