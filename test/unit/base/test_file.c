// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit/lib/folder.h"

#include <limits.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/file.h"

#define TEMPORARIES ".stackprobe-tmp"

static int write_new(const struct folder *folder, const char *stem, const char *content,
		     char name[64])
{
	return file_write_new(folder->fd, folder->fd, stem, ".svg", content, strlen(content), name,
			      64);
}

static int mode_of(const struct folder *folder, const char *name)
{
	struct stat stat;

	assert_int_equal(fstatat(folder->fd, name, &stat, AT_SYMLINK_NOFOLLOW), 0);
	return stat.st_mode & 07777;
}

static void a_new_file_never_replaces_another(void **state)
{
	_cleanup_folder_ struct folder folder;
	char name[64];

	(void)state;
	folder_make(&folder);
	assert_int_equal(write_new(&folder, "a", "one", name), 0);
	assert_string_equal(name, "a.svg");
	assert_int_equal(write_new(&folder, "a", "two", name), 0);
	assert_string_equal(name, "a-2.svg");
	assert_int_equal(write_new(&folder, "a", "three", name), 0);
	assert_string_equal(name, "a-3.svg");
	folder_assert_content(&folder, "a.svg", "one");
	folder_assert_content(&folder, "a-2.svg", "two");
	assert_int_equal(symlinkat("/nonexistent", folder.fd, "b.svg"), 0);
	assert_int_equal(write_new(&folder, "b", "four", name), 0);
	assert_string_equal(name, "b-2.svg");
	assert_int_equal(mkdirat(folder.fd, "c.svg", 0755), 0);
	assert_int_equal(write_new(&folder, "c", "five", name), 0);
	assert_string_equal(name, "c-2.svg");
}

static void after_a_thousand_names_writing_gives_up(void **state)
{
	_cleanup_folder_ struct folder folder;
	char name[64];

	(void)state;
	folder_make(&folder);
	for (int i = 1; i <= 1000; i++)
		assert_int_equal(write_new(&folder, "a", "x", name), 0);
	assert_string_equal(name, "a-1000.svg");
	assert_int_equal(write_new(&folder, "a", "x", name), -EEXIST);
}

static void modes_are_those_of_the_contract_whatever_the_umask(void **state)
{
	static const mode_t umasks[] = {0, 0022, 0077, 0777};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(umasks); i++) {
		_cleanup_folder_ struct folder folder;
		char name[64];

		folder_make(&folder);
		mode_t before = umask(umasks[i]);
		int r = write_new(&folder, "a", "x", name);
		umask(before);
		assert_int_equal(r, 0);
		assert_int_equal(mode_of(&folder, name), 0640);
	}
}

/* What openat(O_TMPFILE) is on a file system without unnamed files. */
static void refuse_unnamed_files(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_TMPFILE & ~O_DIRECTORY, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EOPNOTSUPP),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {.len = ARRAY_SIZE(code), .filter = code};

	assert_int_equal(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	assert_int_equal(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0), 0);
}

static void where_there_are_no_unnamed_files_a_rename_does_the_same(void **state)
{
	_cleanup_folder_ struct folder folder;
	char name[64];
	int status;

	(void)state;
	folder_make(&folder);
	pid_t child = fork();
	if (child == 0) {
		refuse_unnamed_files();
		bool good =
			write_new(&folder, "a", "one", name) == 0 && strcmp(name, "a.svg") == 0 &&
			write_new(&folder, "a", "two", name) == 0 && strcmp(name, "a-2.svg") == 0;
		_exit(good ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	folder_assert_content(&folder, "a.svg", "one");
	folder_assert_content(&folder, "a-2.svg", "two");
	assert_int_equal(mode_of(&folder, "a-2.svg"), 0640);
	scratch_clean(folder.fd);
	assert_false(folder_has(&folder, TEMPORARIES));
}

static void a_link_takes_the_place_of_the_one_before(void **state)
{
	_cleanup_folder_ struct folder folder;
	char target[16] = "";

	(void)state;
	folder_make(&folder);
	assert_int_equal(file_link_new(folder.fd, folder.fd, "old", "latest"), 0);
	assert_int_equal(file_link_new(folder.fd, folder.fd, "new", "latest"), 0);
	assert_int_equal(readlinkat(folder.fd, "latest", target, sizeof(target) - 1), 3);
	assert_string_equal(target, "new");
	assert_int_equal(mkdirat(folder.fd, "folder", 0755), 0);
	assert_true(file_link_new(folder.fd, folder.fd, "new", "folder") < 0);
}

static void temporary_files_are_removed_only_if_their_process_has_gone(void **state)
{
	_cleanup_folder_ struct folder folder;
	char gone[64], alive[64];
	pid_t child = fork();

	(void)state;
	if (child == 0)
		_exit(0);
	assert_int_equal(waitpid(child, NULL, 0), child);
	folder_make(&folder);
	assert_int_equal(mkdirat(folder.fd, TEMPORARIES, 0750), 0);
	snprintf(gone, sizeof(gone), TEMPORARIES "/%d-1", (int)child);
	snprintf(alive, sizeof(alive), TEMPORARIES "/%d-1", (int)getppid());
	folder_put(&folder, gone, "x", 1);
	folder_put(&folder, alive, "x", 1);
	folder_put(&folder, TEMPORARIES "/mine.svg", "x", 1);
	folder_put(&folder, TEMPORARIES "/99999999-1.svg", "x", 1);
	scratch_clean(folder.fd);
	assert_false(folder_has(&folder, gone));
	assert_true(folder_has(&folder, alive));
	assert_true(folder_has(&folder, TEMPORARIES "/mine.svg"));
	assert_true(folder_has(&folder, TEMPORARIES "/99999999-1.svg"));
}

static void a_temporary_folder_that_is_a_link_is_left_alone(void **state)
{
	_cleanup_folder_ struct folder folder, other;

	(void)state;
	folder_make(&folder);
	folder_make(&other);
	folder_put(&other, "99999999-1", "x", 1); /* no pid is that high */
	assert_int_equal(symlinkat(other.path, folder.fd, TEMPORARIES), 0);
	scratch_clean(folder.fd);
	assert_true(folder_has(&other, "99999999-1"));
	assert_int_equal(file_link_new(folder.fd, folder.fd, "x", "latest"), -ELOOP);
}

/* In a container a daemon has the same pid after each start. */
static void what_a_killed_process_with_our_pid_left_does_not_hinder(void **state)
{
	_cleanup_folder_ struct folder folder;
	char name[64];

	(void)state;
	folder_make(&folder);
	assert_int_equal(mkdirat(folder.fd, TEMPORARIES, 0750), 0);
	for (int i = 1; i < 50; i++) {
		snprintf(name, sizeof(name), TEMPORARIES "/%d-%d", (int)getpid(), i);
		folder_put(&folder, name, "x", 1);
	}
	assert_int_equal(file_link_new(folder.fd, folder.fd, "x", "latest"), 0);
}

static int open_and_close(const char *root, const char *path)
{
	struct dir_steps steps;
	int fd = dir_open_below(root, path, &steps);

	if (fd >= 0)
		close(fd);
	return fd >= 0 ? 0 : fd;
}

static void folders_are_made_on_the_way(void **state)
{
	_cleanup_folder_ struct folder folder;
	struct dir_steps steps;

	(void)state;
	folder_make(&folder);
	_cleanup_close_ int fd = dir_open_below(folder.path, "/a//b/./c/", &steps);
	assert_true(fd >= 0);
	assert_true(folder_has(&folder, "a/b/c"));
	assert_int_equal(mode_of(&folder, "a/b"), 0750);
	assert_int_equal(steps.found, 1); /* bytes before "a" */
	assert_int_equal(open_and_close(folder.path, "a/b/c"), 0);
	assert_int_equal(open_and_close(folder.path, ""), 0);
	_cleanup_close_ int deeper = dir_open_below(folder.path, "a/b/c/d/e", &steps);
	assert_int_equal(steps.found, strlen("a/b/c/"));
	_cleanup_close_ int nothing = dir_open_below(folder.path, "a/b/c/d/e", &steps);
	assert_int_equal(steps.found, strlen("a/b/c/d/e"));
	assert_true(deeper >= 0 && nothing >= 0);
}

static void no_link_and_no_parent_is_followed_below_the_root(void **state)
{
	_cleanup_folder_ struct folder folder;
	char name[NAME_MAX + 2];

	(void)state;
	folder_make(&folder);
	assert_int_equal(symlinkat("/tmp", folder.fd, "link"), 0);
	assert_int_equal(symlinkat("nowhere", folder.fd, "dangling"), 0);
	folder_put(&folder, "file", "x", 1);
	assert_int_equal(open_and_close(folder.path, "link"), -ELOOP);
	assert_int_equal(open_and_close(folder.path, "link/x"), -ELOOP);
	assert_int_equal(open_and_close(folder.path, "dangling"), -ELOOP);
	assert_int_equal(open_and_close(folder.path, "file"), -ENOTDIR);
	assert_true(open_and_close(folder.path, "..") < 0);
	assert_true(open_and_close(folder.path, "a/../..") < 0);
	assert_int_equal(open_and_close("/nonexistent", "a"), -ENOENT);
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	assert_int_equal(open_and_close(folder.path, name), -ENAMETOOLONG);
}

/* Others would read what is written there, or put something else in its place. */
static void a_folder_that_is_not_ours_alone_is_eacces(void **state)
{
	static const mode_t bad[] = {0770, 0757, 01777, 02750};
	_cleanup_folder_ struct folder folder;
	struct dir_steps steps;

	(void)state;
	folder_make(&folder);
	assert_int_equal(mkdirat(folder.fd, "a", 0750), 0);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		assert_int_equal(fchmodat(folder.fd, "a", bad[i], 0), 0);
		assert_int_equal(open_and_close(folder.path, "a/b"), -EACCES);
		assert_int_equal(dir_find_below(folder.path, "a/b", &steps), -EACCES);
		assert_int_equal(steps.tried, 1);
		assert_false(folder_has(&folder, "a/b"));
	}
	assert_int_equal(fchmodat(folder.fd, "a", 0755, 0), 0);
	assert_int_equal(open_and_close(folder.path, "a/b"), 0);
	if (geteuid() != 0) {
		print_message("not root: no folder of another user\n");
		return;
	}
	assert_int_equal(fchownat(folder.fd, "a", 65534, -1, 0), 0);
	assert_int_equal(open_and_close(folder.path, "a/b"), -EACCES);
}

/* Who named it in the conf file chose its group. */
static void a_root_is_as_it_is_and_may_give_its_group(void **state)
{
	_cleanup_folder_ struct folder folder;

	(void)state;
	folder_make(&folder);
	assert_int_equal(fchmod(folder.fd, 03777), 0);
	assert_int_equal(open_and_close(folder.path, "a/b"), 0);
	assert_int_equal(mode_of(&folder, "a/b"), 02750);
	assert_int_equal(open_and_close(folder.path, "a/b"), 0);
	assert_int_equal(fchmod(folder.fd, 01777), 0);
	assert_int_equal(open_and_close(folder.path, "a/b"), -EACCES);
}

static void reading_stops_at_the_maximum(void **state)
{
	_cleanup_folder_ struct folder folder;
	char content[5000];

	(void)state;
	memset(content, 'c', sizeof(content));
	folder_make(&folder);
	folder_put(&folder, "f", content, sizeof(content));
	for (size_t max = 4999; max <= 5001; max++) {
		_cleanup_buf_ struct buf out = BUF_INIT(max);

		assert_int_equal(file_read(folder.fd, "f", &out), max < 5000 ? -ENOSPC : 0);
		assert_int_equal(out.len, max < 5000 ? max : 5000);
	}
	_cleanup_buf_ struct buf out = BUF_INIT(100);
	assert_int_equal(file_read(folder.fd, "missing", &out), -ENOENT);
	assert_int_equal(file_read(folder.fd, ".", &out), -EISDIR);
}

static void a_file_of_our_own_is_read_only_if_nobody_else_may_have_written_it(void **state)
{
	_cleanup_folder_ struct folder folder;
	_cleanup_buf_ struct buf out = BUF_INIT(100);
	struct stat stat;
	char path[128];

	(void)state;
	folder_make(&folder);
	snprintf(path, sizeof(path), "%s/state", folder.path);
	assert_int_equal(file_read_own(path, "mine", &out), -ENOENT);
	assert_int_equal(file_replace(path, "mine", "old", 3), 0);
	assert_int_equal(file_replace(path, "mine", "new", 3), 0);
	assert_int_equal(fstatat(folder.fd, "state", &stat, 0), 0);
	assert_int_equal(stat.st_mode & 0777, 0700);
	assert_int_equal(file_read_own(path, "mine", &out), 0);
	assert_int_equal(out.len, 3);
	assert_memory_equal(out.data, "new", 3);
	assert_int_equal(fchmodat(folder.fd, "state/mine", 0620, 0), 0);
	assert_int_equal(file_read_own(path, "mine", &out), -EPERM);
	assert_int_equal(file_read_own(folder.path, "state", &out), -EPERM);
	assert_int_equal(symlinkat("mine", folder.fd, "state/link"), 0);
	assert_int_equal(file_read_own(path, "link", &out), -ELOOP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_new_file_never_replaces_another),
		cmocka_unit_test(after_a_thousand_names_writing_gives_up),
		cmocka_unit_test(modes_are_those_of_the_contract_whatever_the_umask),
		cmocka_unit_test(where_there_are_no_unnamed_files_a_rename_does_the_same),
		cmocka_unit_test(a_link_takes_the_place_of_the_one_before),
		cmocka_unit_test(temporary_files_are_removed_only_if_their_process_has_gone),
		cmocka_unit_test(a_temporary_folder_that_is_a_link_is_left_alone),
		cmocka_unit_test(what_a_killed_process_with_our_pid_left_does_not_hinder),
		cmocka_unit_test(folders_are_made_on_the_way),
		cmocka_unit_test(a_folder_that_is_not_ours_alone_is_eacces),
		cmocka_unit_test(a_root_is_as_it_is_and_may_give_its_group),
		cmocka_unit_test(no_link_and_no_parent_is_followed_below_the_root),
		cmocka_unit_test(reading_stops_at_the_maximum),
		cmocka_unit_test(a_file_of_our_own_is_read_only_if_nobody_else_may_have_written_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
