/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A host's root with the state of runtimes in it, and what is read of it. */
#pragma once

#include "unit/lib/folder.h"

#include "container/names.h"

#define A	   "3f1c8a0e5d7b42960a1b2c3d4e5f60718293a4b5c6d7e8f9012345678abcdef0"
#define B	   "b7d41e02c9f85a3360718293a4b5c6d7e8f9012345678abcdef03f1c8a0e5d7c"
#define POD	   "4ed66f0d11dd825f21b2e0136c21fc0e96774cf12712645431c0cb5f577edc25"
#define UID	   "0a2b6f8e-1c3d-4e5f-9a7b-6c5d4e3f2a1b"

#define DOCKER	   "var/lib/docker/containers/" A "/config.v2.json"
#define CONTAINERS "var/lib/containers/storage/overlay-containers/containers.json"
#define CRIO	   "run/containers/storage/overlay-containers/" A "/userdata/config.json"
#define CONTAINERD "run/containerd/io.containerd.runtime.v2.task/"

/* The folders that a path goes through. */
static inline void scene_folders(const struct folder *root, const char *path)
{
	char folder[512];

	for (const char *at = strchr(path, '/'); at; at = strchr(at + 1, '/')) {
		snprintf(folder, sizeof(folder), "%.*s", (int)(at - path), path);
		mkdirat(root->fd, folder, 0755);
	}
}

static inline void scene_put(const struct folder *root, const char *path, const char *text)
{
	scene_folders(root, path);
	folder_put(root, path, text, strlen(text));
}

static inline struct container_place scene_place(enum container_runtime runtime, const char *id,
						 const char *pod)
{
	struct container_place place = {.runtime = runtime};

	strcpy(place.id, id);
	strcpy(place.pod_uid, pod);
	return place;
}

static inline struct container *scene_read_place(const struct folder *root,
						 const struct container_place *place)
{
	struct container *container = NULL;

	assert_int_equal(container_names_read(&container, root->path, place), 0);
	assert_string_equal(container->place.id, place->id);
	return container;
}

static inline struct container *scene_read(const struct folder *root,
					   enum container_runtime runtime, const char *id,
					   const char *pod)
{
	struct container_place place = scene_place(runtime, id, pod);

	return scene_read_place(root, &place);
}

static inline void scene_is(const struct container *container, const char *name, const char *pod,
			    const char *pod_namespace, const char *image)
{
	assert_string_equal(container->name, name);
	assert_string_equal(container->pod, pod);
	assert_string_equal(container->pod_namespace, pod_namespace);
	assert_string_equal(container->image, image);
}

/* Of the container A, in no pod. */
#define assert_names(root, runtime, ...)                                                           \
	do {                                                                                       \
		_cleanup_container_ struct container *read_ = scene_read(root, runtime, A, "");    \
		scene_is(read_, __VA_ARGS__);                                                      \
	} while (0)
#define assert_nameless(root, runtime) assert_names(root, runtime, "", "", "", "")
