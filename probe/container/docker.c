// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads dockerd's config.v2.json of a container. */
#include <stdio.h>
#include <string.h>

#include "container/runtimes.h"

#define DATA_ROOT "var/lib/docker"

/* Takes names from the labels of a container that cri-dockerd (or an older kubelet) made. Whoever
 * may run a container with such a name and labels is root anyway. */
static void take_kubernetes(const cJSON *labels, struct container_names *names)
{
	state_take_name(names->name, sizeof(names->name),
			state_text(labels, "io.kubernetes.container.name"));
	state_take_name(names->pod, sizeof(names->pod),
			state_text(labels, "io.kubernetes.pod.name"));
	state_take_name(names->pod_namespace, sizeof(names->pod_namespace),
			state_text(labels, "io.kubernetes.pod.namespace"));
	state_take_uid(names->pod_uid, state_text(labels, "io.kubernetes.pod.uid"));
}

static bool read_config(const struct state_root *root, const char *folder, const char *id,
			struct container_names *names)
{
	char path[STATE_PATH_BYTES];

	if ((size_t)snprintf(path, sizeof(path), "%s/containers/%s/config.v2.json", folder, id) >=
	    sizeof(path))
		return false;
	_cleanup_json_ cJSON *json = state_json(root, path);
	const cJSON *config = cJSON_GetObjectItemCaseSensitive(json, "Config");
	const char *found = state_text(json, "ID"), *name = state_text(json, "Name");

	if (!found || strcmp(found, id) != 0)
		return false;
	if (name)
		state_take_name(names->name, sizeof(names->name), name + (name[0] == '/'));
	state_take_image(names->image, state_text(config, "Image"));
	if (strncmp(names->name, "k8s_", 4) == 0)
		take_kubernetes(cJSON_GetObjectItemCaseSensitive(config, "Labels"), names);
	return true;
}

bool docker_names(const struct state_root *root, const struct container_place *place,
		  struct container_names *names)
{
	static const char *const confs[] = {"etc/docker/daemon.json",
					    "var/snap/docker/current/config/daemon.json"};

	if (root->user)
		return read_config(root, ".local/share/docker", place->id, names);
	if (read_config(root, DATA_ROOT, place->id, names))
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(confs); i++) {
		_cleanup_json_ cJSON *json = state_json(root, confs[i]);
		const char *folder = state_text(json, "data-root");

		if (folder && folder[0] == '/' && read_config(root, folder, place->id, names))
			return true;
	}
	return read_config(root, "var/snap/docker/common/var-lib-docker", place->id, names);
}
