// SPDX-License-Identifier: GPL-2.0-or-later
/* Each runtime's state, written by hand as it writes it. What dockerd 20.10, containerd 1.6 and
 * podman 4.3 write themselves was read, too, when this was made (doc/containers.md). */
#include "unit/lib/unit.h"

#include <zlib.h>

#include "unit/container/container_scene.h"

static const char docker[] =
	"{\"StreamConfig\":{},\"State\":{\"Running\":true,\"Pid\":4711},\"ID\":\"" A "\","
	"\"Created\":\"2024-01-01T00:00:00Z\",\"Path\":\"/bin/sleep\",\"Args\":[\"1\"],"
	"\"Config\":{\"Hostname\":\"aa\",\"Image\":\"docker.io/library/redis:7\",\"Labels\":{}},"
	"\"Image\":\"sha256:00\",\"Name\":\"/web\",\"Driver\":\"overlay2\"}";

static void docker_tells_name_and_image(void **state)
{
	_cleanup_folder_ struct folder root;

	(void)state;
	folder_make(&root);
	scene_put(&root, DOCKER, docker);
	assert_names(&root, CONTAINER_DOCKER, "web", "", "", "docker.io/library/redis:7");
	/* whose it is isn't told by all cgroups */
	assert_names(&root, CONTAINER_OTHER, "web", "", "", "docker.io/library/redis:7");
	/* another runtime's has to be in that one's state */
	assert_nameless(&root, CONTAINER_PODMAN);
	assert_nameless(&root, CONTAINER_CONTAINERD);
	_cleanup_container_ struct container *other = scene_read(&root, CONTAINER_DOCKER, B, "");
	scene_is(other, "", "", "", "");
}

static void docker_may_keep_its_data_elsewhere(void **state)
{
	_cleanup_folder_ struct folder root;

	(void)state;
	folder_make(&root);
	scene_put(&root, "etc/docker/daemon.json", "{\"data-root\": \"/data/docker\"}");
	scene_put(&root, "data/docker/containers/" A "/config.v2.json", docker);
	assert_names(&root, CONTAINER_DOCKER, "web", "", "", "docker.io/library/redis:7");
}

static void a_link_in_the_way_leads_below_the_root(void **state)
{
	_cleanup_folder_ struct folder root;

	(void)state;
	folder_make(&root);
	scene_put(&root, "data/docker/containers/" A "/config.v2.json", docker);
	scene_folders(&root, "var/lib/docker");
	assert_int_equal(symlinkat("/data/docker", root.fd, "var/lib/docker"), 0);
	assert_names(&root, CONTAINER_DOCKER, "web", "", "", "docker.io/library/redis:7");
}

static void docker_of_kubernetes_tells_the_pod_by_labels(void **state)
{
	static const char text[] =
		"{\"ID\":\"" A "\",\"Name\":\"/k8s_app_web-0_shop_" UID "_0\",\"Config\":{"
		"\"Image\":\"shop/"
		"app@sha256:00\",\"Labels\":{\"io.kubernetes.container.name\":\"app\","
		"\"io.kubernetes.pod.name\":\"web-0\",\"io.kubernetes.pod.namespace\":\"shop\","
		"\"io.kubernetes.pod.uid\":\"" UID "\"}}}";
	_cleanup_folder_ struct folder root;
	char *labelled;

	(void)state;
	folder_make(&root);
	scene_put(&root, DOCKER, text);
	_cleanup_container_ struct container *read = scene_read(&root, CONTAINER_OTHER, A, UID);
	scene_is(read, "app", "web-0", "shop", "shop/app@sha256:00");
	/* Labels alone tell nothing: anybody may give himself such. */
	labelled = strdup(text);
	memcpy(strstr(labelled, "k8s_"), "own_", 4);
	scene_put(&root, DOCKER, labelled);
	free(labelled);
	_cleanup_container_ struct container *own = scene_read(&root, CONTAINER_OTHER, A, "");
	scene_is(own, "own_app_web-0_shop_" UID "_0", "", "", "shop/app@sha256:00");
	assert_string_equal(own->place.pod_uid, "");
}

#define STORED(id, name, first)                                                                    \
	"{\"id\":\"" id "\",\"names\":[\"" name "\"],\"image\":\"9f\",\"layer\":\"69\","           \
	"\"metadata\":\"{\\\"image-name\\\":\\\"localhost/bb:latest\\\",\\\"name\\\":\\\"" first   \
	"\\\",\\\"created-at\\\":1}\",\"created\":\"2024-01-01T00:00:00Z\",\"flags\":{\"a\":\"}"   \
	"\"}}"

static void podman_tells_name_and_image(void **state)
{
	_cleanup_folder_ struct folder root;

	(void)state;
	folder_make(&root);
	/* `podman rename` leaves the metadata as they were */
	scene_put(&root, CONTAINERS,
		  "[" STORED(B, "one", "one") ",\n " STORED(A, "two", "first") "]");
	assert_names(&root, CONTAINER_PODMAN, "two", "", "", "localhost/bb:latest");
	assert_names(&root, CONTAINER_OTHER, "two", "", "", "localhost/bb:latest");
	_cleanup_container_ struct container *other = scene_read(&root, CONTAINER_PODMAN, B, "");
	scene_is(other, "one", "", "", "localhost/bb:latest");
}

static void podmans_that_are_removed_at_their_end_have_a_list_of_their_own(void **state)
{
	_cleanup_folder_ struct folder root;

	(void)state;
	folder_make(&root);
	scene_put(&root, CONTAINERS, "[" STORED(B, "one", "one") "]");
	scene_put(&root, "var/lib/containers/storage/overlay-containers/volatile-containers.json",
		  "[" STORED(A, "gone-soon", "gone-soon") "]");
	assert_names(&root, CONTAINER_PODMAN, "gone-soon", "", "", "localhost/bb:latest");
}

static void podmans_storage_is_where_its_conf_says(void **state)
{
	_cleanup_folder_ struct folder root;

	(void)state;
	folder_make(&root);
	scene_put(
		&root, "etc/containers/storage.conf",
		"[storage]\n# graphroot = \"/wrong\"\ndriver = \"vfs\"\n"
		"  graphroot\t= \"/data/pods\" # ours\nrunroot = '/run/pods'\n[storage.options]\n");
	scene_put(&root, "data/pods/vfs-containers/containers.json", "[" STORED(A, "x", "x") "]");
	scene_put(&root, CONTAINERS, "[" STORED(A, "wrong", "wrong") "]");
	assert_names(&root, CONTAINER_PODMAN, "x", "", "", "localhost/bb:latest");
}

/* As podman 4.3.1 made it: `web` is a pod, `inweb` in it. */
#define WEB   "e124a3648f74fb0350b7a6bc76323cf92518d9a0ea97e0ab8a28c5d036c6f431"
#define INWEB "137081a07950757cba7f635e3c2e27f468739c2be7938a699fb6acfb038a65c3"
#define ALONE "2c67b5813ac0cf2bf187d91b076cc1e946ba82c79a1fbae989060b108e7b40a9"

static void podmans_database_tells_the_pod(void **state)
{
	gzFile packed = gzopen("test/unit/container/bolt_podman.db.gz", "rb");
	_cleanup_free_ char *data = malloc(1 << 20);
	_cleanup_folder_ struct folder root;
	int n;

	(void)state;
	folder_make(&root);
	assert_non_null(packed);
	assert_non_null(data);
	n = gzread(packed, data, 1 << 20);
	assert_true(n > 0);
	gzclose(packed);
	scene_put(&root, CONTAINERS,
		  "[" STORED(INWEB, "inweb", "inweb") "," STORED(ALONE, "alone", "alone") "]");
	scene_folders(&root, "var/lib/containers/storage/libpod/");
	folder_put(&root, "var/lib/containers/storage/libpod/bolt_state.db", data, (size_t)n);
	_cleanup_container_ struct container *in = scene_read(&root, CONTAINER_PODMAN, INWEB, WEB);
	scene_is(in, "inweb", "web", "", "localhost/bb:latest");
	/* also where the cgroup doesn't say which pod, as with --cgroups=split */
	_cleanup_container_ struct container *split =
		scene_read(&root, CONTAINER_PODMAN, INWEB, "");
	scene_is(split, "inweb", "web", "", "localhost/bb:latest");
	assert_string_equal(split->place.pod_uid, WEB);
	_cleanup_container_ struct container *alone =
		scene_read(&root, CONTAINER_PODMAN, ALONE, "");
	scene_is(alone, "alone", "", "", "localhost/bb:latest");
	assert_string_equal(alone->place.pod_uid, "");
	/* a pod that isn't there */
	_cleanup_container_ struct container *lost =
		scene_read(&root, CONTAINER_PODMAN, ALONE, POD);
	scene_is(lost, "alone", "", "", "localhost/bb:latest");
}

static void crio_tells_all_by_annotations(void **state)
{
	_cleanup_folder_ struct folder root;

	(void)state;
	folder_make(&root);
	scene_put(&root, CRIO,
		  "{\"ociVersion\":\"1.0.2\",\"annotations\":{\"io.container.manager\":\"cri-o\","
		  "\"io.kubernetes.container.name\":\"app\",\"io.kubernetes.pod.name\":\"web-0\","
		  "\"io.kubernetes.pod.namespace\":\"shop\",\"io.kubernetes.pod.uid\":\"" UID "\","
		  "\"io.kubernetes.cri-o.ContainerType\":\"container\","
		  "\"io.kubernetes.cri-o.ImageName\":\"quay.io/shop/app:1\"}}");
	assert_names(&root, CONTAINER_CRIO, "app", "web-0", "shop", "quay.io/shop/app:1");
	_cleanup_container_ struct container *read = scene_read(&root, CONTAINER_OTHER, A, "");
	scene_is(read, "app", "web-0", "shop", "quay.io/shop/app:1");
	assert_string_equal(read->place.pod_uid, UID); /* the cgroup didn't tell */
}

static void what_podman_leaves_beside_is_not_crios(void **state)
{
	_cleanup_folder_ struct folder root;

	(void)state;
	folder_make(&root);
	scene_put(&root, CRIO,
		  "{\"annotations\":{\"io.container.manager\":\"libpod\","
		  "\"io.kubernetes.cri-o.ContainerType\":\"container\","
		  "\"io.kubernetes.container.name\":\"wrong\"}}");
	assert_nameless(&root, CONTAINER_CRIO);
	scene_put(&root, CONTAINERS, "[" STORED(A, "right", "right") "]");
	assert_names(&root, CONTAINER_OTHER, "right", "", "", "localhost/bb:latest");
}

static void containerd_of_kubernetes_tells_all_by_annotations(void **state)
{
	static const char text[] = "{\"ociVersion\":\"1.1.0\",\"annotations\":{"
				   "\"io.kubernetes.cri.container-name\":\"app\","
				   "\"io.kubernetes.cri.container-type\":\"container\","
				   "\"io.kubernetes.cri.image-name\":\"registry.k8s.io/app:v1\","
				   "\"io.kubernetes.cri.sandbox-id\":\"" B "\","
				   "\"io.kubernetes.cri.sandbox-name\":\"web-0\","
				   "\"io.kubernetes.cri.sandbox-namespace\":\"shop\","
				   "\"io.kubernetes.cri.sandbox-uid\":\"" UID "\"}}";
	static const char *const paths[] = {
		CONTAINERD "k8s.io/" A "/config.json",
		"run/k3s/containerd/io.containerd.runtime.v2.task/k8s.io/" A "/config.json",
		"run/k0s/containerd/io.containerd.runtime.v2.task/k8s.io/" A "/config.json",
		"run/containerd/io.containerd.runtime.v1.linux/k8s.io/" A "/config.json",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		_cleanup_folder_ struct folder root;

		folder_make(&root);
		scene_put(&root, paths[i], text);
		assert_names(&root, CONTAINER_CONTAINERD, "app", "web-0", "shop",
			     "registry.k8s.io/app:v1");
		_cleanup_container_ struct container *read =
			scene_read(&root, CONTAINER_OTHER, A, "");
		assert_string_equal(read->place.pod_uid, UID);
	}
}

static void the_container_that_holds_a_pod_has_the_pod_only(void **state)
{
	_cleanup_folder_ struct folder root;

	(void)state;
	folder_make(&root);
	scene_put(&root, CONTAINERD "k8s.io/" A "/config.json",
		  "{\"annotations\":{\"io.kubernetes.cri.container-type\":\"sandbox\","
		  "\"nerdctl/name\":\"wrong\","
		  "\"io.kubernetes.cri.sandbox-name\":\"web-0\","
		  "\"io.kubernetes.cri.sandbox-namespace\":\"shop\"}}");
	assert_names(&root, CONTAINER_CONTAINERD, "", "web-0", "shop", "");
}

static void nerdctl_tells_the_name_in_any_namespace(void **state)
{
	_cleanup_folder_ struct folder root;

	(void)state;
	folder_make(&root);
	scene_put(&root, CONTAINERD "moby/" B "/config.json", "{}");
	scene_put(&root, CONTAINERD "mine/" A "/config.json",
		  "{\"annotations\":{\"nerdctl/name\":\"web\",\"nerdctl/namespace\":\"mine\"}}");
	assert_names(&root, CONTAINER_CONTAINERD, "web", "", "", "");
}

static void dockers_container_has_its_name_though_containerd_runs_it(void **state)
{
	_cleanup_folder_ struct folder root;

	(void)state;
	folder_make(&root);
	scene_put(&root, CONTAINERD "moby/" A "/config.json", "{\"annotations\":{}}");
	scene_put(&root, DOCKER, docker);
	assert_names(&root, CONTAINER_OTHER, "web", "", "", "docker.io/library/redis:7");
}

static void what_a_known_container_has_inside_gets_none_of_the_hosts_names(void **state)
{
	struct container_place place = scene_place(CONTAINER_DOCKER, A, "");
	_cleanup_folder_ struct folder root;

	(void)state;
	folder_make(&root);
	scene_put(&root, DOCKER, docker);
	strcpy(place.outer, B);
	/* The outer one isn't known here: we are in it, too. */
	_cleanup_container_ struct container *ours = scene_read_place(&root, &place);
	scene_is(ours, "web", "", "", "docker.io/library/redis:7");
	/* It is: then it has made up a group with another's name. */
	scene_put(&root, CONTAINERS, "[" STORED(B, "outer", "outer") "]");
	_cleanup_container_ struct container *inner = scene_read_place(&root, &place);
	scene_is(inner, "", "", "", "");
}

static void what_is_shown_is_the_name_else_the_first_digits(void **state)
{
	static const struct {
		const char *id, *uid, *name, *pod, *shown, *shown_pod;
	} cases[] = {
		{A, "", "web", "", "web", NULL},
		{A, "", "", "", "3f1c8a0e5d7b", NULL},
		{A, UID, "app", "web-0", "app", "web-0"},
		{A, UID, "", "", "3f1c8a0e5d7b", UID},
		{A, POD, "x", "", "x", "4ed66f0d11dd"},
		{A, "d03b0a2b6f8e1c3d4e5f9a7b6c5d4e3f", "x", "", "x",
		 "d03b0a2b6f8e1c3d4e5f9a7b6c5d4e3f"}, /* a static pod's */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct container_place place =
			scene_place(CONTAINER_OTHER, cases[i].id, cases[i].uid);
		_cleanup_container_ struct container *container = NULL;
		char text[CONTAINER_NAME_MAX];

		assert_int_equal(
			container_new(&container, &place, cases[i].name, cases[i].pod, NULL, NULL),
			0);
		assert_string_equal(container_label(container, text, sizeof(text)), cases[i].shown);
		const char *pod = container_pod_label(container, text, sizeof(text));
		assert_int_equal(pod != NULL, cases[i].shown_pod != NULL);
		if (pod)
			assert_string_equal(pod, cases[i].shown_pod);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(docker_tells_name_and_image),
		cmocka_unit_test(docker_may_keep_its_data_elsewhere),
		cmocka_unit_test(a_link_in_the_way_leads_below_the_root),
		cmocka_unit_test(docker_of_kubernetes_tells_the_pod_by_labels),
		cmocka_unit_test(podman_tells_name_and_image),
		cmocka_unit_test(podmans_that_are_removed_at_their_end_have_a_list_of_their_own),
		cmocka_unit_test(podmans_storage_is_where_its_conf_says),
		cmocka_unit_test(podmans_database_tells_the_pod),
		cmocka_unit_test(crio_tells_all_by_annotations),
		cmocka_unit_test(what_podman_leaves_beside_is_not_crios),
		cmocka_unit_test(containerd_of_kubernetes_tells_all_by_annotations),
		cmocka_unit_test(the_container_that_holds_a_pod_has_the_pod_only),
		cmocka_unit_test(nerdctl_tells_the_name_in_any_namespace),
		cmocka_unit_test(dockers_container_has_its_name_though_containerd_runs_it),
		cmocka_unit_test(what_a_known_container_has_inside_gets_none_of_the_hosts_names),
		cmocka_unit_test(what_is_shown_is_the_name_else_the_first_digits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
