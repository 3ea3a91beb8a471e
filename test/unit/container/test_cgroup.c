// SPDX-License-Identifier: GPL-2.0-or-later
/* Lines of /proc/PID/cgroup as each runtime's driver makes them. */
#include "unit/lib/unit.h"

#include "container/cgroup.h"

#define A	"3f1c8a0e5d7b42960a1b2c3d4e5f60718293a4b5c6d7e8f9012345678abcdef0"
#define B	"b7d41e02c9f85a3360718293a4b5c6d7e8f9012345678abcdef03f1c8a0e5d7c"
#define P	"4ed66f0d11dd825f21b2e0136c21fc0e96774cf12712645431c0cb5f577edc25"
#define UID	"0a2b6f8e-1c3d-4e5f-9a7b-6c5d4e3f2a1b"
#define UID_	"0a2b6f8e_1c3d_4e5f_9a7b_6c5d4e3f2a1b"
#define STATIC_ "d03b0a2b6f8e1c3d4e5f9a7b6c5d4e3f"

struct line {
	const char *path;
	enum container_runtime runtime;
	const char *id, *pod;
};

static struct cgroups parsed(const char *text)
{
	struct cgroups cgroups;

	memset(&cgroups, 0x55, sizeof(cgroups));
	cgroups_parse(text, strlen(text), &cgroups);
	return cgroups;
}

/* The same path by v2, by v1's systemd and by another one of v1. */
static void check(const struct line *line)
{
	static const char *const forms[] = {"0::%s\n", "12:pids:/\n1:name=systemd:%s\n0::/\n",
					    "4:memory:%s\n3:cpu,cpuacct:/\n"};

	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		char text[1024], path[1024];
		const char *at = strstr(forms[i], "%s");

		snprintf(path, sizeof(path), "%.*s", (int)(at - forms[i]), forms[i]);
		snprintf(text, sizeof(text), "%s%s%s", path, line->path, at + 2);
		struct cgroups cgroups = parsed(text);
		if (strcmp(cgroups.place.id, line->id) != 0 ||
		    strcmp(cgroups.place.pod_uid, line->pod) != 0 ||
		    cgroups.place.runtime != line->runtime)
			fail_msg("%s: %d %s in %s", text, cgroups.place.runtime, cgroups.place.id,
				 cgroups.place.pod_uid);
	}
}

static void check_all(const struct line *lines, size_t count)
{
	for (size_t i = 0; i < count; i++)
		check(&lines[i]);
}

static void docker_is_known_with_both_drivers(void **state)
{
	static const struct line lines[] = {
		{"/docker/" A, CONTAINER_DOCKER, A, ""},
		{"/system.slice/docker-" A ".scope", CONTAINER_DOCKER, A, ""},
		{"/system.slice/docker-" A ".scope/init.scope", CONTAINER_DOCKER, A, ""},
		{"/docker/" A "/system.slice/ssh.service", CONTAINER_DOCKER, A, ""},
		{"/user.slice/user-1000.slice/user@1000.service/user.slice/docker-" A ".scope",
		 CONTAINER_DOCKER, A, ""},
		{"/ecs/0c5a1fcfd4ab4ae8a7ed5b2e4a7a9f11/" A, CONTAINER_OTHER, A, ""},
		{"/my.slice/docker-" A ".scope", CONTAINER_DOCKER, A, ""},
		{"/system.slice/docker.service", CONTAINER_OTHER, "", ""},
		{"/system.slice/var-lib-docker-overlay2-" A "-merged.mount", CONTAINER_OTHER, "",
		 ""},
	};

	(void)state;
	check_all(lines, ARRAY_SIZE(lines));
}

static void podman_is_known_with_both_drivers_in_pods_and_of_users(void **state)
{
	static const struct line lines[] = {
		{"/libpod_parent/libpod-" A, CONTAINER_PODMAN, A, ""},
		{"/libpod_parent/" P "/libpod-" A, CONTAINER_PODMAN, A, P},
		{"/libpod_parent/" P "/libpod-" A "/container", CONTAINER_PODMAN, A, P},
		{"/machine.slice/libpod-" A ".scope", CONTAINER_PODMAN, A, ""},
		{"/machine.slice/libpod-" A ".scope/container", CONTAINER_PODMAN, A, ""},
		{"/machine.slice/libpod-" A ".scope/container/init.scope", CONTAINER_PODMAN, A, ""},
		{"/machine.slice/machine-libpod_pod_" P ".slice/libpod-" A ".scope",
		 CONTAINER_PODMAN, A, P},
		{"/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" A
		 ".scope/container",
		 CONTAINER_PODMAN, A, ""},
		{"/user.slice/user-1000.slice/user@1000.service/user.slice/user-libpod_pod_" P
		 ".slice/libpod-" A ".scope",
		 CONTAINER_PODMAN, A, P},
		/* --cgroups=split, of Quadlet */
		{"/system.slice/web.service/libpod-payload-" A, CONTAINER_PODMAN, A, ""},
		{"/system.slice/web.service/runtime", CONTAINER_OTHER, "", ""},
		/* --cgroup-parent */
		{"/jobs/" P "/libpod-" A, CONTAINER_PODMAN, A, P},
	};

	(void)state;
	check_all(lines, ARRAY_SIZE(lines));
}

static void conmon_is_outside_of_its_container(void **state)
{
	static const struct line lines[] = {
		{"/machine.slice/libpod-conmon-" A ".scope", CONTAINER_OTHER, "", ""},
		{"/machine.slice/machine-libpod_pod_" P ".slice/libpod-conmon-" A ".scope",
		 CONTAINER_OTHER, "", ""},
		{"/libpod_parent/conmon", CONTAINER_OTHER, "", ""},
		{"/libpod_parent/" P, CONTAINER_OTHER, "", ""},
		{"/jobs/" P "/libpod-conmon-" A, CONTAINER_OTHER, "", ""},
		{"/kubepods.slice/kubepods-pod" UID_ ".slice/crio-conmon-" A ".scope",
		 CONTAINER_OTHER, "", ""},
		{"/kubepods/pod" UID "/crio-conmon-" A, CONTAINER_OTHER, "", ""},
		/* podman in a container: its conmon runs in that one */
		{"/docker/" B "/libpod_parent/libpod-conmon-" A, CONTAINER_DOCKER, B, ""},
	};

	(void)state;
	check_all(lines, ARRAY_SIZE(lines));
}

static void containerd_is_known_by_itself_and_with_nerdctl(void **state)
{
	static const struct line lines[] = {
		{"/default/" A, CONTAINER_CONTAINERD, A, ""},
		{"/system.slice/nerdctl-" A ".scope", CONTAINER_CONTAINERD, A, ""},
		{"/k8s.io/" A, CONTAINER_CONTAINERD, A, ""},
		{"/default/myid", CONTAINER_OTHER, "",
		 ""}, /* ctr's: not told from any other group */
		{"/system.slice/containerd.service", CONTAINER_OTHER, "", ""},
	};

	(void)state;
	check_all(lines, ARRAY_SIZE(lines));
}

static void kubernetes_is_known_with_both_drivers_and_each_runtime(void **state)
{
	static const struct line lines[] = {
		{"/kubepods/besteffort/pod" UID "/" A, CONTAINER_OTHER, A, UID},
		{"/kubepods/burstable/pod" UID "/" A, CONTAINER_OTHER, A, UID},
		{"/kubepods/pod" UID "/" A, CONTAINER_OTHER, A, UID},
		{"/kubepods/burstable/pod" UID "/crio-" A, CONTAINER_CRIO, A, UID},
		{"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" UID_
		 ".slice/cri-containerd-" A ".scope",
		 CONTAINER_CONTAINERD, A, UID},
		{"/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" UID_
		 ".slice/crio-" A ".scope",
		 CONTAINER_CRIO, A, UID},
		{"/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" UID_
		 ".slice/crio-" A ".scope/container",
		 CONTAINER_CRIO, A, UID},
		{"/kubepods.slice/kubepods-pod" UID_ ".slice/docker-" A ".scope", CONTAINER_DOCKER,
		 A, UID},
		{"/kubepods.slice/kubepods-pod" UID_ ".slice/libpod-" A ".scope", CONTAINER_PODMAN,
		 A, UID},
		/* a static pod */
		{"/kubepods/burstable/pod" STATIC_ "/" A, CONTAINER_OTHER, A, STATIC_},
		{"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" STATIC_
		 ".slice/cri-containerd-" A ".scope",
		 CONTAINER_CONTAINERD, A, STATIC_},
		/* kubelet --cgroup-root */
		{"/node/main/kubepods/burstable/pod" UID "/" A, CONTAINER_OTHER, A, UID},
		{"/node.slice/node-kubepods.slice/node-kubepods-burstable.slice/"
		 "node-kubepods-burstable-pod" UID_ ".slice/cri-containerd-" A ".scope",
		 CONTAINER_CONTAINERD, A, UID},
		/* the kubelet has systemd's driver, containerd not */
		{"/system.slice/containerd.service/kubepods-besteffort-pod" UID_
		 ".slice:cri-containerd:" A,
		 CONTAINER_CONTAINERD, A, UID},
		{"/kubepods-burstable-pod" UID_ ".slice:crio:" A, CONTAINER_CRIO, A, UID},
		/* systemd in it */
		{"/kubepods/burstable/pod" UID "/" A "/init.scope", CONTAINER_OTHER, A, UID},
		{"/kubepods.slice/kubepods-pod" UID_ ".slice", CONTAINER_OTHER, "", ""},
		{"/kubepods/burstable/pod" UID, CONTAINER_OTHER, "", ""},
	};

	(void)state;
	check_all(lines, ARRAY_SIZE(lines));
}

static void a_path_seen_from_another_namespace_of_cgroups_is_read_too(void **state)
{
	static const struct line lines[] = {
		{"/../cri-containerd-" A ".scope", CONTAINER_CONTAINERD, A, ""},
		{"/../../pod" UID "/" A, CONTAINER_OTHER, A, UID},
		{"/../../kubepods-burstable-pod" UID_ ".slice/cri-containerd-" A ".scope",
		 CONTAINER_CONTAINERD, A, UID},
		{"/../libpod-" A, CONTAINER_PODMAN, A, ""},
		{"/../../../docker/" A, CONTAINER_DOCKER, A, ""},
		{"/..", CONTAINER_OTHER, "", ""},
		{"/", CONTAINER_OTHER, "", ""},
	};

	(void)state;
	check_all(lines, ARRAY_SIZE(lines));
}

static void of_nested_containers_it_is_the_inner_one_and_the_outermost_is_told(void **state)
{
	struct cgroups cgroups;

	(void)state;
	cgroups = parsed("0::/docker/" A "/docker/" B "\n");
	assert_string_equal(cgroups.place.id, B);
	assert_string_equal(cgroups.place.outer, A);
	/* kind: a node of Kubernetes is a container */
	cgroups = parsed("0::/docker/" A
			 "/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod" UID_
			 ".slice/cri-containerd-" B ".scope\n");
	assert_string_equal(cgroups.place.id, B);
	assert_string_equal(cgroups.place.pod_uid, UID);
	assert_string_equal(cgroups.place.outer, A);
	cgroups = parsed("0::/docker/" A "/libpod_parent/" P "/libpod-" B "/docker/" P "\n");
	assert_string_equal(cgroups.place.id, P);
	assert_string_equal(cgroups.place.outer, A);
	assert_string_equal(cgroups.place.pod_uid, "");
	/* a pod isn't an outer one, nor is one outside of itself */
	cgroups = parsed("0::/jobs/" P "/libpod-" B "\n");
	assert_string_equal(cgroups.place.outer, "");
	cgroups = parsed("1:name=systemd:/docker/" A "/docker/" A "/init.scope\n");
	assert_string_equal(cgroups.place.id, A);
	assert_string_equal(cgroups.place.outer, "");
	cgroups = parsed("0::/docker/" A "/docker/" B "/docker/" A "\n");
	assert_string_equal(cgroups.place.id, A);
	assert_string_equal(cgroups.place.outer, "");
}

static void a_rootless_container_has_its_user(void **state)
{
	struct cgroups cgroups;

	(void)state;
	cgroups = parsed("0::/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" A
			 ".scope/container\n");
	assert_int_equal(cgroups.place.user, 1000);
	cgroups = parsed("0::/machine.slice/libpod-" A ".scope\n");
	assert_int_equal(cgroups.place.user, 0);
	/* what is made inside tells nothing of it */
	cgroups = parsed("0::/machine.slice/libpod-" A ".scope/user.slice/user-1000.slice\n");
	assert_int_equal(cgroups.place.user, 0);
	cgroups = parsed("0::/user.slice/user-99999999999999999999.slice/libpod-" A ".scope\n");
	assert_int_equal(cgroups.place.user, 0);
	cgroups = parsed("0::/user.slice/user-4294967295.slice/libpod-" A ".scope\n");
	assert_int_equal(cgroups.place.user, 0);
	cgroups = parsed("0::/user.slice/user-.slice/libpod-" A ".scope\n");
	assert_int_equal(cgroups.place.user, 0);
	cgroups = parsed("0::/user.slice/user-1000.slice/session-1.scope\n");
	assert_int_equal(cgroups.place.user, 0);
}

static void the_line_of_v2_comes_first_then_systemds_then_the_first_of_the_others(void **state)
{
	struct cgroups cgroups;

	(void)state;
	cgroups =
		parsed("4:memory:/docker/" A "\n1:name=systemd:/docker/" B "\n0::/docker/" P "\n");
	assert_string_equal(cgroups.place.id, P);
	cgroups = parsed("4:memory:/docker/" A "\n1:name=systemd:/docker/" B "\n0::/\n");
	assert_string_equal(cgroups.place.id, B);
	cgroups = parsed("4:memory:/docker/" A "\n3:pids:/docker/" B "\n0::/init.scope\n");
	assert_string_equal(cgroups.place.id, A);
	assert_true(cgroups.has_v2);
	assert_string_equal(cgroups.path, "/init.scope");
	cgroups = parsed("4:memory:/docker/" A "\n");
	assert_false(cgroups.has_v2);
	assert_string_equal(cgroups.path, "");
}

static void a_removed_group_has_the_path_that_it_had(void **state)
{
	struct cgroups cgroups;

	(void)state;
	cgroups = parsed("0::/system.slice/docker-" A ".scope (deleted)\n");
	assert_string_equal(cgroups.place.id, A);
	assert_string_equal(cgroups.path, "/system.slice/docker-" A ".scope");
}

static void what_has_almost_the_form_is_none(void **state)
{
	static const char *const texts[] = {
		"",
		"\n\n\n",
		"0::",
		"0::\n",
		"::/docker/" A,
		"x::/docker/" A,
		"-1::/docker/" A,
		"0:/docker/" A,
		"0::docker/" A,
		"0::/docker/" A "0",
		"0::/docker/0" A,
		"0::/docker/" A "\r\n",
		"0::/docker-" A ".scope.scope",
		"0::/docker" A,
		"0::/docker/3F1C8A0E5D7B42960A1B2C3D4E5F60718293A4B5C6D7E8F9012345678ABCDEF0",
		"0::/docker/3f1c8a0e5d7b",
		"0::/docker\\x2d" A,
		"0::/a.slice:b:" A ":c",
		"0::/a.scope:b:" A,
		"0::/b:" A,
		"0::/docker-" A ".service",
		"0::/docker-" A ".slice",
		"0::/pod" UID,
		"0::/-" A "-",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct cgroups cgroups = parsed(texts[i]);

		if (cgroups.place.id[0] || cgroups.place.pod_uid[0] || cgroups.place.outer[0])
			fail_msg("%s: %s", texts[i], cgroups.place.id);
	}
}

static void what_is_no_uid_is_none_but_the_container_stays(void **state)
{
	static const char *const pods[] = {
		"/pod0a2b6f8e-1c3d-4e5f-9a7b-6c5d4e3f2a1/",  /* too short */
		"/pod0a2b6f8e-1c3d-4e5f-9a7b-6c5d4e3f2a1g/", /* no digit */
		"/pod0a2b6f8e01c3d04e5f09a7b06c5d4e3f2a1b/", /* no hyphens */
		"/pod0a2b6f8-e1c3d-4e5f-9a7b-6c5d4e3f2a1b/", /* hyphens elsewhere */
		"/kubepods_pod" UID_ ".slice/",
		"/machine-libpod_pod_" UID ".slice/",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(pods); i++) {
		char text[512];

		snprintf(text, sizeof(text), "0::/kubepods%s%s\n", pods[i], A);
		struct cgroups cgroups = parsed(text);
		assert_string_equal(cgroups.place.id, A);
		assert_string_equal(cgroups.place.pod_uid, "");
	}
}

static void lines_with_nul_and_lines_without_end_are_bounded(void **state)
{
	_cleanup_free_ char *text = malloc(1 << 20);
	static const char nul[] = "0::/a\0b/docker/" A "\n1:cpu:/docker/" B "\n";
	struct cgroups cgroups;

	(void)state;
	assert_non_null(text);
	cgroups_parse(nul, sizeof(nul) - 1, &cgroups);
	assert_string_equal(cgroups.place.id, B);
	assert_false(cgroups.has_v2);
	/* A path that has no room isn't cut; where it leads to is known all the same. */
	memset(text, 'a', 1 << 20);
	memcpy(text, "0::/", 4);
	memcpy(text + (1 << 20) - 72, "/docker/" A, 72);
	cgroups_parse(text, 1 << 20, &cgroups);
	assert_true(cgroups.has_v2);
	assert_string_equal(cgroups.path, "");
	assert_string_equal(cgroups.place.id, A);
	memset(text, '/', 1 << 20);
	cgroups_parse(text, 1 << 20, &cgroups);
	assert_string_equal(cgroups.place.id, "");
	memset(text, '\n', 1 << 20);
	cgroups_parse(text, 1 << 20, &cgroups);
	assert_false(cgroups.has_v2);
}

static void our_own_are_read_and_a_process_that_is_gone_says_so(void **state)
{
	_cleanup_free_ struct cgroups *cgroups = malloc(sizeof(*cgroups));

	(void)state;
	assert_non_null(cgroups);
	assert_int_equal(cgroups_read(getpid(), cgroups), 0);
	assert_true(!cgroups->has_v2 || cgroups->path[0] == '/');
	assert_int_equal(cgroups_read(0x3fffffff, cgroups), -ESRCH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(docker_is_known_with_both_drivers),
		cmocka_unit_test(podman_is_known_with_both_drivers_in_pods_and_of_users),
		cmocka_unit_test(conmon_is_outside_of_its_container),
		cmocka_unit_test(containerd_is_known_by_itself_and_with_nerdctl),
		cmocka_unit_test(kubernetes_is_known_with_both_drivers_and_each_runtime),
		cmocka_unit_test(a_path_seen_from_another_namespace_of_cgroups_is_read_too),
		cmocka_unit_test(
			of_nested_containers_it_is_the_inner_one_and_the_outermost_is_told),
		cmocka_unit_test(a_rootless_container_has_its_user),
		cmocka_unit_test(
			the_line_of_v2_comes_first_then_systemds_then_the_first_of_the_others),
		cmocka_unit_test(a_removed_group_has_the_path_that_it_had),
		cmocka_unit_test(what_has_almost_the_form_is_none),
		cmocka_unit_test(what_is_no_uid_is_none_but_the_container_stays),
		cmocka_unit_test(lines_with_nul_and_lines_without_end_are_bounded),
		cmocka_unit_test(our_own_are_read_and_a_process_that_is_gone_says_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
