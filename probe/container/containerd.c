// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads the config.json that containerd writes for a container's runtime, in the folder of the
 * container's namespace. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "container/bolt.h"
#include "container/runtimes.h"

#define NAMESPACES_MAX 64

/* Takes names from annotations. Returns whether the container is Kubernetes'. */
static bool take_told(const cJSON *told, struct container_names *names)
{
	if (!state_text(told, "io.kubernetes.cri.container-type")) {
		state_take_name(names->name, sizeof(names->name), state_text(told, "nerdctl/name"));
		return false;
	}
	state_take_name(names->name, sizeof(names->name),
			state_text(told, "io.kubernetes.cri.container-name"));
	state_take_name(names->pod, sizeof(names->pod),
			state_text(told, "io.kubernetes.cri.sandbox-name"));
	state_take_name(names->pod_namespace, sizeof(names->pod_namespace),
			state_text(told, "io.kubernetes.cri.sandbox-namespace"));
	state_take_uid(names->pod_uid, state_text(told, "io.kubernetes.cri.sandbox-uid"));
	state_take_image(names->image, state_text(told, "io.kubernetes.cri.image-name"));
	return true;
}

/* Reads names from containerd's database, for a container without a pod: nerdctl may have renamed
 * the container, and its image is only there. */
static void read_database(int fd, const char *space, const char *id, struct container_names *names)
{
	const char *const name[] = {"v1", space, "containers", id, "labels", "nerdctl/name", NULL};
	const char *const image[] = {"v1", space, "containers", id, "image", NULL};
	char text[CONTAINER_IMAGE_MAX];
	int len = bolt_get(fd, name, text, sizeof(text));

	if (len > 0 && strlen(text) == (size_t)len)
		state_take_name(names->name, sizeof(names->name), text);
	len = bolt_get(fd, image, text, sizeof(text));
	if (len > 0 && strlen(text) == (size_t)len)
		state_take_image(names->image, text);
}

/* The folders of a containerd: its state while it runs, and its data on disk. */
struct containerd_folders {
	const char *state, *data;
};

static bool read_config(const struct state_root *root, const struct containerd_folders *place,
			int tasks_fd, const char *space, const char *id,
			struct container_names *names)
{
	struct state_root tasks = {.fd = tasks_fd, .host_fd = root->host_fd};
	char path[STATE_PATH_BYTES];

	snprintf(path, sizeof(path), "%.255s/%s/config.json", space, id);
	_cleanup_json_ cJSON *json = state_json(&tasks, path);
	if (!json)
		return false;
	if (take_told(cJSON_GetObjectItemCaseSensitive(json, "annotations"), names))
		return true;
	snprintf(path, sizeof(path), "%s/io.containerd.metadata.v1.bolt/meta.db", place->data);
	_cleanup_close_ int fd = state_open(root, path);
	if (fd >= 0)
		read_database(fd, space, id, names);
	return true;
}

/* Searches a container in `fd`, a folder with a folder for each namespace. */
static bool read_tasks(const struct state_root *root, const struct containerd_folders *place,
		       int fd, const char *id, struct container_names *names)
{
	int list = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = list < 0 ? NULL : fdopendir(list);
	struct dirent *entry;
	bool found = false;

	if (!dir) {
		if (list >= 0)
			close(list);
		return false;
	}
	/* Docker's containers are here too (moby), but without names. */
	for (int i = 0; i < NAMESPACES_MAX && !found && (entry = readdir(dir)); i++)
		if (entry->d_name[0] != '.' && strcmp(entry->d_name, "moby") != 0)
			found = read_config(root, place, fd, entry->d_name, id, names);
	closedir(dir);
	return found;
}

bool containerd_names(const struct state_root *root, const struct container_place *place,
		      struct container_names *names)
{
	/* containerd's own, and those of Kubernetes with a built-in one: k3s and RKE2, k0s,
	 * MicroK8s. */
	static const struct containerd_folders places[] = {
		{"run/containerd", "var/lib/containerd"},
		{"run/k3s/containerd", "var/lib/rancher/k3s/agent/containerd"},
		{"run/k0s/containerd", "var/lib/k0s/containerd"},
		{"var/snap/microk8s/common/run/containerd",
		 "var/snap/microk8s/common/var/lib/containerd"},
	};
	static const char *const kinds[] = {"io.containerd.runtime.v2.task",
					    "io.containerd.runtime.v1.linux"};
	char path[STATE_PATH_BYTES];

	if (root->user)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(places) * ARRAY_SIZE(kinds); i++) {
		const struct containerd_folders *at = &places[i / ARRAY_SIZE(kinds)];

		snprintf(path, sizeof(path), "%s/%s", at->state, kinds[i % ARRAY_SIZE(kinds)]);
		_cleanup_close_ int fd = state_folder(root, path);
		if (fd >= 0 && read_tasks(root, at, fd, place->id, names))
			return true;
	}
	return false;
}
