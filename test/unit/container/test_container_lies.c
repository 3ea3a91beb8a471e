// SPDX-License-Identifier: GPL-2.0-or-later
/* A runtime's state that lies, is damaged, or belongs to somebody: its container keeps the id only.
 */
#include "unit/lib/unit.h"

#include <sys/inotify.h>

#include "unit/container/container_scene.h"

#define DOCKER_WITH(id, name, image)                                                               \
	"{\"ID\":\"" id "\",\"Name\":\"" name "\",\"Config\":{\"Image\":\"" image "\"}}"
#define STORED(id, name) "{\"id\":\"" id "\",\"names\":[\"" name "\"],\"metadata\":\"{}\"}"

static void a_name_that_no_runtime_gives_is_not_taken(void **state)
{
	static const char *const names[] = {
		"a\\u0000b", "\\\\\\u0000b",  "/",	   "",		 "//x",
		"/../x",     "/..",	      ".",	   "/a/b",	 "a/../../etc",
		"/\\u0000x", "/a\\nb",	      "/a\\u007f", "/a\\u0085b", "/a\xff",
		"/a\xc3",    "/\xed\xa0\x80",
	};
	_cleanup_folder_ struct folder root;

	(void)state;
	folder_make(&root);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		char text[512];

		snprintf(text, sizeof(text), DOCKER_WITH(A, "%s", "redis:7"), names[i]);
		scene_put(&root, DOCKER, text);
		_cleanup_container_ struct container *read =
			scene_read(&root, CONTAINER_DOCKER, A, "");
		if (read->name[0])
			fail_msg("%s is taken as %s", names[i], read->name);
	}
	scene_put(&root, DOCKER, DOCKER_WITH(A, "/\xc3\xa9t\xc3\xa9", "a\\u0001b"));
	assert_names(&root, CONTAINER_DOCKER, "\xc3\xa9t\xc3\xa9", "", "", "");
}

static void a_name_that_is_too_long_is_not_cut(void **state)
{
	char text[1024], name[CONTAINER_NAME_MAX + 1] = "";
	_cleanup_folder_ struct folder root;

	(void)state;
	folder_make(&root);
	memset(name, 'x', CONTAINER_NAME_MAX);
	snprintf(text, sizeof(text), DOCKER_WITH(A, "/%s", "i"), name);
	scene_put(&root, DOCKER, text);
	assert_names(&root, CONTAINER_DOCKER, "", "", "", "i");
	name[CONTAINER_NAME_MAX - 1] = '\0';
	snprintf(text, sizeof(text), DOCKER_WITH(A, "/%s", "i"), name);
	scene_put(&root, DOCKER, text);
	assert_names(&root, CONTAINER_DOCKER, name, "", "", "i");
}

static void json_that_is_cut_or_odd_tells_nothing(void **state)
{
	static const char whole[] = DOCKER_WITH(A, "/web", "redis:7");
	static const char *const odd[] = {
		"",
		"null",
		"[]",
		"\"" A "\"",
		"{}",
		"{\"ID\":1}",
		"{\"ID\":{},\"Name\":\"/x\"}",
		DOCKER_WITH(B, "/x", "i"),
		"{\"Name\":\"/x\"}",
		"{\"id\":\"" A "\",\"Name\":\"/x\"}",
	};
	_cleanup_folder_ struct folder root;

	(void)state;
	folder_make(&root);
	for (size_t cut = 0; cut < sizeof(whole) - 1; cut++) {
		char text[sizeof(whole)] = "";

		memcpy(text, whole, cut);
		scene_put(&root, DOCKER, text);
		assert_nameless(&root, CONTAINER_DOCKER);
	}
	for (size_t i = 0; i < ARRAY_SIZE(odd); i++) {
		scene_put(&root, DOCKER, odd[i]);
		assert_nameless(&root, CONTAINER_OTHER);
	}
	scene_put(&root, DOCKER, "{\"ID\":\"" A "\",\"Name\":[\"/x\"],\"Config\":[1,{}]}");
	assert_nameless(&root, CONTAINER_DOCKER);
	scene_put(&root, DOCKER, "{\"ID\":\"" A "\",\"Name\":\"/x\",\"Config\":{\"Image\":7}}");
	assert_names(&root, CONTAINER_DOCKER, "x", "", "", "");
	scene_put(&root, CRIO, "{\"annotations\":[\"io.kubernetes.cri-o.ContainerType\"]}");
	assert_nameless(&root, CONTAINER_CRIO);
	scene_put(&root, CONTAINERD "k8s.io/" A "/config.json", "{\"annotations\":7}");
	assert_nameless(&root, CONTAINER_CONTAINERD);
}

static void json_that_is_deep_or_large_is_refused(void **state)
{
	_cleanup_free_ char *text = malloc(5 << 20);
	_cleanup_folder_ struct folder root;

	(void)state;
	folder_make(&root);
	assert_non_null(text);
	memset(text, '[', 500000);
	text[500000] = '\0';
	scene_put(&root, DOCKER, text);
	assert_nameless(&root, CONTAINER_DOCKER);
	memset(text, '{', 500000);
	memcpy(text, "[", 1);
	memcpy(text + 499000, STORED(A, "x"), sizeof(STORED(A, "x")) - 1);
	scene_put(&root, CONTAINERS, text);
	assert_nameless(&root, CONTAINER_PODMAN);
	/* 1 MiB of one container, 4 of a list */
	memset(text, ' ', 5 << 20);
	memcpy(text, DOCKER_WITH(A, "/x", "i"), sizeof(DOCKER_WITH(A, "/x", "i")) - 1);
	text[(1 << 20) + 1] = '\0';
	scene_put(&root, DOCKER, text);
	assert_nameless(&root, CONTAINER_DOCKER);
	text[1 << 20] = '\0';
	scene_put(&root, DOCKER, text);
	assert_names(&root, CONTAINER_DOCKER, "x", "", "", "i");
}

static void a_list_of_thousands_is_read_and_what_is_cut_off_behind_one_harms_it_not(void **state)
{
	_cleanup_free_ char *text = malloc(5 << 20);
	_cleanup_folder_ struct folder root;
	size_t len = 1;

	(void)state;
	folder_make(&root);
	assert_non_null(text);
	text[0] = '[';
	for (unsigned i = 0; i < 8000; i++) /* ours at last; others name it, or begin like it */
		len += (size_t)snprintf(text + len, (5 << 20) - len,
					"{\"id\":\"%08x%.56s\",\"names\":[\"n%u\"],\"note\":\"" A
					"}{\\\"\","
					"\"metadata\":\"{}\",\"pad\":\"%0250d\"},",
					i, A, i, 0);
	len += (size_t)snprintf(text + len, (5 << 20) - len, "%s,{\"id\":\"", STORED(A, "mine"));
	assert_true(len < 4 << 20);
	scene_put(&root, CONTAINERS, text);
	assert_names(&root, CONTAINER_PODMAN, "mine", "", "", "");
	memset(text + len, ' ', (4 << 20) - len + 1);
	text[(4 << 20) + 1] = '\0';
	scene_put(&root, CONTAINERS, text);
	assert_nameless(&root, CONTAINER_PODMAN);
}

static void what_is_no_file_is_not_read(void **state)
{
	static const char *const paths[] = {DOCKER,
					    CONTAINERS,
					    CRIO,
					    CONTAINERD "k8s.io/" A "/config.json",
					    "etc/docker/daemon.json",
					    "etc/containers/storage.conf"};

	(void)state;
	for (int kind = 0; kind < 4; kind++) {
		_cleanup_folder_ struct folder root;

		folder_make(&root);
		for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
			scene_folders(&root, paths[i]);
			if (kind == 0) /* an open for reading would wait for a writer */
				assert_int_equal(mkfifoat(root.fd, paths[i], 0644), 0);
			else if (kind == 1)
				assert_int_equal(symlinkat("config.v2.json", root.fd, paths[i]), 0);
			else if (kind == 2)
				assert_int_equal(mkdirat(root.fd, paths[i], 0755), 0);
			else
				assert_int_equal(symlinkat("/proc/self/fd/0", root.fd, paths[i]),
						 0);
		}
		assert_nameless(&root, CONTAINER_OTHER);
	}
}

/* Opening some files does something: a FIFO's writer goes on, a watchdog begins. */
static void nobody_sees_an_open_of_what_is_no_file(void **state)
{
	_cleanup_close_ int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	_cleanup_folder_ struct folder root;
	char path[512], events[1024];

	(void)state;
	folder_make(&root);
	scene_folders(&root, DOCKER);
	assert_int_equal(mkfifoat(root.fd, DOCKER, 0644), 0);
	snprintf(path, sizeof(path), "%s/" DOCKER, root.path);
	assert_true(inotify_add_watch(watch, path, IN_OPEN) >= 0);
	assert_nameless(&root, CONTAINER_DOCKER);
	assert_int_equal(read(watch, events, sizeof(events)), -1);
	assert_int_equal(errno, EAGAIN);
	close(open(path, O_RDONLY | O_NONBLOCK)); /* and it would be seen */
	assert_true(read(watch, events, sizeof(events)) > 0);
}

static void a_link_out_of_the_root_finds_nothing(void **state)
{
	_cleanup_folder_ struct folder root, outside;
	char target[128];

	(void)state;
	folder_make(&root);
	folder_make(&outside);
	folder_put(&outside, "x", DOCKER_WITH(A, "/x", "i"), strlen(DOCKER_WITH(A, "/x", "i")));
	scene_folders(&root, DOCKER);
	snprintf(target, sizeof(target), "../../../../../../../..%s/x", outside.path);
	assert_int_equal(symlinkat(target, root.fd, DOCKER), 0);
	assert_nameless(&root, CONTAINER_DOCKER);
}

static void an_id_that_is_none_is_no_path(void **state)
{
	static const char *const ids[] = {"", "..", "../../../../etc/passwd", "3f1c8a0e5d7b"};
	_cleanup_folder_ struct folder root;

	(void)state;
	folder_make(&root);
	scene_put(&root, "var/lib/docker/config.v2.json", DOCKER_WITH("..", "/x", "i"));
	for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
		_cleanup_container_ struct container *read =
			scene_read(&root, CONTAINER_OTHER, ids[i], "");
		scene_is(read, "", "", "", "");
	}
}

static void a_root_that_is_not_there_leaves_the_id(void **state)
{
	struct container_place place = scene_place(CONTAINER_OTHER, A, POD);
	_cleanup_container_ struct container *container = NULL;

	(void)state;
	assert_int_equal(container_names_read(&container, "/nonexistent", &place), 0);
	assert_string_equal(container->place.id, A);
	assert_string_equal(container->place.pod_uid, POD);
	scene_is(container, "", "", "", "");
}

#define USERS "home/alice/.local/share/containers/storage/overlay-containers/"

static void give(const struct folder *root, const char *path, uid_t user)
{
	char folder[512];

	for (const char *at = strchr(strchr(path, '/') + 1, '/'); at; at = strchr(at + 1, '/')) {
		snprintf(folder, sizeof(folder), "%.*s", (int)(at - path), path);
		assert_int_equal(fchownat(root->fd, folder, user, user, 0), 0);
	}
	assert_int_equal(fchownat(root->fd, path, user, user, AT_SYMLINK_NOFOLLOW), 0);
}

static void need_root(void)
{
	if (getuid() != 0) {
		print_message("skipped: only root can give files to others\n");
		skip();
	}
}

static struct container *users(const struct folder *root, uid_t user, const char *id)
{
	struct container_place place = scene_place(CONTAINER_PODMAN, id, "");

	place.user = user;
	return scene_read_place(root, &place);
}

static void a_users_state_names_his_own_containers_only(void **state)
{
	_cleanup_folder_ struct folder root;

	(void)state;
	need_root();
	folder_make(&root);
	scene_put(&root, USERS "containers.json", "[" STORED(A, "his") "," STORED(B, "b") "]");
	give(&root, USERS "containers.json", 1000);
	_cleanup_container_ struct container *his = users(&root, 1000, A);
	assert_string_equal(his->name, "his");
	_cleanup_container_ struct container *other = users(&root, 1001, A);
	assert_string_equal(other->name, "");
	/* the host's */
	assert_nameless(&root, CONTAINER_PODMAN);
	assert_nameless(&root, CONTAINER_OTHER);
	/* and the host's state names no user's */
	scene_put(&root, CONTAINERS, "[" STORED(B, "hosts") "]");
	_cleanup_container_ struct container *b = users(&root, 1000, B);
	assert_string_equal(b->name, "b");
	/* docker without root */
	scene_put(&root, "home/alice/.local/share/docker/containers/" A "/config.v2.json",
		  DOCKER_WITH(A, "/docked", "i"));
	give(&root, "home/alice/.local/share/docker/containers/" A "/config.v2.json", 1000);
	struct container_place place = scene_place(CONTAINER_DOCKER, A, "");
	place.user = 1000;
	_cleanup_container_ struct container *docked = scene_read_place(&root, &place);
	assert_string_equal(docked->name, "docked");
	/* a file in his folder that isn't his */
	assert_int_equal(fchownat(root.fd, USERS "containers.json", 0, 0, 0), 0);
	_cleanup_container_ struct container *roots = users(&root, 1000, A);
	assert_string_equal(roots->name, "");
}

static void a_users_link_is_not_followed(void **state)
{
	_cleanup_folder_ struct folder root;

	(void)state;
	need_root();
	folder_make(&root);
	scene_put(&root, USERS "real.json", "[" STORED(A, "his") "]");
	give(&root, USERS "real.json", 1000);
	assert_int_equal(symlinkat("real.json", root.fd, USERS "containers.json"), 0);
	give(&root, USERS "containers.json", 1000);
	_cleanup_container_ struct container *linked = users(&root, 1000, A);
	assert_string_equal(linked->name, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_name_that_no_runtime_gives_is_not_taken),
		cmocka_unit_test(a_name_that_is_too_long_is_not_cut),
		cmocka_unit_test(json_that_is_cut_or_odd_tells_nothing),
		cmocka_unit_test(json_that_is_deep_or_large_is_refused),
		cmocka_unit_test(
			a_list_of_thousands_is_read_and_what_is_cut_off_behind_one_harms_it_not),
		cmocka_unit_test(what_is_no_file_is_not_read),
		cmocka_unit_test(nobody_sees_an_open_of_what_is_no_file),
		cmocka_unit_test(a_link_out_of_the_root_finds_nothing),
		cmocka_unit_test(an_id_that_is_none_is_no_path),
		cmocka_unit_test(a_root_that_is_not_there_leaves_the_id),
		cmocka_unit_test(a_users_state_names_his_own_containers_only),
		cmocka_unit_test(a_users_link_is_not_followed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
