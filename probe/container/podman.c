// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads podman's containers from the lists of containers/storage. */
#include <stdio.h>
#include <string.h>

#include "container/podman_pod.h"
#include "container/runtimes.h"
#include "container/storage.h"

#define LIST_BYTES_MAX (4 << 20)

static bool read_list(const struct state_root *root, const char *path, const char *id,
		      struct container_names *names)
{
	_cleanup_buf_ struct buf text = BUF_INIT(LIST_BYTES_MAX);

	if (state_read(root, path, LIST_BYTES_MAX, &text) < 0)
		return false;
	_cleanup_json_ cJSON *json = state_find(text.data, text.len, id, state_json_max(root));
	if (!json)
		return false;
	const char *about = state_text(json, "metadata");
	_cleanup_json_ cJSON *metadata = about ? state_parse(about, strlen(about)) : NULL;
	const cJSON *all = cJSON_GetObjectItemCaseSensitive(json, "names");

	/* The first of `names` is the name now; the name in the metadata is that at creation. */
	state_take_name(names->name, sizeof(names->name),
			cJSON_GetStringValue(cJSON_GetArrayItem(all, 0)));
	state_take_image(names->image, state_text(metadata, "image-name"));
	return true;
}

static bool read_lists(const struct state_root *root, const char *folder, const char *id,
		       struct container_names *names)
{
	/* Containers that are removed when they end are in a list of their own. */
	static const char *const lists[] = {"containers.json", "volatile-containers.json"};
	char path[STATE_PATH_BYTES + 64];

	for (size_t i = 0; i < STORAGE_DRIVERS; i++)
		for (size_t j = 0; j < ARRAY_SIZE(lists); j++) {
			snprintf(path, sizeof(path), "%s/%s-containers/%s", folder,
				 storage_drivers[i], lists[j]);
			if (read_list(root, path, id, names))
				return true;
		}
	return false;
}

bool podman_names(const struct state_root *root, const struct container_place *place,
		  struct container_names *names)
{
	struct storage storage = {0};

	storage_find(root, &storage);
	if (!read_lists(root, storage.graph, place->id, names) &&
	    !read_lists(root, storage.run, place->id, names))
		return false;
	memcpy(names->pod_uid, place->pod_uid, sizeof(names->pod_uid));
	if (!names->pod_known)
		podman_pod_read(root, &storage, place->id, names->pod_uid, names->pod);
	return true;
}
