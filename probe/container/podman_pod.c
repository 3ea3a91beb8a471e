// SPDX-License-Identifier: GPL-2.0-or-later
#include "container/podman_pod.h"

#include <stdio.h>
#include <string.h>

#include "container/bolt.h"
#include "container/podman_api.h"

/* Reads both from the database; the bucket id-registry has the names of containers and of pods. */
static bool read_bolt(int fd, const char *id, char pod_id[CONTAINER_ID_BYTES],
		      char pod[CONTAINER_NAME_MAX])
{
	const char *const of[] = {"ctr", id, "pod-id", NULL};
	const char *const name[] = {"id-registry", pod_id, NULL};
	char text[CONTAINER_NAME_MAX];

	if (!pod_id[0] && bolt_get(fd, of, text, sizeof(text)) == 64 && state_is_id(text))
		memcpy(pod_id, text, CONTAINER_ID_BYTES);
	int len = pod_id[0] ? bolt_get(fd, name, text, sizeof(text)) : -1;
	return len > 0 && strlen(text) == (size_t)len &&
	       state_take_name(pod, CONTAINER_NAME_MAX, text);
}

void podman_pod_read(const struct state_root *root, const struct storage *storage, const char *id,
		     char pod_id[CONTAINER_ID_BYTES], char pod[CONTAINER_NAME_MAX])
{
	char path[STATE_PATH_BYTES + 64];

	snprintf(path, sizeof(path), "%s/libpod/bolt_state.db", storage->graph);
	_cleanup_close_ int fd = state_open(root, path);
	if (fd >= 0 && read_bolt(fd, id, pod_id, pod))
		return;
	if (pod_id[0])
		podman_api_pod(root, pod_id, pod);
}
