/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A container: its id and its pod's UID, found in its processes' cgroups, and its names, found in
 * the runtime's state. Immutable once made; reference-counted and shared between threads.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/cleanup.h"

#define CONTAINER_ID_BYTES  65	/* 64 hexadecimal digits as a rule, and a NUL */
#define CONTAINER_SHORT_ID  12	/* digits of the id that are shown */
#define CONTAINER_NAME_MAX  256 /* bytes of a name with its NUL; longer names are left out */
#define CONTAINER_IMAGE_MAX 512

enum container_runtime {
	CONTAINER_OTHER, /* the id was found by its form; the runtime isn't known */
	CONTAINER_DOCKER,
	CONTAINER_PODMAN,
	CONTAINER_CONTAINERD,
	CONTAINER_CRIO,
};

/* The facts from cgroups. */
struct container_place {
	enum container_runtime runtime;
	char id[CONTAINER_ID_BYTES];	  /* lower case; "": no container */
	char pod_uid[CONTAINER_ID_BYTES]; /* Kubernetes: with hyphens, lower case (a static pod's
					     may be 32 digits without); podman: the pod's id, 64
					     digits; "": no pod, or not known */
	char outer[CONTAINER_ID_BYTES];	  /* the outermost container around this one, as with
					     docker in docker; "": none */
	uid_t user; /* the user whose session runs it (rootless); 0: the host */
};

/* Texts are "" if they aren't known. They may have any bytes. */
struct container {
	atomic_uint refs;
	struct container_place place;
	char *name;	     /* as users know it: without docker's leading '/' */
	char *pod;	     /* the pod's name */
	char *pod_namespace; /* the pod's namespace in Kubernetes */
	char *image;	     /* as named when the container started: docker.io/library/redis:7 */
};

/* Returns `container` (may be NULL) with one more reference. */
struct container *container_ref(struct container *container);
/* Drops a reference; the last one frees the container. NULL is ignored. */
void container_unref(struct container *container);
static inline void container_unrefp(struct container **container)
{
	container_unref(*container);
}
#define _cleanup_container_ _cleanup_(container_unrefp)

/* Makes a container with copies of the texts (NULL: ""). Returns 0, or -ENOMEM. The caller owns
 * *ret, one reference. */
int container_new(struct container **ret, const struct container_place *place, const char *name,
		  const char *pod, const char *pod_namespace, const char *image);

/* Writes into `text` the container's label in stacks and labels: its name, else the first digits of
 * its id. `bytes` is at least CONTAINER_NAME_MAX. Returns `text`. */
const char *container_label(const struct container *container, char *text, unsigned bytes);

/* Writes the label of the container's pod: its name, else its UID (podman: the id's first digits).
 * Returns `text`, or NULL if there is no pod. */
const char *container_pod_label(const struct container *container, char *text, unsigned bytes);
