// SPDX-License-Identifier: GPL-2.0-or-later
#include "container/names.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "container/runtimes.h"

#define HOMES_MAX 4096 /* folders in /home that are looked at */

static const struct {
	enum container_runtime runtime;
	bool (*names)(const struct state_root *root, const struct container_place *place,
		      struct container_names *names);
} runtimes[] = {
	{CONTAINER_CONTAINERD, containerd_names},
	{CONTAINER_CRIO, crio_names},
	{CONTAINER_DOCKER, docker_names},
	{CONTAINER_PODMAN, podman_names},
};

/* Asks the runtimes that may have the container, until one has it. */
static bool ask_runtimes(const struct state_root *root, const struct container_place *place,
			 struct container_names *names)
{
	for (size_t i = 0; i < ARRAY_SIZE(runtimes); i++)
		if ((place->runtime == CONTAINER_OTHER || place->runtime == runtimes[i].runtime) &&
		    runtimes[i].names(root, place, names))
			return true;
	return false;
}

/* Opens a user's home: the first folder in /home that belongs to the user. */
static int open_home(const struct state_root *root, uid_t user)
{
	_cleanup_close_ int fd = state_folder(root, "home");
	int list = fd < 0 ? fd : openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = list < 0 ? NULL : fdopendir(list);
	int home = -ENOENT;

	if (!dir) {
		if (list >= 0)
			close(list);
		return home;
	}
	struct dirent *entry;
	for (int i = 0; i < HOMES_MAX && home < 0 && (entry = readdir(dir)); i++) {
		struct state_root below = {.fd = fd, .user = user};

		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			home = state_folder(&below, entry->d_name);
	}
	closedir(dir);
	return home;
}

/* Asks the runtimes of a user. A user's state is asked only for containers of that user. */
static bool ask_user(const struct state_root *root, const struct container_place *place,
		     struct container_names *names)
{
	_cleanup_close_ int home = open_home(root, place->user);

	return home >= 0 && ask_runtimes(&(struct state_root){.fd = home,
							      .host_fd = root->host_fd,
							      .user = place->user},
					 place, names);
}

static bool look_up_names(const struct state_root *root, const struct container_place *place,
			  struct container_names *names)
{
	if (place->outer[0]) {
		struct container_place outer = {.user = place->user};
		struct container_names ignored = {.pod_known = names->pod_known};

		/* A runtime that knows the outer container doesn't know the one inside: the inner
		 * id belongs to a runtime inside, or the outer container made it up. */
		memcpy(outer.id, place->outer, sizeof(outer.id));
		if (place->user ? ask_user(root, &outer, &ignored)
				: ask_runtimes(root, &outer, &ignored))
			return false;
	}
	return place->user ? ask_user(root, place, names) : ask_runtimes(root, place, names);
}

static int find_container(struct container **ret, const char *root,
			  const struct container_place *place, struct container_names *names)
{
	_cleanup_close_ int fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct container_place whole = *place;

	if (fd >= 0 && state_is_id(place->id) &&
	    look_up_names(&(struct state_root){.fd = fd, .host_fd = fd}, place, names) &&
	    !whole.pod_uid[0])
		memcpy(whole.pod_uid, names->pod_uid, sizeof(whole.pod_uid));
	return container_new(ret, &whole, names->name, names->pod, names->pod_namespace,
			     names->image);
}

int container_names_read(struct container **ret, const char *root,
			 const struct container_place *place)
{
	struct container_names names = {0};

	return find_container(ret, root, place, &names);
}

int container_names_again(struct container **ret, const char *root, const struct container *known)
{
	struct container_names names = {.pod_known = true};

	snprintf(names.pod, sizeof(names.pod), "%s", known->pod);
	snprintf(names.pod_namespace, sizeof(names.pod_namespace), "%s", known->pod_namespace);
	snprintf(names.image, sizeof(names.image), "%s", known->image);
	return find_container(ret, root, &known->place, &names);
}
