// SPDX-License-Identifier: GPL-2.0-or-later
/* A database that podman made, and others that are made here, right and wrong. */
#include "unit/lib/unit.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <zlib.h>

#include "unit/container/bolt_maker.h"
#include "container/bolt.h"

#define WEB    "e124a3648f74fb0350b7a6bc76323cf92518d9a0ea97e0ab8a28c5d036c6f431"
#define BATCH  "9aed93b6796f9a5a9bc80548b98d7747a8c92a346647644e3b091e30696a526a"
#define MANY60 "d32fcd565d74797fc3e81325fcfde696497f54258f03ad96426000cad2a2c774"
#define INWEB  "137081a07950757cba7f635e3c2e27f468739c2be7938a699fb6acfb038a65c3"
#define ALONE  "2c67b5813ac0cf2bf187d91b076cc1e946ba82c79a1fbae989060b108e7b40a9"

static int file_of(const void *data, size_t bytes)
{
	int fd = memfd_create("bolt", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, bytes), bytes);
	return fd;
}

static int get(int fd, char *text, size_t bytes, const char *first, const char *second,
	       const char *third)
{
	return bolt_get(fd, (const char *const[]){first, second, third, NULL}, text, bytes);
}

#define assert_value(fd, expected, ...)                                                            \
	do {                                                                                       \
		char text_[256] = "";                                                              \
		assert_int_equal(get(fd, text_, sizeof(text_), __VA_ARGS__), strlen(expected));    \
		assert_string_equal(text_, expected);                                              \
	} while (0)
#define assert_error(fd, error, ...)                                                               \
	do {                                                                                       \
		char text_[256] = "";                                                              \
		assert_int_equal(get(fd, text_, sizeof(text_), __VA_ARGS__), error);               \
	} while (0)

/* Made by podman 4.3.1: 62 pods, a container in one of them and one in none. */
static int open_podmans(size_t *bytes)
{
	gzFile packed = gzopen("test/unit/container/bolt_podman.db.gz", "rb");
	_cleanup_free_ char *data = malloc(1 << 20);
	int n;

	assert_non_null(packed);
	assert_non_null(data);
	n = gzread(packed, data, 1 << 20);
	assert_true(n > 65536);
	gzclose(packed);
	*bytes = (size_t)n;
	return file_of(data, (size_t)n);
}

static void podmans_own_is_read(void **state)
{
	size_t bytes;
	_cleanup_close_ int fd = open_podmans(&bytes);
	static char config[65536];

	(void)state;
	assert_value(fd, "web", "id-registry", WEB, NULL);
	assert_value(fd, "batch.jobs", "id-registry", BATCH, NULL);
	assert_value(fd, "many60", "id-registry", MANY60, NULL);
	assert_value(fd, "alone", "id-registry", ALONE, NULL);
	assert_value(fd, WEB, "name-registry", "web", NULL);
	assert_value(fd, WEB, "ctr", INWEB, "pod-id");
	assert_error(fd, -ENOENT, "ctr", ALONE, "pod-id");
	assert_error(fd, -ENOENT, "ctr", WEB, "pod-id");
	assert_error(fd, -ENOENT, "id-registry", "", NULL);
	assert_error(fd, -ENOENT, "id-registry", "ffff", NULL);
	assert_error(fd, -ENOENT, "no-registry", WEB, NULL);
	assert_error(fd, -ENOENT, "id-registry", WEB, "deeper"); /* a value is no bucket */
	assert_error(fd, -ENOENT, "id-registry", NULL, NULL);	 /* nor a bucket a value */
	assert_true(get(fd, config, sizeof(config), "ctr", INWEB, "config") > 1000);
	assert_has(config, "\"name\":\"inweb\"");
}

static void every_damage_to_podmans_own_ends(void **state)
{
	size_t bytes;
	_cleanup_close_ int fd = open_podmans(&bytes);
	uint64_t seed = 1;
	char text[256];

	(void)state;
	for (int i = 0; i < 20000; i++) {
		uint64_t at = random_next(&seed) % bytes, value = random_next(&seed);
		size_t width = 1 + value % 8;
		char was[8] = "";

		at = i % 4 ? at % 32768 & ~(uint64_t)7 : at; /* heads of pages more often */
		if (at + width > bytes)
			continue;
		assert_int_equal(pread(fd, was, width, (off_t)at), width);
		assert_int_equal(pwrite(fd, &value, width, (off_t)at), width);
		int r = get(fd, text, sizeof(text), "id-registry", WEB, NULL);
		assert_true(r >= 0 || r == -ENOENT || r == -EBADMSG || r == -ENOSPC);
		assert_int_equal(pwrite(fd, was, width, (off_t)at), width);
	}
	assert_value(fd, "web", "id-registry", WEB, NULL);
	for (size_t cut = bytes; cut; cut /= 2) { /* cut off */
		assert_int_equal(ftruncate(fd, (off_t)cut / 2), 0);
		int r = get(fd, text, sizeof(text), "id-registry", WEB, NULL);
		assert_true(r == 3 || r == -ENOENT || r == -EBADMSG);
	}
}

static struct bolt_maker maker;

static int made(void)
{
	return file_of(maker.data, maker.pages * BOLT_MAKER_PAGE);
}

static struct bolt_entry text_entry(const char *key, const char *value)
{
	return (struct bolt_entry){
		.key = key, .value = value, .value_bytes = (uint32_t)strlen(value)};
}

/* A leaf with one bucket, which lies in it. Its page's number. */
static uint64_t make_root(const char *bucket, const char *key, const char *value)
{
	struct bolt_entry inner = text_entry(key, value), entry = {.key = bucket, .flags = 1};
	char inside[512];

	entry.value = inside;
	entry.value_bytes = bolt_bucket(inside, 0, &inner, 1);
	return bolt_page(&maker, MADE_LEAF, &entry, 1);
}

static void of_two_transactions_the_later_one_counts_and_a_torn_one_doesnt(void **state)
{
	(void)state;
	bolt_begin(&maker);
	uint64_t old = make_root("names", "id", "old"), new = make_root("names", "id", "new");
	bolt_meta(&maker, 0, new, 8);
	bolt_meta(&maker, 1, old, 7);
	_cleanup_close_ int later_first = made();
	assert_value(later_first, "new", "names", "id", NULL);
	bolt_meta(&maker, 0, old, 6);
	bolt_meta(&maker, 1, new, 7);
	_cleanup_close_ int later_last = made();
	assert_value(later_last, "new", "names", "id", NULL);
	maker.data[BOLT_MAKER_PAGE + 16 + 48] ^= 1; /* half written */
	_cleanup_close_ int torn = made();
	assert_value(torn, "old", "names", "id", NULL);
	maker.data[16] ^= 1;
	_cleanup_close_ int neither = made();
	assert_error(neither, -EBADMSG, "names", "id", NULL);
	bolt_meta(&maker, 1, new, 7); /* the first one is gone: the second tells where it is */
	_cleanup_close_ int second = made();
	assert_value(second, "new", "names", "id", NULL);
}

static void a_value_is_found_below_branches(void **state)
{
	char keys[4][4] = {"b", "d", "f", "h"};
	struct bolt_entry branch[4];
	char bucket[32];

	(void)state;
	bolt_begin(&maker);
	for (int i = 0; i < 4; i++) {
		char second[4] = {(char)(keys[i][0] + 1), '\0'};
		struct bolt_entry leaf[] = {text_entry(keys[i], keys[i]), text_entry(second, "2")};

		branch[i] = (struct bolt_entry){.key = keys[i]};
		branch[i].page = bolt_page(&maker, MADE_LEAF, leaf, 2);
	}
	uint64_t top = bolt_page(&maker, MADE_BRANCH, branch, 4);
	struct bolt_entry root = {.key = "names", .flags = 1, .value = bucket};
	root.value_bytes = bolt_bucket(bucket, top, NULL, 0);
	bolt_meta(&maker, 0, bolt_page(&maker, MADE_LEAF, &root, 1), 1);
	_cleanup_close_ int fd = made();
	for (int i = 0; i < 4; i++) {
		char second[4] = {(char)(keys[i][0] + 1), '\0'};

		assert_value(fd, keys[i], "names", keys[i], NULL);
		assert_value(fd, "2", "names", second, NULL);
	}
	assert_error(fd, -ENOENT, "names", "a", NULL);
	assert_error(fd, -ENOENT, "names", "z", NULL);
	assert_error(fd, -ENOENT, "names", "bb", NULL);
}

static void a_value_over_several_pages_has_room_or_says_so(void **state)
{
	char big[5 * BOLT_MAKER_PAGE + 1], text[sizeof(big)];
	_cleanup_close_ int fd = -1;

	(void)state;
	memset(big, 'x', sizeof(big) - 1);
	big[sizeof(big) - 1] = '\0';
	bolt_begin(&maker);
	struct bolt_entry leaf[] = {text_entry("big", big), text_entry("small", "s")};
	char bucket[32];
	struct bolt_entry root = {.key = "names", .flags = 1, .value = bucket};
	root.value_bytes = bolt_bucket(bucket, bolt_page(&maker, MADE_LEAF, leaf, 2), NULL, 0);
	bolt_meta(&maker, 0, bolt_page(&maker, MADE_LEAF, &root, 1), 1);
	fd = made();
	assert_int_equal(get(fd, text, sizeof(text), "names", "big", NULL), sizeof(big) - 1);
	assert_string_equal(text, big);
	assert_int_equal(get(fd, text, sizeof(text) - 1, "names", "big", NULL), -ENOSPC);
	assert_value(fd, "s", "names", "small", NULL);
}

static void what_leads_in_a_circle_or_out_of_the_file_is_damaged(void **state)
{
	struct bolt_entry self = {.key = "", .page = 2};
	static const uint64_t roots[] = {0,
					 1,
					 3,
					 64,
					 UINT64_MAX,
					 UINT64_MAX / BOLT_MAKER_PAGE,
					 (uint64_t)INT64_MAX / BOLT_MAKER_PAGE};

	(void)state;
	bolt_begin(&maker);
	assert_int_equal(bolt_page(&maker, MADE_BRANCH, &self, 1), 2);
	bolt_meta(&maker, 0, 2, 1);
	_cleanup_close_ int circle = made();
	assert_error(circle, -EBADMSG, "names", "id", NULL);
	for (size_t i = 0; i < ARRAY_SIZE(roots); i++) {
		bolt_meta(&maker, 0, roots[i], 1);
		_cleanup_close_ int out = made();
		assert_error(out, -EBADMSG, "names", "id", NULL);
	}
	/* however many pages it says there are */
	maker.pages = UINT64_MAX;
	bolt_meta(&maker, 0, UINT64_MAX - 1, 1);
	_cleanup_close_ int many = file_of(maker.data, sizeof(maker.data));
	assert_error(many, -EBADMSG, "names", "id", NULL);
}

static void elements_that_point_out_of_their_page_are_damage(void **state)
{
	static const uint32_t wrong[] = {1024, 0x7fffffff, UINT32_MAX};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(wrong) * 3; i++) {
		bolt_begin(&maker);
		uint64_t root = make_root("names", "id", "value");
		bolt_meta(&maker, 0, root, 1);
		/* pos, key's bytes, value's bytes */
		bolt_put(maker.data + root * BOLT_MAKER_PAGE + 16 + 4 + 4 * (i / ARRAY_SIZE(wrong)),
			 wrong[i % ARRAY_SIZE(wrong)], 4);
		_cleanup_close_ int fd = made();
		assert_error(fd, -EBADMSG, "names", "id", NULL);
	}
}

static void a_page_that_says_it_is_another_one_is_not_read(void **state)
{
	(void)state;
	bolt_begin(&maker);
	uint64_t root = make_root("names", "id", "value");
	bolt_meta(&maker, 0, root, 1);
	bolt_put(maker.data + root * BOLT_MAKER_PAGE, root + 1, 8);
	_cleanup_close_ int fd = made();
	assert_error(fd, -EBADMSG, "names", "id", NULL);
}

static void pages_that_are_too_large_are_not_read(void **state)
{
	(void)state;
	bolt_begin(&maker);
	uint64_t root = make_root("names", "id", "value");
	bolt_meta(&maker, 0, root, 1);
	bolt_put(maker.data + root * BOLT_MAKER_PAGE + 12, UINT32_MAX, 4);
	_cleanup_close_ int fd = made();
	assert_error(fd, -EBADMSG, "names", "id", NULL);
}

static void what_is_no_such_file_says_so(void **state)
{
	static const char text[200000] = "SQLite format 3";
	_cleanup_close_ int empty = file_of("", 0), other = file_of(text, sizeof(text));

	(void)state;
	assert_error(empty, -EBADMSG, "names", "id", NULL);
	assert_error(other, -EBADMSG, "names", "id", NULL);
	assert_error(-1, -EBADMSG, "names", "id", NULL);
}

/* As bbolt writes: pages of the transaction before the last one are written over, then a meta page.
 */
static void commit(int fd, uint64_t transaction)
{
	uint64_t page = 2 + transaction % 2 * 2;
	struct bolt_entry inner, entry;
	char value[32], bucket[32];

	snprintf(value, sizeof(value), "%08u,%08u", (unsigned)transaction, (unsigned)transaction);
	inner = text_entry("id", value);
	bolt_begin(&maker);
	maker.pages = page + 1;
	bolt_page(&maker, MADE_LEAF, &inner, 1);
	entry = (struct bolt_entry){.key = "names", .flags = 1, .value = bucket};
	entry.value_bytes = bolt_bucket(bucket, page + 1, NULL, 0);
	maker.pages = page;
	bolt_page(&maker, MADE_LEAF, &entry, 1);
	maker.pages = 6;
	bolt_meta(&maker, transaction % 2, page, transaction);
	for (uint64_t at = page; at < page + 2; at++)
		assert_int_equal(pwrite(fd, maker.data + at * BOLT_MAKER_PAGE, BOLT_MAKER_PAGE,
					(off_t)(at * BOLT_MAKER_PAGE)),
				 BOLT_MAKER_PAGE);
	assert_int_equal(pwrite(fd, maker.data + transaction % 2 * BOLT_MAKER_PAGE, BOLT_MAKER_PAGE,
				(off_t)(transaction % 2 * BOLT_MAKER_PAGE)),
			 BOLT_MAKER_PAGE);
}

/* Before the reads from `from` to `to`, `commits` transactions are written. */
static struct {
	int read, from, to, commits;
	uint64_t transaction;
} writer = {.from = -1, .to = -1};

ssize_t __real_pread(int fd, void *to, size_t bytes, off_t offset);
ssize_t __wrap_pread(int fd, void *to, size_t bytes, off_t offset);

ssize_t __wrap_pread(int fd, void *to, size_t bytes, off_t offset)
{
	if (writer.read >= writer.from && writer.read < writer.to)
		for (int i = 0; i < writer.commits; i++)
			commit(fd, ++writer.transaction);
	writer.read++;
	return __real_pread(fd, to, bytes, offset);
}

static void a_value_is_of_one_transaction_while_others_are_written(void **state)
{
	bool newer = false;

	(void)state;
	for (int from = 0; from < 40; from++)
		for (int commits = 1; commits <= 3; commits++) {
			_cleanup_close_ int fd = memfd_create("bolt", MFD_CLOEXEC);
			char text[64] = "";

			writer.transaction = 2;
			commit(fd, 1);
			commit(fd, 2);
			writer.read = 0;
			writer.commits = commits;
			writer.from = from;
			writer.to = from + 1;
			int r = get(fd, text, sizeof(text), "names", "id", NULL);
			if (r != 17 || memcmp(text, text + 9, 8) != 0)
				fail_msg("%d commits before read %d: %d %s", commits, from, r,
					 text);
			unsigned seen = (unsigned)strtoul(text, NULL, 10);
			assert_true(seen == 2 || seen == writer.transaction);
			newer |= seen > 2;
			/* and with all reads from there on */
			writer.read = 0;
			writer.to = 1 << 20;
			r = get(fd, text, sizeof(text), "names", "id", NULL);
			if (r != -EAGAIN && (r != 17 || memcmp(text, text + 9, 8) != 0))
				fail_msg("%d commits from read %d on: %d %s", commits, from, r,
					 text);
			writer.from = writer.to = -1;
		}
	assert_true(newer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(podmans_own_is_read),
		cmocka_unit_test(every_damage_to_podmans_own_ends),
		cmocka_unit_test(of_two_transactions_the_later_one_counts_and_a_torn_one_doesnt),
		cmocka_unit_test(a_value_is_found_below_branches),
		cmocka_unit_test(a_value_over_several_pages_has_room_or_says_so),
		cmocka_unit_test(what_leads_in_a_circle_or_out_of_the_file_is_damaged),
		cmocka_unit_test(elements_that_point_out_of_their_page_are_damage),
		cmocka_unit_test(a_page_that_says_it_is_another_one_is_not_read),
		cmocka_unit_test(pages_that_are_too_large_are_not_read),
		cmocka_unit_test(what_is_no_such_file_says_so),
		cmocka_unit_test(a_value_is_of_one_transaction_while_others_are_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
