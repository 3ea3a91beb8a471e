// SPDX-License-Identifier: GPL-2.0-or-later
/* What a target may lead to: that it isn't opened is seen by inotify, which tells of each opening
 * (but, since Linux 6.10, not of O_PATH). */
#include "unit/lib/folder.h"

#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>

#include "unit/lib/open_fds.h"
#include "proc/foreign.h"

#define TEXT   "what is read"
#define NOBODY 65534

static int open_as(const struct folder *root, const char *path, enum foreign_links links)
{
	const struct foreign file = {.root_fd = root->fd, .path = path, .links = links};
	struct stat stat;

	return foreign_open(&file, &stat);
}

static int opened(int fd)
{
	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

/* ---- whether it was opened ---- */

static int watch(const char *path)
{
	int notify = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);

	assert_true(notify >= 0);
	assert_true(inotify_add_watch(notify, path, IN_OPEN) >= 0);
	return notify;
}

static bool was_opened(int notify)
{
	char events[4096];

	return read(notify, events, sizeof(events)) > 0;
}

static bool tells_of_looking(const struct folder *root)
{
	char path[128];

	folder_put(root, "looked-at", TEXT, strlen(TEXT));
	snprintf(path, sizeof(path), "%s/looked-at", root->path);
	_cleanup_close_ int notify = watch(path);
	_cleanup_close_ int fd = open(path, O_PATH | O_CLOEXEC);
	return was_opened(notify);
}

/* ---- tests ---- */

static void a_plain_file_is_opened_for_reading(void **state)
{
	_cleanup_folder_ struct folder root;
	char text[32] = "";
	struct stat stat;

	(void)state;
	folder_make(&root);
	folder_put(&root, "file", TEXT, strlen(TEXT));
	const struct foreign file = {.root_fd = root.fd, .path = "/file"};
	_cleanup_close_ int fd = foreign_open(&file, &stat);
	assert_true(fd >= 0);
	assert_int_equal(stat.st_size, strlen(TEXT));
	assert_int_equal(read(fd, text, sizeof(text)), strlen(TEXT));
	assert_string_equal(text, TEXT);
	assert_int_equal(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
}

static void links_lead_where_the_mode_says(void **state)
{
	static const struct {
		const char *path;
		int in_root, last, none;
	} cases[] = {
		{"file", 0, 0, 0},
		{"folder/file", 0, 0, 0},
		{"link", 0, -ELOOP, -ELOOP},
		{"absolute", 0, -ELOOP, -ELOOP},
		{"by/file", 0, 0, -ELOOP},
		{"up", -ENOENT, -ELOOP, -ELOOP},
		{"../../../etc/passwd", -ENOENT, -ENOENT, -EXDEV},
		{"folder/../file", 0, 0, 0},
		{"loop", -ELOOP, -ELOOP, -ELOOP},
		{"none", -ENOENT, -ENOENT, -ENOENT},
		{"file/below", -ENOTDIR, -ENOTDIR, -ENOTDIR},
	};
	_cleanup_folder_ struct folder root;

	(void)state;
	folder_make(&root);
	assert_int_equal(mkdirat(root.fd, "folder", 0755), 0);
	folder_put(&root, "file", TEXT, strlen(TEXT));
	folder_put(&root, "folder/file", TEXT, strlen(TEXT));
	assert_int_equal(symlinkat("file", root.fd, "link"), 0);
	assert_int_equal(symlinkat("/folder/file", root.fd, "absolute"), 0);
	assert_int_equal(symlinkat("folder", root.fd, "by"), 0);
	assert_int_equal(symlinkat("../../../etc/passwd", root.fd, "up"), 0);
	assert_int_equal(symlinkat("loop", root.fd, "loop"), 0);
	unsigned fds = count_fds();
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *path = cases[i].path;

		assert_int_equal(opened(open_as(&root, path, FOREIGN_IN_ROOT)), cases[i].in_root);
		assert_int_equal(opened(open_as(&root, path, FOREIGN_LAST_FILE)), cases[i].last);
		assert_int_equal(opened(open_as(&root, path, FOREIGN_NO_LINKS)), cases[i].none);
	}
	assert_int_equal(count_fds(), fds);
}

static void in_our_own_root_no_link_of_proc_is_followed(void **state)
{
	struct foreign file = {.root_fd = FOREIGN_HERE, .path = "/proc/self/exe"};

	(void)state;
	assert_int_equal(foreign_open(&file, NULL), -ELOOP);
	file.path = "/proc/self/fd/0";
	assert_int_equal(foreign_open(&file, NULL), -ELOOP);
	file.path = "/etc/passwd";
	assert_int_equal(opened(foreign_open(&file, NULL)), 0);
}

static void what_is_no_plain_file_is_not_opened(void **state)
{
	static const char *const names[] = {"fifo", "folder", "null", "disk"};
	_cleanup_folder_ struct folder root;

	(void)state;
	folder_make(&root);
	bool looking_counts = tells_of_looking(&root);
	assert_int_equal(mkfifoat(root.fd, "fifo", 0666), 0); /* opening it would wait */
	assert_int_equal(mkdirat(root.fd, "folder", 0755), 0);
	bool has_devices = mknodat(root.fd, "null", S_IFCHR | 0666, makedev(1, 3)) == 0 &&
			   mknodat(root.fd, "disk", S_IFBLK | 0666, makedev(7, 0)) == 0;
	for (size_t i = 0; i < (has_devices ? 4 : 2); i++) {
		char path[128];

		snprintf(path, sizeof(path), "%s/%s", root.path, names[i]);
		_cleanup_close_ int notify = watch(path);
		for (enum foreign_links links = 0; links <= FOREIGN_NO_LINKS; links++)
			assert_int_equal(open_as(&root, names[i], links), -EINVAL);
		assert_true(looking_counts || !was_opened(notify));
	}
	if (!has_devices || looking_counts)
		skip(); /* no CAP_MKNOD; a kernel before 6.10 */
}

/* Regular files to fstat(), each of which may do things when it is opened or read. */
static void what_the_kernel_makes_up_is_not_opened(void **state)
{
	static const char *const paths[] = {
		"/proc/kmsg",
		"/proc/version",
		"/proc/self/maps",
		"/sys/kernel/notes",
		"/sys/kernel/tracing/trace_pipe",
		"/sys/kernel/debug/tracing/trace_pipe",
		"/sys/kernel/debug/sleep_time",
		"/sys/kernel/security/lsm",
		"/sys/fs/cgroup/cgroup.procs",
		"/sys/fs/cgroup/memory/cgroup.procs",
	};
	_cleanup_folder_ struct folder root;
	size_t seen = 0;

	(void)state;
	folder_make(&root);
	bool looking_counts = tells_of_looking(&root);
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		struct foreign file = {.root_fd = FOREIGN_HERE, .path = paths[i]};
		char link[160];

		if (access(paths[i], F_OK) < 0)
			continue;
		_cleanup_close_ int notify = watch(paths[i]);
		assert_int_equal(foreign_open(&file, NULL), -ENODEV);
		snprintf(link, sizeof(link), "%s/link%zu", root.path, i);
		assert_int_equal(symlink(paths[i], link), 0);
		file.path = link;
		assert_int_equal(foreign_open(&file, NULL), -ENODEV);
		assert_true(looking_counts || !was_opened(notify));
		seen++;
	}
	assert_true(seen >= 2);
}

static void only_owners_that_have_a_say_are_taken(void **state)
{
	const uid_t ours[] = {NOBODY, geteuid()}, others[] = {NOBODY, NOBODY - 1};
	_cleanup_folder_ struct folder root;
	struct stat stat = {0};

	(void)state;
	folder_make(&root);
	folder_put(&root, "file", TEXT, strlen(TEXT));
	struct foreign file = {.root_fd = root.fd, .path = "file"};
	file.rules = (struct foreign_rules){.owners = others, .owners_count = 2};
	assert_int_equal(foreign_open(&file, &stat), -EPERM);
	assert_int_equal(stat.st_uid, geteuid()); /* what is refused is told */
	file.rules.owners_count = 0;
	assert_int_equal(foreign_open(&file, NULL), -EPERM);
	file.rules = (struct foreign_rules){.owners = ours, .owners_count = 2};
	assert_int_equal(opened(foreign_open(&file, NULL)), 0);
	if (fchownat(root.fd, "file", NOBODY, NOBODY, 0) < 0)
		skip();
	file.rules.owners_count = 1;
	assert_int_equal(opened(foreign_open(&file, NULL)), 0);
	file.rules.owners = &ours[1];
	assert_int_equal(foreign_open(&file, NULL), -EPERM);
}

static void only_so_many_bytes_are_taken(void **state)
{
	_cleanup_folder_ struct folder root;

	(void)state;
	folder_make(&root);
	folder_put(&root, "file", TEXT, strlen(TEXT));
	struct foreign file = {.root_fd = root.fd, .path = "file"};
	file.rules.bytes_max = strlen(TEXT);
	file.rules.bytes_min = strlen(TEXT);
	assert_int_equal(opened(foreign_open(&file, NULL)), 0);
	file.rules.bytes_max--;
	assert_int_equal(foreign_open(&file, NULL), -EFBIG);
	file.rules.bytes_max = 0;
	file.rules.bytes_min++;
	assert_int_equal(foreign_open(&file, NULL), -ENODATA);
}

/* Whatever gets its name between looking and opening. */
static void what_was_looked_at_is_what_is_opened(void **state)
{
	static const struct foreign_rules any;
	_cleanup_folder_ struct folder root;
	char text[32] = "";
	struct stat stat;

	(void)state;
	folder_make(&root);
	folder_put(&root, "file", TEXT, strlen(TEXT));
	_cleanup_close_ int found = openat(root.fd, "file", O_PATH | O_CLOEXEC);
	assert_int_equal(foreign_check(found, &any, &stat), 0);
	assert_int_equal(unlinkat(root.fd, "file", 0), 0);
	assert_int_equal(mkfifoat(root.fd, "file", 0666), 0);
	_cleanup_close_ int fd = foreign_open_found(found, &any, &stat);
	assert_true(fd >= 0);
	assert_int_equal(read(fd, text, sizeof(text)), strlen(TEXT));
}

static void a_descriptor_of_any_number_is_opened_again(void **state)
{
	static const struct foreign_rules any;
	_cleanup_folder_ struct folder root;

	(void)state;
	folder_make(&root);
	folder_put(&root, "file", TEXT, strlen(TEXT));
	_cleanup_close_ int found = openat(root.fd, "file", O_PATH | O_CLOEXEC);
	for (int number = 9; number <= 1010; number += 91) {
		_cleanup_close_ int high = fcntl(found, F_DUPFD_CLOEXEC, number);

		if (high < 0)
			break; /* RLIMIT_NOFILE */
		assert_int_equal(opened(foreign_open_found(high, &any, NULL)), 0);
	}
}

static void whose_it_is_is_told_on_disks_and_in_memory(void **state)
{
	struct stat stat = {.st_dev = makedev(8, 1)};

	(void)state;
	assert_true(foreign_tells_owner(-1, &stat)); /* a disk's */
	_cleanup_close_ int memory = memfd_create("file", MFD_CLOEXEC);
	assert_int_equal(fstat(memory, &stat), 0);
	assert_true(foreign_tells_owner(memory, &stat));
	assert_false(foreign_tells_owner(-1, &stat)); /* not known which file system it is */
	_cleanup_close_ int other = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	assert_int_equal(fstat(other, &stat), 0);
	assert_false(foreign_tells_owner(other, &stat));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_plain_file_is_opened_for_reading),
		cmocka_unit_test(links_lead_where_the_mode_says),
		cmocka_unit_test(in_our_own_root_no_link_of_proc_is_followed),
		cmocka_unit_test(what_is_no_plain_file_is_not_opened),
		cmocka_unit_test(what_the_kernel_makes_up_is_not_opened),
		cmocka_unit_test(only_owners_that_have_a_say_are_taken),
		cmocka_unit_test(only_so_many_bytes_are_taken),
		cmocka_unit_test(what_was_looked_at_is_what_is_opened),
		cmocka_unit_test(a_descriptor_of_any_number_is_opened_again),
		cmocka_unit_test(whose_it_is_is_told_on_disks_and_in_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
