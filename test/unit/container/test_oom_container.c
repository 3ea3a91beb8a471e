// SPDX-License-Identifier: GPL-2.0-or-later
/* Where a container's names find no memory (failing_alloc.h). */
#include "unit/lib/failing_alloc.h"
#include "unit/container/container_scene.h"

#include "container/cgroup.h"

static struct folder root;

static int use_cgroups(void)
{
	static struct cgroups cgroups;

	return cgroups_read(getpid(), &cgroups);
}

/* A name is left out, or all is refused: never half of one. */
static int use_names(enum container_runtime runtime, const char *name)
{
	struct container_place place = scene_place(runtime, A, POD);
	_cleanup_container_ struct container *container = NULL;
	int r = container_names_read(&container, root.path, &place);
	bool failed = failing.failed;

	no_more_failures();
	assert_int_equal(container != NULL, r == 0);
	if (r == 0 && !failed)
		assert_string_equal(container->name, name);
	if (r == 0)
		assert_true(!container->name[0] || strcmp(container->name, name) == 0);
	return r;
}

static int use_docker(void)
{
	return use_names(CONTAINER_DOCKER, "web");
}

static int use_podman(void)
{
	return use_names(CONTAINER_PODMAN, "two");
}

static int use_containerd(void)
{
	return use_names(CONTAINER_CONTAINERD, "web");
}

SCENARIO(cgroups_are_read_or_not, use_cgroups, false)
SCENARIO(dockers_name_is_whole_or_none, use_docker, true)
SCENARIO(podmans_name_is_whole_or_none, use_podman, true)
SCENARIO(containerds_name_is_whole_or_none, use_containerd, true)

static int make_root(void **state)
{
	(void)state;
	folder_make(&root);
	scene_put(&root, DOCKER,
		  "{\"ID\":\"" A "\",\"Name\":\"/web\",\"Config\":{\"Image\":\"i\"}}");
	scene_put(&root, CONTAINERS,
		  "[{\"id\":\"" A "\",\"names\":[\"two\"],\"metadata\":\"{}\"}]");
	scene_put(&root, CONTAINERD "default/" A "/config.json",
		  "{\"annotations\":{\"nerdctl/name\":\"web\"}}");
	return 0;
}

static int remove_root(void **state)
{
	(void)state;
	folder_done(&root);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cgroups_are_read_or_not),
		cmocka_unit_test(dockers_name_is_whole_or_none),
		cmocka_unit_test(podmans_name_is_whole_or_none),
		cmocka_unit_test(containerds_name_is_whole_or_none),
	};

	return cmocka_run_group_tests(tests, make_root, remove_root);
}
