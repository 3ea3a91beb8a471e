/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A container: what its process's cgroups tell (id, pod's UID), and what its runtime's own state
 * tells of it (names). Immutable once made, shared by reference, also between threads.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/cleanup.h"

#define CONTAINER_ID_BYTES  65	/* 64 hexadecimal digits as a rule, and a NUL */
#define CONTAINER_SHORT_ID  12	/* digits of it that are shown */
#define CONTAINER_NAME_MAX  256 /* bytes of a name; a longer one isn't known */
#define CONTAINER_IMAGE_MAX 512

enum container_runtime {
	CONTAINER_OTHER, /* an id, by its form; whose isn't known */
	CONTAINER_DOCKER,
	CONTAINER_PODMAN,
	CONTAINER_CONTAINERD,
	CONTAINER_CRIO,
};

/* What cgroups tell. */
struct container_place {
	enum container_runtime runtime;
	char id[CONTAINER_ID_BYTES];	  /* lower case; "": in no container */
	char pod_uid[CONTAINER_ID_BYTES]; /* Kubernetes': with hyphens, lower case (a static pod's
					     may be 32 digits without); podman's pod id:
					     64 digits; "": in no pod, or not told */
	char outer[CONTAINER_ID_BYTES];	  /* the outermost container that this one lies in, as with
					     docker in docker; "": in none */
	uid_t user;			  /* whose session it runs in (rootless); 0: the host's */
};

/* Texts are "" where they aren't known. They may have any bytes. */
struct container {
	atomic_uint refs;
	struct container_place place;
	char *name;	     /* as its users know it: without docker's leading '/' */
	char *pod;	     /* the pod's name */
	char *pod_namespace; /* Kubernetes' */
	char *image;	     /* as it was named at its start: docker.io/library/redis:7 */
};

struct container *container_ref(struct container *container);
void container_unref(struct container *container); /* of NULL: nothing */
static inline void container_unrefp(struct container **container)
{
	container_unref(*container);
}
#define _cleanup_container_ _cleanup_(container_unrefp)

/* One of these texts, which are copied; NULL: "". -ENOMEM */
int container_new(struct container **ret, const struct container_place *place, const char *name,
		  const char *pod, const char *pod_namespace, const char *image);

/* What it is called in stacks and labels: its name, else the first digits of its id. `bytes` at
 * least CONTAINER_NAME_MAX. */
const char *container_label(const struct container *container, char *text, unsigned bytes);

/* The same of its pod: the name, else the UID (of podman's the first digits); NULL: it has none. */
const char *container_pod_label(const struct container *container, char *text, unsigned bytes);
