// SPDX-License-Identifier: GPL-2.0-or-later
/* What runtimes keep: the input is each of their files at once; its first byte says whose is asked.
 */
#include "fuzz.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/utf8.h"
#include "container/names.h"

#define ID    "3f1c8a0e5d7b42960a1b2c3d4e5f60718293a4b5c6d7e8f9012345678abcdef0"
#define STORE "var/lib/containers/storage/"

static char root[] = "/tmp/stackprobe-fuzz-XXXXXX";
static int root_fd = -1, input_fd = -1;

static int remove_entry(const char *path, const struct stat *stat, int flag, struct FTW *ftw)
{
	(void)stat, (void)flag, (void)ftw;
	return remove(path);
}

static void remove_root(void)
{
	nftw(root, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

static void make_root(void)
{
	static const char *const paths[] = {
		"var/lib/docker/containers/" ID "/config.v2.json",
		"etc/docker/daemon.json",
		"etc/containers/storage.conf",
		STORE "overlay-containers/containers.json",
		STORE "overlay-containers/" ID "/userdata/config.json",
		STORE "libpod/bolt_state.db",
		"run/containerd/io.containerd.runtime.v2.task/k8s.io/" ID "/config.json",
		"var/lib/containerd/io.containerd.metadata.v1.bolt/meta.db",
	};

	demand(mkdtemp(root) != NULL);
	atexit(remove_root);
	root_fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	input_fd = openat(root_fd, "input", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	demand(root_fd >= 0 && input_fd >= 0);
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		char folder[256];

		for (const char *at = strchr(paths[i], '/'); at; at = strchr(at + 1, '/')) {
			snprintf(folder, sizeof(folder), "%.*s", (int)(at - paths[i]), paths[i]);
			mkdirat(root_fd, folder, 0700);
		}
		demand(linkat(root_fd, "input", root_fd, paths[i], 0) == 0);
	}
}

static void check(const char *text, size_t max, bool name)
{
	size_t len = strlen(text);

	demand(len < max && !(name && strchr(text, '/')));
	for (size_t i = 0; i < len;) {
		size_t n = utf8_sequence(text + i, len - i);

		demand(n > 0 && (unsigned char)text[i] >= ' ');
		i += n;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct container_place place = {.id = ID};
	_cleanup_container_ struct container *container = NULL;

	if (root_fd < 0)
		make_root();
	if (bytes == 0)
		return 0;
	place.runtime = data[0] % (CONTAINER_CRIO + 1);
	demand(ftruncate(input_fd, 0) == 0);
	demand(pwrite(input_fd, data + 1, bytes - 1, 0) == (ssize_t)bytes - 1);
	demand(container_names_read(&container, root, &place) == 0);
	demand(strcmp(container->place.id, ID) == 0);
	check(container->name, CONTAINER_NAME_MAX, true);
	check(container->pod, CONTAINER_NAME_MAX, true);
	check(container->pod_namespace, CONTAINER_NAME_MAX, true);
	check(container->image, CONTAINER_IMAGE_MAX, false);
	return 0;
}
