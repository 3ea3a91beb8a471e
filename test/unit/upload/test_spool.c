// SPDX-License-Identifier: GPL-2.0-or-later
/* Bodies on disk: real files in a real folder. */
#include "unit/lib/folder.h"
#include "unit/lib/open_fds.h"

#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "upload/spool/spool.h"
#include "upload/spool/spool_file.h"

#define UNTIL	 INT64_C(1795000000000000000)
#define FILENAME "01795000000000000000-00000000000000000007"

static const struct spool_key key = {UNTIL, 7};

struct scene {
	struct folder folder;
	char spool[128];
};

static void scene_make(struct scene *scene)
{
	folder_make(&scene->folder);
	snprintf(scene->spool, sizeof(scene->spool), "%s/state/spool", scene->folder.path);
}

static void scene_done(struct scene *scene)
{
	folder_done(&scene->folder);
}

static struct body *new_body(int64_t until_ns, const char *data, size_t bytes)
{
	static const struct body_texts texts = {"oncpu 12:30:00", "/push?a=b", "application/proto"};
	struct buf buf = BUF_INIT(BODY_BYTES_MAX + 1);
	struct body *body;

	buf_add(&buf, data, bytes);
	assert_int_equal(body_new(&body, &texts, until_ns, &buf), 0);
	return body;
}

static void put(const struct scene *scene, uint64_t number)
{
	_cleanup_body_ struct body *body = new_body(UNTIL, "hello", 5);

	assert_int_equal(spool_write(scene->spool, &(struct spool_key){UNTIL, number}, body), 0);
}

static int open_spool(const struct scene *scene)
{
	int fd = open(scene->spool, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static bool has(const struct scene *scene, const char *name)
{
	_cleanup_close_ int fd = open_spool(scene);
	struct stat stat;

	return fstatat(fd, name, &stat, AT_SYMLINK_NOFOLLOW) == 0;
}

static void put_file(const struct scene *scene, const char *name, const void *data, size_t bytes)
{
	_cleanup_close_ int dir_fd = open_spool(scene);
	_cleanup_close_ int fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, bytes), bytes);
}

static size_t read_file(const struct scene *scene, const char *name, char *to, size_t room)
{
	_cleanup_close_ int dir_fd = open_spool(scene);
	_cleanup_close_ int fd = openat(dir_fd, name, O_RDONLY);

	assert_true(fd >= 0);
	ssize_t n = read(fd, to, room);
	assert_true(n > 0);
	return (size_t)n;
}

static size_t count_names(const struct scene *scene)
{
	DIR *dir = opendir(scene->spool);
	size_t count = 0;

	assert_non_null(dir);
	for (struct dirent *entry; (entry = readdir(dir));)
		count += entry->d_name[0] != '.' || strlen(entry->d_name) > 2;
	closedir(dir);
	return count;
}

static void a_body_is_read_as_it_was_written(void **state)
{
	_cleanup_(scene_done) struct scene scene;
	char data[70000];
	uint64_t random = 1;

	(void)state;
	scene_make(&scene);
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (char)random_next(&random);
	unsigned fds = count_fds();
	_cleanup_body_ struct body *body = new_body(UNTIL, data, sizeof(data)), *read = NULL;
	assert_int_equal(spool_write(scene.spool, &key, body), 0);
	assert_true(has(&scene, FILENAME ".body"));
	assert_int_equal(count_names(&scene), 1);
	assert_int_equal(spool_load(scene.spool, &key, &read), 0);
	assert_string_equal(read->texts.what, "oncpu 12:30:00");
	assert_string_equal(read->texts.target, "/push?a=b");
	assert_string_equal(read->texts.content_type, "application/proto");
	assert_true(read->until_ns == UNTIL);
	assert_int_equal(read->bytes, sizeof(data));
	assert_memory_equal(read->data, data, sizeof(data));
	assert_int_equal(count_fds(), fds);
}

static void the_folder_and_its_files_are_ours_alone(void **state)
{
	_cleanup_(scene_done) struct scene scene;
	struct stat stat;
	mode_t before = umask(0);

	(void)state;
	scene_make(&scene);
	put(&scene, 7);
	umask(before);
	_cleanup_close_ int fd = open_spool(&scene);
	assert_int_equal(fstat(fd, &stat), 0);
	assert_int_equal(stat.st_mode & 07777, 0700);
	assert_int_equal(fstatat(fd, FILENAME ".body", &stat, 0), 0);
	assert_int_equal(stat.st_mode & 07777, 0600);
	_cleanup_body_ struct body *body = new_body(UNTIL, "hello", 5);
	assert_int_equal(stat.st_size, spool_file_bytes(body));
}

static void load(const struct scene *scene, const char *name)
{
	struct body *body;

	assert_int_equal(spool_load(scene->spool, &key, &body), 0);
	body_unref(body);
	assert_int_equal(count_names(scene), 1);
	assert_true(has(scene, name));
}

static void mark_back(const struct scene *scene, bool maybe, const char *name)
{
	assert_int_equal(spool_mark_back(scene->spool, &key, maybe), 0);
	assert_int_equal(count_names(scene), 1);
	assert_true(has(scene, name));
}

static void what_is_being_sent_has_another_name(void **state)
{
	_cleanup_(scene_done) struct scene scene;
	struct body *body;

	(void)state;
	scene_make(&scene);
	put(&scene, 7);
	load(&scene, FILENAME ".sent");
	for (int i = 0; i < 2; i++)
		mark_back(&scene, false, FILENAME ".body");
	load(&scene, FILENAME ".sent");
	mark_back(&scene, true, FILENAME ".sent");
	for (int i = 0; i < 3; i++) /* however often it was */
		load(&scene, FILENAME ".again");
	for (int i = 0; i < 2; i++)
		mark_back(&scene, true, FILENAME ".sent");
	load(&scene, FILENAME ".again");
	for (int i = 0; i < 2; i++) {
		assert_int_equal(spool_remove(scene.spool, &key), 0);
		assert_int_equal(count_names(&scene), 0);
	}
	assert_int_equal(spool_load(scene.spool, &key, &body), -ENOENT);
}

static void no_other_body_is_replaced(void **state)
{
	_cleanup_(scene_done) struct scene scene;
	_cleanup_body_ struct body *other = NULL, *read = NULL;

	(void)state;
	scene_make(&scene);
	put(&scene, 7);
	other = new_body(UNTIL, "another", 7);
	assert_int_equal(spool_write(scene.spool, &key, other), -EEXIST);
	assert_int_equal(count_names(&scene), 1);
	assert_int_equal(spool_load(scene.spool, &key, &read), 0);
	assert_memory_equal(read->data, "hello", 5);
}

static void the_oldest_is_listed_first(void **state)
{
	_cleanup_(scene_done) struct scene scene;
	_cleanup_(spool_list_done) struct spool_list list = {0};
	static const struct spool_key keys[] = {
		{UNTIL + 1, 1}, {UNTIL, 9}, {UNTIL, 8}, {5, 1000}, {INT64_MAX, UINT64_MAX}};
	_cleanup_body_ struct body *read = NULL;

	(void)state;
	scene_make(&scene);
	assert_int_equal(spool_list(scene.spool, &list), 0); /* no folder */
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		struct body *body = new_body(keys[i].until_ns, "hello", 5);

		assert_int_equal(spool_write(scene.spool, &keys[i], body), 0);
		body_unref(body);
	}
	assert_int_equal(spool_load(scene.spool, &keys[2], &read), 0);
	assert_int_equal(spool_list(scene.spool, &list), 0);
	assert_int_equal(list.count, 5);
	static const size_t order[] = {3, 2, 1, 0, 4};
	for (size_t i = 0; i < 5; i++) {
		assert_int_equal(spool_compare(&list.found[i].key, &keys[order[i]]), 0);
		assert_int_equal(list.found[i].doubts, order[i] == 2);
		assert_int_equal(list.found[i].bytes, spool_file_bytes(read));
	}
}

static void what_is_not_of_the_spool_is_left_alone(void **state)
{
	_cleanup_(scene_done) struct scene scene;
	_cleanup_(spool_list_done) struct spool_list list = {0};
	static const char *const names[] = {
		"README",
		"." FILENAME ".body",
		FILENAME ".tmp",
		FILENAME ".body2",
		FILENAME ".bod",
		"1795000000000000000-00000000000000000007.body",
		"0179500000000000000x-00000000000000000007.body",
		"09999999999999999999-00000000000000000007.body", /* not a time */
		"01795000000000000000-99999999999999999999.body",
		"01795000000000000000_00000000000000000007.body",
	};

	(void)state;
	scene_make(&scene);
	put(&scene, 1);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		put_file(&scene, names[i], "x", 1);
	put_file(&scene, "." FILENAME ".tmp", "x", 1); /* a daemon was killed here */
	_cleanup_close_ int fd = open_spool(&scene);
	assert_int_equal(mkdirat(fd, "01795000000000000000-00000000000000000002.body", 0700), 0);
	assert_int_equal(mkfifoat(fd, "01795000000000000000-00000000000000000003.body", 0600), 0);
	assert_int_equal(symlinkat("README", fd, "01795000000000000000-00000000000000000004.body"),
			 0);
	assert_int_equal(spool_list(scene.spool, &list), 0);
	assert_int_equal(list.count, 1);
	assert_true(list.found[0].key.number == 1);
	assert_false(has(&scene, "." FILENAME ".tmp"));
	assert_int_equal(count_names(&scene), 1 + ARRAY_SIZE(names) + 3);
}

static void what_took_the_place_of_a_file_is_not_followed(void **state)
{
	_cleanup_(scene_done) struct scene scene;
	struct body *body;

	(void)state;
	scene_make(&scene);
	put(&scene, 1);
	_cleanup_close_ int fd = open_spool(&scene);
	assert_int_equal(
		symlinkat("01795000000000000000-00000000000000000001.body", fd, FILENAME ".sent"),
		0);
	assert_int_equal(spool_load(scene.spool, &key, &body), -ELOOP);
	assert_int_equal(unlinkat(fd, FILENAME ".sent", 0), 0);
	assert_int_equal(mkfifoat(fd, FILENAME ".body", 0600), 0);
	assert_int_equal(spool_load(scene.spool, &key, &body), -ELOOP);
	/* Nor is a link written through, or a link for the folder. */
	assert_int_equal(unlinkat(fd, FILENAME ".body", 0), 0);
	assert_int_equal(symlinkat("there", fd, "." FILENAME ".tmp"), 0);
	_cleanup_body_ struct body *hello = new_body(UNTIL, "hello", 5);
	assert_int_equal(spool_write(scene.spool, &key, hello), -EEXIST);
	assert_false(has(&scene, "there"));
	char link[192];
	snprintf(link, sizeof(link), "%s/link", scene.folder.path);
	assert_int_equal(symlink(scene.spool, link), 0);
	assert_int_equal(spool_write(link, &key, hello), -ENOTDIR);
}

static void a_folder_that_others_may_write_to_is_not_used(void **state)
{
	_cleanup_(scene_done) struct scene scene;
	_cleanup_(spool_list_done) struct spool_list list = {0};
	_cleanup_body_ struct body *body = new_body(UNTIL, "hello", 5);

	(void)state;
	scene_make(&scene);
	put(&scene, 1);
	assert_int_equal(chmod(scene.spool, 01777), 0);
	assert_int_equal(spool_write(scene.spool, &key, body), -EPERM);
	assert_int_equal(spool_list(scene.spool, &list), -EPERM);
	assert_int_equal(chmod(scene.spool, 0755), 0);
	assert_int_equal(spool_write(scene.spool, &key, body), 0);
}

/* Each byte that is another one, and each place where the file ends early. */
static void damage_is_told(void **state)
{
	_cleanup_(scene_done) struct scene scene;
	char content[256];
	struct body *body;

	(void)state;
	scene_make(&scene);
	put(&scene, 7);
	size_t bytes = read_file(&scene, FILENAME ".body", content, sizeof(content));
	assert_int_equal(spool_remove(scene.spool, &key), 0);
	for (size_t i = 0; i < 2 * bytes; i++) {
		char damaged[257];

		memcpy(damaged, content, bytes);
		if (i < bytes)
			damaged[i] = (char)(damaged[i] ^ (1 << i % 8));
		put_file(&scene, FILENAME ".body", damaged, i < bytes ? bytes : i - bytes);
		assert_int_equal(spool_load(scene.spool, &key, &body), -EBADMSG);
		assert_int_equal(count_names(&scene), 0);
	}
	content[bytes] = 'x';
	put_file(&scene, FILENAME ".body", content, bytes + 1);
	assert_int_equal(spool_load(scene.spool, &key, &body), -EBADMSG);
	put_file(&scene, "01795000000000000000-00000000000000000008.body", content, bytes);
	assert_int_equal(spool_load(scene.spool, &(struct spool_key){UNTIL, 8}, &body), 0);
	body_unref(body);
	put_file(&scene, "01795000000000000001-00000000000000000008.body", content, bytes);
	assert_int_equal(spool_load(scene.spool, &(struct spool_key){UNTIL + 1, 8}, &body),
			 -EBADMSG); /* of another time */
}

static void a_file_may_not_ask_for_memory(void **state)
{
	_cleanup_(scene_done) struct scene scene;
	struct spool_header header = {SPOOL_MAGIC, SPOOL_VERSION, 0, 1, 1, 1, UNTIL, 0};
	struct body *body;

	(void)state;
	scene_make(&scene);
	put(&scene, 1);
	static const uint64_t sizes[] = {BODY_BYTES_MAX + 1, UINT64_MAX, 1ULL << 40};
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		header.bytes = sizes[i];
		put_file(&scene, FILENAME ".body", &header, sizeof(header));
		assert_int_equal(spool_load(scene.spool, &key, &body), -EBADMSG);
	}
	header.bytes = 1;
	static const uint32_t lengths[] = {0, BODY_TEXT_MAX + 1, UINT32_MAX};
	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
		header.target_bytes = lengths[i];
		put_file(&scene, FILENAME ".body", &header, sizeof(header));
		assert_int_equal(spool_load(scene.spool, &key, &body), -EBADMSG);
	}
}

static void a_file_that_grows_too_large_leaves_nothing(void **state)
{
	_cleanup_(scene_done) struct scene scene;
	struct rlimit before, limit;
	char data[8192] = "";
	_cleanup_body_ struct body *body = new_body(UNTIL, data, sizeof(data));

	(void)state;
	scene_make(&scene);
	put(&scene, 1);
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	limit = before;
	limit.rlim_cur = 4096;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	int r = spool_write(scene.spool, &key, body);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(r, -EFBIG);
	assert_int_equal(count_names(&scene), 1);
	assert_int_equal(spool_write(scene.spool, &key, body), 0);
}

static void a_full_disk_keeps_what_it_has(void **state)
{
	_cleanup_(scene_done) struct scene scene;
	_cleanup_(spool_list_done) struct spool_list list = {0};
	static char data[50000];
	_cleanup_body_ struct body *body = new_body(UNTIL, data, sizeof(data));
	struct spool_key at = {UNTIL, 0};
	int r = 0;

	(void)state;
	scene_make(&scene);
	if (mount("none", scene.folder.path, "tmpfs", 0, "size=256k") < 0) {
		print_message("not allowed to mount a tmpfs\n");
		skip();
	}
	for (; at.number < 20 && r == 0; at.number++)
		r = spool_write(scene.spool, &at, body);
	int listed = spool_list(scene.spool, &list);
	size_t names = listed < 0 ? 0 : count_names(&scene);
	/* And where nothing can be changed any more. */
	int remounted = mount("none", scene.folder.path, NULL, MS_REMOUNT | MS_RDONLY, NULL);
	struct body *loaded = NULL;
	int marked = spool_load(scene.spool, &(struct spool_key){UNTIL, 0}, &loaded);
	int removed = spool_remove(scene.spool, &(struct spool_key){UNTIL, 0});
	umount2(scene.folder.path, MNT_DETACH);
	body_unref(loaded);
	assert_int_equal(r, -ENOSPC);
	assert_int_equal(listed, 0);
	assert_in_range(list.count, 1, 5);
	assert_int_equal(list.count, names);
	assert_int_equal(remounted, 0);
	assert_int_equal(marked, -EROFS);
	assert_int_equal(removed, -EROFS);
}

static void a_folder_that_cannot_be_is_told(void **state)
{
	_cleanup_(scene_done) struct scene scene;
	_cleanup_body_ struct body *body = new_body(UNTIL, "hello", 5);
	char path[192];

	(void)state;
	scene_make(&scene);
	folder_put(&scene.folder, "file", "x", 1);
	snprintf(path, sizeof(path), "%s/file", scene.folder.path);
	assert_int_equal(spool_write(path, &key, body), -ENOTDIR);
	snprintf(path, sizeof(path), "%s/file/spool", scene.folder.path);
	assert_int_equal(spool_write(path, &key, body), -ENOTDIR);
	snprintf(path, sizeof(path), "%s/a/b/spool", scene.folder.path);
	assert_int_equal(spool_write(path, &key, body), -ENOENT);
	assert_false(folder_has(&scene.folder, "a"));
}

static void texts_and_bytes_have_a_maximum(void **state)
{
	static char text[BODY_TEXT_MAX + 1];
	struct body *body;

	(void)state;
	memset(text, 'x', BODY_TEXT_MAX);
	for (int i = 0; i < 2; i++) {
		struct buf bytes = BUF_INIT(100);
		struct body_texts texts = {"what", text + i, "type"};

		buf_str(&bytes, "hello");
		int r = body_new(&body, &texts, UNTIL, &bytes);
		assert_int_equal(r, i == 0 ? -EINVAL : 0);
		assert_null(bytes.data);
		if (r == 0)
			body_unref(body);
	}
}

/* Another process has it until it is told to end; the pipe to tell it. */
static int claim_elsewhere(const struct scene *scene, pid_t *pid)
{
	int tell[2], hear[2];
	char byte = 0;

	assert_int_equal(pipe2(tell, O_CLOEXEC), 0);
	assert_int_equal(pipe2(hear, O_CLOEXEC), 0);
	*pid = fork();
	assert_true(*pid >= 0);
	if (*pid == 0) {
		close(tell[1]);
		_exit(spool_claim(scene->spool, true) < 0 || write(hear[1], &byte, 1) != 1 ||
		      read(tell[0], &byte, 1) != 0);
	}
	close(tell[0]);
	close(hear[1]);
	assert_int_equal(read(hear[0], &byte, 1), 1);
	close(hear[0]);
	return tell[1];
}

static void a_folder_is_one_process_only(void **state)
{
	_cleanup_(scene_done) struct scene scene;
	pid_t pid;
	int status;

	(void)state;
	scene_make(&scene);
	assert_int_equal(spool_claim(scene.spool, false), -ENOENT);
	int tell = claim_elsewhere(&scene, &pid);
	assert_int_equal(spool_claim(scene.spool, false), -EBUSY);
	assert_int_equal(spool_claim(scene.spool, true), -EBUSY);
	close(tell);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	int fd = spool_claim(scene.spool, false);
	assert_true(fd >= 0);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_body_is_read_as_it_was_written),
		cmocka_unit_test(the_folder_and_its_files_are_ours_alone),
		cmocka_unit_test(what_is_being_sent_has_another_name),
		cmocka_unit_test(no_other_body_is_replaced),
		cmocka_unit_test(the_oldest_is_listed_first),
		cmocka_unit_test(what_is_not_of_the_spool_is_left_alone),
		cmocka_unit_test(what_took_the_place_of_a_file_is_not_followed),
		cmocka_unit_test(a_folder_that_others_may_write_to_is_not_used),
		cmocka_unit_test(damage_is_told),
		cmocka_unit_test(a_file_may_not_ask_for_memory),
		cmocka_unit_test(a_file_that_grows_too_large_leaves_nothing),
		cmocka_unit_test(a_full_disk_keeps_what_it_has),
		cmocka_unit_test(a_folder_that_cannot_be_is_told),
		cmocka_unit_test(texts_and_bytes_have_a_maximum),
		cmocka_unit_test(a_folder_is_one_process_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
