// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit/proc/elf_maker.h"
#include "unit/lib/folder.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <zlib.h>

#include "elf/debugfile.h"

#define BUILD_ID "\x01\xab\xcd\xef\x04\x05\x06\x07"

static const struct symbol_plan symbols[] = {FUNCTION("hidden", 0x10, 0x20)};

/* A root with /bin/prog's folder, and where the debug file may lie. */
static void make_root(struct folder *root)
{
	static const char *const folders[] = {"bin",
					      "bin/.debug",
					      "usr",
					      "usr/lib",
					      "usr/lib/debug",
					      "usr/lib/debug/bin",
					      "usr/lib/debug/.build-id",
					      "usr/lib/debug/.build-id/01",
					      "usr/lib/debug/.dwz",
					      ".build-id",
					      ".build-id/01",
					      ".dwz"};

	folder_make(root);
	for (size_t i = 0; i < ARRAY_SIZE(folders); i++)
		assert_int_equal(mkdirat(root->fd, folders[i], 0755), 0);
}

static size_t debug_bytes(struct elf_maker *maker, const char *build_id)
{
	struct elf_plan plan = {.symbols = symbols,
				.symbols_count = 1,
				.no_code = true,
				.build_id = build_id,
				.build_id_bytes = build_id ? 8 : 0};

	return elf_make(maker, &plan);
}

static int program(const char *build_id, const char *debuglink, uint32_t crc)
{
	struct elf_plan plan = {.build_id = build_id,
				.build_id_bytes = build_id ? 8 : 0,
				.debuglink = debuglink,
				.crc = crc};

	return elf_file(&plan);
}

static int search_for(int fd, const struct debug_search *search)
{
	struct debug_search where = *search;
	struct debug_found remembered = {0};
	int found = debugfile_open(fd, &where, &remembered);

	/* What was found once is found again, without a search. */
	assert_true(remembered.searched);
	assert_int_equal(remembered.path != NULL, found >= 0);
	_cleanup_close_ int again = debugfile_open_again(&where, &remembered);
	assert_int_equal(again >= 0, found >= 0);
	if (found >= 0)
		close(found);
	free(remembered.path);
	return found >= 0 ? 0 : found;
}

static int search(int fd, const struct folder *root, const char *debugging_dir)
{
	struct debug_search where = {.root_fd = root ? root->fd : -1,
				     .path = "/bin/prog",
				     .debugging_dir = debugging_dir};

	return search_for(fd, &where);
}

static void a_debuglink_with_the_same_build_id_needs_no_crc(void **state)
{
	static struct elf_maker maker;
	_cleanup_folder_ struct folder root;
	_cleanup_close_ int fd = program(BUILD_ID, "prog.debug", 1);

	(void)state;
	make_root(&root);
	folder_put(&root, "bin/prog.debug", maker.image, debug_bytes(&maker, NULL));
	assert_int_equal(search(fd, &root, NULL), -ENOENT);
	folder_put(&root, "bin/prog.debug", maker.image, debug_bytes(&maker, BUILD_ID));
	assert_int_equal(search(fd, &root, NULL), 0);
}

/* Of a file that begins with `len` bytes and goes on with zeroes. */
static uint32_t crc_with_zeroes(const unsigned char *data, size_t len, size_t bytes)
{
	static const unsigned char zeroes[65536];
	uLong crc = crc32(0, data, (uInt)len);

	for (size_t n; len < bytes; len += n) {
		n = bytes - len < sizeof(zeroes) ? bytes - len : sizeof(zeroes);
		crc = crc32(crc, zeroes, (uInt)n);
	}
	return (uint32_t)crc;
}

static void one_that_is_too_large_is_not_checked(void **state)
{
	static struct elf_maker maker;
	size_t len = debug_bytes(&maker, NULL);
	_cleanup_folder_ struct folder root;
	struct debug_found found = {0};

	(void)state;
	make_root(&root);
	folder_put(&root, "bin/prog.debug", maker.image, len);
	_cleanup_close_ int sparse = openat(root.fd, "bin/prog.debug", O_RDWR | O_CLOEXEC);
	struct debug_search where = {.root_fd = root.fd, .path = "/bin/prog"};
	for (size_t more = 0; more < 2; more++) {
		size_t bytes = DEBUG_CHECKED_MAX + more;
		_cleanup_close_ int fd =
			program(NULL, "prog.debug", crc_with_zeroes(maker.image, len, bytes));

		assert_int_equal(ftruncate(sparse, (off_t)bytes), 0);
		assert_int_equal(search_for(fd, &where), more ? -ENOENT : 0);
		_cleanup_close_ int debug_fd = debugfile_open(fd, &where, &found);
		assert_int_equal(found.refused, more);
	}
	free(found.path);
}

/* Its sum tells whether a guess of what it has is right. */
static void what_is_no_elf_file_is_not_read_for_its_sum(void **state)
{
	static const char secret[64] =
		"root:x: a line that only root may read, longer than a header";
	_cleanup_folder_ struct folder root;
	_cleanup_close_ int fd =
		program(NULL, "prog.debug", crc_with_zeroes((const void *)secret, 64, 64));

	(void)state;
	make_root(&root);
	folder_put(&root, "bin/prog.debug", secret, sizeof(secret));
	assert_int_equal(search(fd, &root, NULL), -ENOENT);
}

#define NOBODY 65534
#define OTHER  65533

static void give(const struct folder *root, const char *name, uid_t owner)
{
	assert_int_equal(fchownat(root->fd, name, owner, owner, AT_SYMLINK_NOFOLLOW), 0);
}

static void need_root(void)
{
	if (geteuid())
		skip();
}

static void a_debug_file_is_somebodys_who_has_a_say(void **state)
{
	static struct elf_maker maker;
	_cleanup_folder_ struct folder root, named;
	_cleanup_close_ int fd = program(BUILD_ID, "prog.debug", 0);
	struct debug_found found = {0};

	(void)state;
	need_root();
	make_root(&root);
	make_root(&named);
	folder_put(&root, "bin/prog.debug", maker.image, debug_bytes(&maker, BUILD_ID));
	assert_int_equal(search(fd, &root, NULL), 0); /* root's */
	give(&root, "bin/prog.debug", NOBODY);
	struct debug_search where = {.root_fd = root.fd, .path = "/bin/prog"};
	assert_int_equal(debugfile_open(fd, &where, &found), -ENOENT);
	assert_true(found.refused && found.searched && !found.path);
	assert_int_equal(fchown(fd, NOBODY, NOBODY), 0); /* the program's owner's */
	assert_int_equal(search(fd, &root, NULL), 0);
	assert_int_equal(fchown(fd, OTHER, OTHER), 0);
	assert_int_equal(search(fd, &root, NULL), -ENOENT);
	folder_put(&named, "prog.debug", maker.image, debug_bytes(&maker, BUILD_ID));
	give(&named, "prog.debug", NOBODY);
	assert_int_equal(search(fd, &root, named.path), -ENOENT);
	assert_int_equal(fchown(named.fd, NOBODY, NOBODY), 0); /* the named folder's owner's */
	assert_int_equal(search(fd, &root, named.path), 0);
	assert_int_equal(search(fd, &named, NULL), -ENOENT);
}

static int wait_mapped(int fd, uid_t uid, int ready)
{
	void *at = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);

	if (at == MAP_FAILED || setresuid(uid, uid, uid) < 0 || prctl(PR_SET_DUMPABLE, 1) < 0 ||
	    write(ready, &at, sizeof(at)) != sizeof(at))
		return 1;
	for (;;)
		pause();
}

static void one_of_the_process_s_user_is_taken_while_it_has_the_file(void **state)
{
	static struct elf_maker maker;
	_cleanup_folder_ struct folder root;
	_cleanup_close_ int fd = program(BUILD_ID, "prog.debug", 0);
	struct stat stat;
	int ready[2];
	char *at;

	(void)state;
	need_root();
	make_root(&root);
	folder_put(&root, "bin/prog.debug", maker.image, debug_bytes(&maker, BUILD_ID));
	give(&root, "bin/prog.debug", NOBODY);
	assert_int_equal(pipe(ready), 0);
	pid_t pid = fork();
	if (pid == 0)
		_exit(wait_mapped(fd, NOBODY, ready[1]));
	assert_int_equal(read(ready[0], &at, sizeof(at)), sizeof(at));
	assert_int_equal(fstat(fd, &stat), 0);
	struct debug_search where = {
		.root_fd = root.fd,
		.path = "/bin/prog",
		.process = {pid, (uintptr_t)at, (uintptr_t)at + 4096, stat.st_dev, stat.st_ino},
	};
	assert_int_equal(search_for(fd, &where), 0);
	where.process.inode++; /* another file is mapped there now: another process, maybe */
	assert_int_equal(search_for(fd, &where), -ENOENT);
	where.process.inode--;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_int_equal(search_for(fd, &where), -ENOENT);
	close(ready[0]);
	close(ready[1]);
}

static void links_of_the_named_folder_stay_in_it(void **state)
{
	static const char path[] = ".build-id/01/abcdef04050607.debug";
	static struct elf_maker maker;
	size_t len = debug_bytes(&maker, BUILD_ID);
	_cleanup_folder_ struct folder named, outside;
	_cleanup_close_ int fd = program(BUILD_ID, NULL, 0);
	char target[128];

	(void)state;
	make_root(&named);
	folder_make(&outside);
	folder_put(&outside, "real", maker.image, len);
	snprintf(target, sizeof(target), "%s/real", outside.path);
	assert_int_equal(symlinkat(target, named.fd, path), 0);
	assert_int_equal(search(fd, NULL, named.path), -ENOENT);
	/* As those of an unpacked image. */
	assert_int_equal(unlinkat(named.fd, path, 0), 0);
	folder_put(&named, "real", maker.image, len);
	assert_int_equal(symlinkat("/real", named.fd, path), 0);
	assert_int_equal(search(fd, NULL, named.path), 0);
	assert_int_equal(unlinkat(named.fd, path, 0), 0);
	assert_int_equal(symlinkat("../../real", named.fd, path), 0);
	assert_int_equal(search(fd, NULL, named.path), 0);
}

/* As the kernel tells it of a process in a chroot. */
static void a_path_may_be_as_we_see_it(void **state)
{
	static struct elf_maker maker;
	char link[64], path[PATH_MAX] = "";
	_cleanup_folder_ struct folder root;
	_cleanup_close_ int fd = program(BUILD_ID, "prog.debug", 0);

	(void)state;
	make_root(&root);
	folder_put(&root, "bin/prog.debug", maker.image, debug_bytes(&maker, BUILD_ID));
	snprintf(link, sizeof(link), "/proc/self/fd/%d", root.fd);
	ssize_t bytes = readlink(link, path, sizeof(path) - 16);
	assert_true(bytes > 0);
	memcpy(path + bytes, "/bin/prog", sizeof("/bin/prog"));
	struct debug_search where = {.root_fd = root.fd, .path = path};
	assert_int_equal(search_for(fd, &where), 0);
}

static void a_debug_file_that_was_changed_since_is_not_taken_again(void **state)
{
	static struct elf_maker maker;
	static const char name[] = "usr/lib/debug/.build-id/01/abcdef04050607.debug";
	_cleanup_folder_ struct folder root;
	_cleanup_close_ int fd = program(BUILD_ID, NULL, 0);
	struct debug_found found = {0};

	(void)state;
	make_root(&root);
	folder_put(&root, name, maker.image, debug_bytes(&maker, BUILD_ID));
	struct debug_search where = {.root_fd = root.fd, .path = "/bin/prog"};
	_cleanup_close_ int first = debugfile_open(fd, &where, &found);
	assert_true(first >= 0);
	_cleanup_close_ int second = debugfile_open_again(&where, &found);
	assert_true(second >= 0);
	assert_int_equal(unlinkat(root.fd, name, 0), 0);
	assert_int_equal(debugfile_open_again(&where, &found), -ENOENT);
	folder_put(&root, name, "another", 7);
	assert_int_equal(debugfile_open_again(&where, &found), -ESTALE);
	free(found.path);
}

static void a_debug_file_is_found_by_build_id_in_the_process_root(void **state)
{
	static struct elf_maker maker;
	_cleanup_folder_ struct folder root;
	_cleanup_close_ int fd = program(BUILD_ID, NULL, 0);

	(void)state;
	make_root(&root);
	assert_int_equal(search(fd, &root, NULL), -ENOENT);
	folder_put(&root, "usr/lib/debug/.build-id/01/abcdef04050607.debug", maker.image,
		   debug_bytes(&maker, BUILD_ID));
	assert_int_equal(search(fd, &root, NULL), 0);
}

static void a_debug_file_of_another_build_is_not_taken(void **state)
{
	static struct elf_maker maker;
	_cleanup_folder_ struct folder root;
	_cleanup_close_ int fd = program(BUILD_ID, NULL, 0);

	(void)state;
	make_root(&root);
	folder_put(&root, "usr/lib/debug/.build-id/01/abcdef04050607.debug", maker.image,
		   debug_bytes(&maker, "\x01\xab\xcd\xef\x04\x05\x06\x08"));
	assert_int_equal(search(fd, &root, NULL), -ENOENT);
	folder_put(&root, "usr/lib/debug/.build-id/01/abcdef04050607.debug", "garbage", 7);
	assert_int_equal(search(fd, &root, NULL), -ENOENT);
}

static void a_debuglink_counts_with_the_right_crc_only(void **state)
{
	static const char *const places[] = {"bin/prog.debug", "bin/.debug/prog.debug",
					     "usr/lib/debug/bin/prog.debug"};
	static struct elf_maker maker;
	size_t len = debug_bytes(&maker, NULL);
	uint32_t crc = (uint32_t)crc32(0, maker.image, (uInt)len);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		_cleanup_folder_ struct folder root;
		_cleanup_close_ int right = program(NULL, "prog.debug", crc);
		_cleanup_close_ int wrong = program(NULL, "prog.debug", crc ^ 1);

		make_root(&root);
		folder_put(&root, places[i], maker.image, len);
		assert_int_equal(search(right, &root, NULL), 0);
		assert_int_equal(search(wrong, &root, NULL), -ENOENT);
	}
}

static void the_named_folder_is_looked_in(void **state)
{
	static const char *const by_id[] = {".build-id/01/abcdef04050607.debug",
					    "usr/lib/debug/.build-id/01/abcdef04050607.debug"};
	static const char *const by_link[] = {"bin/prog.debug", "prog.debug"};
	static struct elf_maker maker;
	size_t len = debug_bytes(&maker, BUILD_ID);
	uint32_t crc = (uint32_t)crc32(0, maker.image, (uInt)len);
	_cleanup_close_ int with_id = program(BUILD_ID, NULL, 0);
	_cleanup_close_ int with_link = program(NULL, "prog.debug", crc);

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		_cleanup_folder_ struct folder root, named;

		make_root(&root);
		make_root(&named);
		folder_put(&named, by_id[i], maker.image, len);
		assert_int_equal(search(with_id, &root, NULL), -ENOENT);
		assert_int_equal(search(with_id, &root, named.path), 0);
		folder_put(&named, by_link[i], maker.image, len);
		assert_int_equal(search(with_link, &root, named.path), 0);
	}
}

static void a_link_does_not_lead_out_of_the_process_root(void **state)
{
	static const char path[] = "usr/lib/debug/.build-id/01/abcdef04050607.debug";
	static struct elf_maker maker;
	_cleanup_folder_ struct folder root, outside;
	_cleanup_close_ int fd = program(BUILD_ID, NULL, 0);
	char target[128];

	(void)state;
	make_root(&root);
	folder_make(&outside);
	folder_put(&outside, "secret", maker.image, debug_bytes(&maker, BUILD_ID));
	snprintf(target, sizeof(target), "%s/secret", outside.path);
	assert_int_equal(symlinkat(target, root.fd, path), 0);
	assert_int_equal(search(fd, &root, NULL), -ENOENT);
	assert_int_equal(unlinkat(root.fd, path, 0), 0);
	/* One that stays inside may be followed. */
	folder_put(&root, "real", maker.image, debug_bytes(&maker, BUILD_ID));
	assert_int_equal(symlinkat("/real", root.fd, path), 0);
	assert_int_equal(search(fd, &root, NULL), 0);
}

static void a_fifo_in_place_of_a_debug_file_does_not_hang(void **state)
{
	_cleanup_folder_ struct folder root;
	_cleanup_close_ int fd = program(BUILD_ID, "prog.debug", 0);

	(void)state;
	make_root(&root);
	assert_int_equal(mkfifoat(root.fd, "usr/lib/debug/.build-id/01/abcdef04050607.debug", 0644),
			 0);
	assert_int_equal(mkfifoat(root.fd, "bin/prog.debug", 0644), 0);
	assert_int_equal(mkdirat(root.fd, "bin/.debug/prog.debug", 0755), 0);
	assert_int_equal(search(fd, &root, NULL), -ENOENT);
}

static void without_build_id_and_link_there_is_none(void **state)
{
	_cleanup_close_ int fd = program(NULL, NULL, 0), text = file_of("no ELF file", 11);

	(void)state;
	assert_int_equal(search(fd, NULL, "/nonexistent"), -ENOENT);
	assert_int_equal(search(text, NULL, NULL), -ENOEXEC);
	_cleanup_close_ int one_byte =
		elf_file(&(struct elf_plan){.build_id = "x", .build_id_bytes = 1});
	assert_int_equal(search(one_byte, NULL, "/"), -ENOENT);
}

/* A file that shares with the one of that build id (8 bytes), which its link calls `name`. */
static int sharing(const char *name)
{
	char content[128];
	size_t len = strlen(name) + 1;
	struct section_plan section = {".gnu_debugaltlink", content, len + 8};
	struct elf_plan plan = {.sections = &section, .sections_count = 1, .no_code = true};

	memcpy(content, name, len);
	memcpy(content + len, BUILD_ID, 8);
	return elf_file(&plan);
}

static int search_shared(int fd, const struct folder *root, const char *debugging_dir)
{
	struct debug_search where = {.root_fd = root ? root->fd : -1,
				     .path = "/bin/prog",
				     .debugging_dir = debugging_dir};
	_cleanup_close_ int found = debugfile_open_shared(fd, &where);

	return found < 0 ? found : 0;
}

static void what_debug_files_share_is_found_where_they_are(void **state)
{
	static const char *const places[] = {"usr/lib/debug/.build-id/01/abcdef04050607.debug",
					     "usr/lib/debug/.dwz/shared"};
	static const char *const named_places[] = {".dwz/shared", "usr/lib/debug/.dwz/shared",
						   ".build-id/01/abcdef04050607.debug"};
	static struct elf_maker maker;
	size_t len = debug_bytes(&maker, BUILD_ID);
	_cleanup_close_ int fd = sharing("../../.dwz/shared");

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		_cleanup_folder_ struct folder root;

		make_root(&root);
		assert_int_equal(search_shared(fd, &root, NULL), -ENOENT);
		folder_put(&root, places[i], maker.image, len);
		assert_int_equal(search_shared(fd, &root, NULL), 0);
	}
	for (size_t i = 0; i < ARRAY_SIZE(named_places); i++) {
		_cleanup_folder_ struct folder root, named;

		make_root(&root);
		make_root(&named);
		folder_put(&named, named_places[i], maker.image, len);
		assert_int_equal(search_shared(fd, &root, named.path), 0);
	}
}

static void shared_debug_data_is_nowhere_else(void **state)
{
	static const char *const names[] = {"/bin/shared",
					    "/usr/lib/debug/.dwz/../../../../bin/shared", "shared",
					    "/.dwz/", ""};
	static struct elf_maker maker;
	_cleanup_folder_ struct folder root;
	_cleanup_close_ int other = sharing("/usr/lib/debug/.dwz/shared");

	(void)state;
	make_root(&root);
	folder_put(&root, "bin/shared", maker.image, debug_bytes(&maker, BUILD_ID));
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		_cleanup_close_ int fd = sharing(names[i]);

		assert_int_equal(search_shared(fd, &root, NULL), -ENOENT);
	}
	folder_put(&root, "usr/lib/debug/.dwz/shared", maker.image,
		   debug_bytes(&maker, "\x01\xab\xcd\xef\x04\x05\x06\x08"));
	assert_int_equal(search_shared(other, &root, NULL), -ENOENT);
}

static void a_broken_link_to_shared_data_is_none(void **state)
{
	static char without_end[5000];
	const struct section_plan sections[] = {{".gnu_debugaltlink", "", 0},
						{".gnu_debugaltlink", "", 1},
						{".gnu_debugaltlink", "/.dwz/shared", 13},
						{".gnu_debugaltlink", without_end, 4000},
						{".gnu_debugaltlink", without_end, 5000}};

	(void)state;
	memset(without_end, 'a', sizeof(without_end));
	for (size_t i = 0; i < ARRAY_SIZE(sections); i++) {
		struct elf_plan plan = {.sections = &sections[i], .sections_count = 1};
		_cleanup_close_ int fd = elf_file(&plan);

		assert_int_equal(search_shared(fd, NULL, "/nonexistent"), -ENOENT);
	}
	_cleanup_close_ int none = program(BUILD_ID, NULL, 0);
	assert_int_equal(search_shared(none, NULL, NULL), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_debug_file_is_found_by_build_id_in_the_process_root),
		cmocka_unit_test(a_debug_file_of_another_build_is_not_taken),
		cmocka_unit_test(a_debug_file_that_was_changed_since_is_not_taken_again),
		cmocka_unit_test(a_debuglink_counts_with_the_right_crc_only),
		cmocka_unit_test(a_debuglink_with_the_same_build_id_needs_no_crc),
		cmocka_unit_test(one_that_is_too_large_is_not_checked),
		cmocka_unit_test(what_is_no_elf_file_is_not_read_for_its_sum),
		cmocka_unit_test(a_debug_file_is_somebodys_who_has_a_say),
		cmocka_unit_test(one_of_the_process_s_user_is_taken_while_it_has_the_file),
		cmocka_unit_test(links_of_the_named_folder_stay_in_it),
		cmocka_unit_test(a_path_may_be_as_we_see_it),
		cmocka_unit_test(the_named_folder_is_looked_in),
		cmocka_unit_test(a_link_does_not_lead_out_of_the_process_root),
		cmocka_unit_test(a_fifo_in_place_of_a_debug_file_does_not_hang),
		cmocka_unit_test(without_build_id_and_link_there_is_none),
		cmocka_unit_test(what_debug_files_share_is_found_where_they_are),
		cmocka_unit_test(shared_debug_data_is_nowhere_else),
		cmocka_unit_test(a_broken_link_to_shared_data_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
