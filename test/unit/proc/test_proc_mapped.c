// SPDX-License-Identifier: GPL-2.0-or-later
/* Files that a process (this one, or its child) has mapped, by /proc/PID/map_files and, where that
 * isn't allowed, by their path in a root. */
#include "unit/lib/folder.h"

#include <linux/capability.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

#include "unit/lib/open_fds.h"
#include "proc/foreign.h"
#include "proc/mapped.h"

#define TEXT "what is mapped"

struct scene {
	struct folder folder;
	void *at;
	struct stat stat; /* of the file */
	struct mapped mapped;
	unsigned fds;
};

static int set_up(void **state)
{
	struct scene *scene = calloc(1, sizeof(*scene));

	*state = scene;
	folder_make(&scene->folder);
	folder_put(&scene->folder, "file", TEXT, strlen(TEXT));
	int fd = openat(scene->folder.fd, "file", O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &scene->stat), 0);
	scene->at = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	assert_true(scene->at != MAP_FAILED);
	close(fd);
	scene->mapped = (struct mapped){
		getpid(), (uintptr_t)scene->at, (uintptr_t)scene->at + 4096, -1, "/file", 0, 0,
		NULL};
	scene->fds = count_fds();
	return 0;
}

static int tear_down(void **state)
{
	struct scene *scene = *state;

	assert_int_equal(count_fds(), scene->fds);
	munmap(scene->at, 4096);
	folder_done(&scene->folder);
	free(scene);
	return 0;
}

/* What was opened is the file, for reading. */
static void assert_is_it(const struct scene *scene, int fd, const struct stat *stat)
{
	char text[32] = "";

	if (fd == -EPERM)
		skip(); /* no CAP_CHECKPOINT_RESTORE */
	assert_true(fd >= 0);
	assert_int_equal(stat->st_ino, scene->stat.st_ino);
	assert_int_equal(stat->st_dev, scene->stat.st_dev);
	assert_int_equal(read(fd, text, sizeof(text)), strlen(TEXT));
	assert_string_equal(text, TEXT);
	assert_int_equal(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
}

static void the_file_that_is_mapped_is_opened(void **state)
{
	struct scene *scene = *state;
	struct stat stat, looked;
	_cleanup_close_ int fd = mapped_open(&scene->mapped, &stat);

	assert_is_it(scene, fd, &stat);
	assert_int_equal(mapped_stat(&scene->mapped, &looked), 0);
	assert_int_equal(looked.st_ino, stat.st_ino);
}

static void one_that_is_replaced_or_deleted_is_still_the_one(void **state)
{
	struct scene *scene = *state;
	struct stat stat;

	folder_put(&scene->folder, "new", "another", 7);
	assert_int_equal(renameat(scene->folder.fd, "new", scene->folder.fd, "file"), 0);
	_cleanup_close_ int replaced = mapped_open(&scene->mapped, &stat);
	assert_is_it(scene, replaced, &stat);
	unlinkat(scene->folder.fd, "file", 0);
	_cleanup_close_ int deleted = mapped_open(&scene->mapped, &stat);
	assert_is_it(scene, deleted, &stat);
}

static void what_is_not_mapped_has_an_error(void **state)
{
	struct scene *scene = *state;
	struct mapped other = scene->mapped;
	struct stat stat;

	other.end += 4096;
	assert_int_equal(mapped_open(&other, &stat), -ENOENT);
	assert_int_equal(mapped_stat(&other, &stat), -ENOENT);
}

/* The mapping of a device isn't opened: that does things. */
static void a_device_that_is_mapped_is_never_opened(void **state)
{
	struct scene *scene = *state;
	struct stat stat;

	_cleanup_close_ int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	scene->fds += zero >= 0;
	void *at = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, zero, 0);
	struct mapped mapped = {getpid(), (uintptr_t)at, (uintptr_t)at + 4096, -1, NULL, 0,
				0,	  NULL};
	assert_int_equal(mapped_open(&mapped, &stat), -ENOEXEC);
	assert_int_equal(mapped_stat(&mapped, &stat), -ENOEXEC);
	munmap(at, 4096);
	close(TAKE_FD(zero));
	scene->fds--;
}

static void rules_refuse_what_is_mapped_too(void **state)
{
	struct scene *scene = *state;
	const uid_t other = scene->stat.st_uid + 1;
	const struct foreign_rules rules = {.owners = &other, .owners_count = 1};
	struct mapped mapped = scene->mapped;
	struct stat stat;

	mapped.rules = &rules;
	assert_int_equal(mapped_open(&mapped, &stat), -EPERM);
	assert_int_equal(mapped_stat(&mapped, &stat), -EPERM);
}

/* By path: out of the root no link leads, and nothing but a regular file is opened. */
static void by_path_only_a_regular_file_below_the_root_is_opened(void **state)
{
	static const struct {
		const char *path;
		int error; /* 0: it is the file */
	} cases[] = {
		{"/file", 0},
		{"file", 0},
		{"/../../file", 0},
		{"/inside", 0},
		{"/absolute", 0}, /* -> /file, below the root */
		{"/up", -ENOENT}, /* -> ../../../etc/passwd */
		{"/loop", -ELOOP},
		{"/magic", -ENOENT},
		{"/fifo", -ENOEXEC},
		{"/folder", -ENOEXEC},
		{"/file/below", -ENOTDIR},
		{"/none", -ENOENT},
	};
	struct scene *scene = *state;
	int root = scene->folder.fd;

	assert_int_equal(symlinkat("file", root, "inside"), 0);
	assert_int_equal(symlinkat("/file", root, "absolute"), 0);
	assert_int_equal(symlinkat("../../../etc/passwd", root, "up"), 0);
	assert_int_equal(symlinkat("loop", root, "loop"), 0);
	assert_int_equal(symlinkat("/proc/self/exe", root, "magic"), 0);
	assert_int_equal(mkfifoat(root, "fifo", 0600), 0); /* opening it would wait for ever */
	assert_int_equal(mkdirat(root, "folder", 0755), 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct stat stat;
		_cleanup_close_ int fd = mapped_open_path(root, cases[i].path, &stat);

		if (cases[i].error)
			assert_int_equal(fd, cases[i].error);
		else
			assert_is_it(scene, fd, &stat);
	}
}

/* The host's own root: links of /proc that lead anywhere are none. */
static void by_path_no_magic_link_is_followed(void **state)
{
	_cleanup_close_ int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct stat stat;

	(void)state;
	assert_int_equal(mapped_open_path(root, "/proc/self/exe", &stat), -ELOOP);
	assert_int_equal(mapped_open_path(root, "/proc/self/fd/0", &stat), -ELOOP);
}

static void drop_capabilities(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[2] = {0};

	if (syscall(SYS_capset, &header, none) < 0)
		_exit(9);
}

/* In the child: 0, or the number of the line that didn't hold. */
static int without_privileges(struct scene *scene)
{
	struct mapped by_path = scene->mapped;
	struct stat stat;

	drop_capabilities();
	by_path.pid = getpid();
	by_path.root_fd = scene->folder.fd;
	scene->mapped.pid = getpid();
	if (mapped_open(&scene->mapped, &stat) != -EPERM ||
	    mapped_stat(&scene->mapped, &stat) != -EPERM)
		return 1; /* no root is known */
	_cleanup_close_ int fd = mapped_open(&by_path, &stat);
	if (fd < 0 || stat.st_ino != scene->stat.st_ino)
		return 2;
	if (mapped_stat(&by_path, &stat) != 0 || stat.st_ino != scene->stat.st_ino)
		return 3;
	by_path.device = scene->stat.st_dev;
	by_path.inode = scene->stat.st_ino;
	if (mapped_stat(&by_path, &stat) != 0)
		return 6;
	by_path.inode++; /* another one has the path by now */
	if (mapped_open(&by_path, &stat) != -ESTALE || mapped_stat(&by_path, &stat) != -ESTALE)
		return 7;
	by_path.inode--;
	unlinkat(scene->folder.fd, "file", 0);
	if (mapped_open(&by_path, &stat) != -ENOENT)
		return 4;
	if (mkfifoat(scene->folder.fd, "file", 0600) < 0 ||
	    mapped_open(&by_path, &stat) != -ENOEXEC || mapped_stat(&by_path, &stat) != -ENOEXEC)
		return 5;
	return 0;
}

static void where_that_is_not_allowed_it_is_opened_by_its_path(void **state)
{
	struct scene *scene = *state;
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(without_privileges(scene));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* In a child: of a file system whose device isn't told alike everywhere. */
static int by_half_a_number(const struct scene *scene)
{
	struct mapped by_path = scene->mapped;
	struct stat stat;

	drop_capabilities();
	by_path.pid = getpid();
	by_path.root_fd = scene->folder.fd;
	by_path.device = makedev(0, 7);
	by_path.inode = scene->stat.st_ino + (UINT64_C(5) << 32);
	_cleanup_close_ int fd = mapped_open(&by_path, &stat);
	return fd >= 0 ? 0 : -fd;
}

static void what_half_a_number_tells_is_its_users_or_roots(void **state)
{
	const uid_t owners[] = {geteuid(), 12345};
	struct scene *scene = *state;

	if (geteuid() != 0)
		skip(); /* files can't be given to others */
	for (size_t i = 0; i < ARRAY_SIZE(owners); i++) {
		int status;

		assert_int_equal(fchownat(scene->folder.fd, "file", owners[i], -1, 0), 0);
		pid_t pid = fork();
		if (pid == 0)
			_exit(by_half_a_number(scene));
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(WEXITSTATUS(status), i ? ESTALE : 0);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_file_that_is_mapped_is_opened),
		TEST(one_that_is_replaced_or_deleted_is_still_the_one),
		TEST(what_is_not_mapped_has_an_error),
		TEST(a_device_that_is_mapped_is_never_opened),
		TEST(rules_refuse_what_is_mapped_too),
		TEST(by_path_only_a_regular_file_below_the_root_is_opened),
		TEST(by_path_no_magic_link_is_followed),
		TEST(where_that_is_not_allowed_it_is_opened_by_its_path),
		TEST(what_half_a_number_tells_is_its_users_or_roots),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
