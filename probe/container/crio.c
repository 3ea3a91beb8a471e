// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads the config.json that CRI-O writes for a container's runtime: the names are annotations. */
#include <stdio.h>
#include <string.h>

#include "container/runtimes.h"
#include "container/storage.h"

static bool read_config(const struct state_root *root, const char *folder, const char *driver,
			const char *id, struct container_names *names)
{
	char path[STATE_PATH_BYTES + 160];

	snprintf(path, sizeof(path), "%s/%s-containers/%s/userdata/config.json", folder, driver,
		 id);
	_cleanup_json_ cJSON *json = state_json(root, path);
	const cJSON *told = cJSON_GetObjectItemCaseSensitive(json, "annotations");
	const char *manager = state_text(told, "io.container.manager");

	/* podman's containers lie there too, and may have some of these annotations. */
	if (!state_text(told, "io.kubernetes.cri-o.ContainerType") ||
	    (manager && strcmp(manager, "cri-o") != 0))
		return false;
	state_take_name(names->name, sizeof(names->name),
			state_text(told, "io.kubernetes.container.name"));
	state_take_name(names->pod, sizeof(names->pod), state_text(told, "io.kubernetes.pod.name"));
	state_take_name(names->pod_namespace, sizeof(names->pod_namespace),
			state_text(told, "io.kubernetes.pod.namespace"));
	state_take_uid(names->pod_uid, state_text(told, "io.kubernetes.pod.uid"));
	state_take_image(names->image, state_text(told, "io.kubernetes.cri-o.ImageName"));
	return true;
}

bool crio_names(const struct state_root *root, const struct container_place *place,
		struct container_names *names)
{
	struct storage storage = {0};

	if (root->user)
		return false;
	storage_find(root, &storage);
	for (size_t i = 0; i < STORAGE_DRIVERS; i++)
		if (read_config(root, storage.run, storage_drivers[i], place->id, names) ||
		    read_config(root, storage.graph, storage_drivers[i], place->id, names))
			return true;
	return false;
}
