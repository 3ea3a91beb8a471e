// SPDX-License-Identifier: GPL-2.0-or-later
#include "container/container.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct container *container_ref(struct container *container)
{
	if (container)
		atomic_fetch_add(&container->refs, 1);
	return container;
}

void container_unref(struct container *container)
{
	if (!container || atomic_fetch_sub(&container->refs, 1) > 1)
		return;
	free(container->name);
	free(container->pod);
	free(container->pod_namespace);
	free(container->image);
	free(container);
}

int container_new(struct container **ret, const struct container_place *place, const char *name,
		  const char *pod, const char *pod_namespace, const char *image)
{
	_cleanup_container_ struct container *container = calloc(1, sizeof(*container));

	if (!container)
		return -ENOMEM;
	container->refs = 1;
	container->place = *place;
	container->name = strdup(name ? name : "");
	container->pod = strdup(pod ? pod : "");
	container->pod_namespace = strdup(pod_namespace ? pod_namespace : "");
	container->image = strdup(image ? image : "");
	if (!container->name || !container->pod || !container->pod_namespace || !container->image)
		return -ENOMEM;
	*ret = TAKE_PTR(container);
	return 0;
}

const char *container_label(const struct container *container, char *text, unsigned bytes)
{
	if (container->name[0])
		snprintf(text, bytes, "%s", container->name);
	else
		snprintf(text, bytes, "%.*s", CONTAINER_SHORT_ID, container->place.id);
	return text;
}

const char *container_pod_label(const struct container *container, char *text, unsigned bytes)
{
	const char *uid = container->place.pod_uid;

	if (!container->pod[0] && !uid[0])
		return NULL;
	if (container->pod[0])
		snprintf(text, bytes, "%s", container->pod);
	else
		snprintf(text, bytes, "%.*s", strlen(uid) <= 36 ? 36 : CONTAINER_SHORT_ID, uid);
	return text;
}
