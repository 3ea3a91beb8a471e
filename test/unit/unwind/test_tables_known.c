// SPDX-License-Identifier: GPL-2.0-or-later
/* What the kernel's side is told of files that have tables. */
#include "unit/unwind/tables_scene.h"

#include <sys/sysmacros.h>

/* The kernel's side. */
static struct {
	struct known_file_key key;
	struct known_file file;
	bool used;
} map[16];

static int put_known(void *arg, const struct known_file_key *key, const struct known_file *file)
{
	size_t free = ARRAY_SIZE(map);

	(void)arg;
	for (size_t i = 0; i < ARRAY_SIZE(map); i++) {
		if (map[i].used && memcmp(&map[i].key, key, sizeof(*key)) == 0)
			fail_msg("a file is told twice");
		if (!map[i].used)
			free = i;
	}
	assert_true(free < ARRAY_SIZE(map));
	map[free].key = *key;
	map[free].file = *file;
	map[free].used = true;
	return 0;
}

static void drop_known(void *arg, const struct known_file_key *key)
{
	(void)arg;
	for (size_t i = 0; i < ARRAY_SIZE(map); i++) {
		if (map[i].used && memcmp(&map[i].key, key, sizeof(*key)) == 0) {
			map[i].used = false;
			return;
		}
	}
	fail_msg("a file is dropped that was not told");
}

static size_t count_known(void)
{
	size_t count = 0;

	for (size_t i = 0; i < ARRAY_SIZE(map); i++)
		count += map[i].used;
	return count;
}

static const struct known_file *known_of(const struct scene *scene, const char *name)
{
	struct stat stat;

	assert_int_equal(fstatat(scene->folder.fd, name, &stat, 0), 0);
	for (size_t i = 0; i < ARRAY_SIZE(map); i++) {
		const struct known_file_key *key = &map[i].key;

		if (map[i].used && key->inode == stat.st_ino &&
		    key->device == (major(stat.st_dev) << 20 | minor(stat.st_dev)) &&
		    key->bytes == (uint64_t)stat.st_size &&
		    key->changed_s == (uint64_t)stat.st_ctim.tv_sec &&
		    key->changed_ns == stat.st_ctim.tv_nsec)
			return &map[i].file;
	}
	return NULL;
}

static void begin(struct scene *scene)
{
	memset(map, 0, sizeof(map));
	scene_make(scene, 4);
	tables_tell_known(scene->tables, &(struct known_ops){put_known, drop_known, NULL});
}

static void a_table_is_told_as_the_daemon_itself_would_use_it(void **state)
{
	struct scene scene;

	(void)state;
	begin(&scene);
	struct table *a = get_new(&scene, "a", 1000);
	assert_int_equal(count_known(), 0);
	wait_for_tables(&scene);
	const struct known_file *known = known_of(&scene, "a");
	struct span span = span_of(&scene, a);
	assert_non_null(known);
	assert_int_equal(known->index, span.index);
	assert_int_equal(known->what, span.what);
	assert_int_equal(known->segments[1].from, 0x1040);
	assert_int_equal(known->segments[1].to, 0x3040);
	assert_int_equal(span.start - (0x1000 + known->segments[1].shift), span.base);
	assert_int_equal(known->segments[2].to, 0);
	assert_non_null(tables_known(scene.tables, known->number));
	assert_null(tables_known(scene.tables, known->number + 1));
	assert_null(tables_known(scene.tables, 0));
	table_unref(a);
	scene_done(&scene);
}

static void a_file_without_cfi_is_told_and_a_broken_one_is_not(void **state)
{
	struct scene scene;
	struct plan bare = {.error = -ENOENT}, broken = {.error = -EBADMSG};

	(void)state;
	begin(&scene);
	put(&scene, "bare", &bare);
	put(&scene, "broken", &broken);
	struct table *a = get(&scene, "bare"), *b = get(&scene, "broken");
	wait_for_tables(&scene);
	assert_int_equal(count_known(), 1);
	assert_int_equal(known_of(&scene, "bare")->what, SPAN_BARE << SPAN_KIND_SHIFT);
	table_unref(a);
	table_unref(b);
	scene_done(&scene);
}

static void a_table_that_goes_is_not_known_any_more(void **state)
{
	struct scene scene;

	(void)state;
	begin(&scene);
	struct table *a = get_new(&scene, "a", 1000), *b = get_new(&scene, "b", 1000);
	wait_for_tables(&scene);
	assert_int_equal(count_known(), 2);
	table_unref(a);
	sweep(&scene, 3);
	assert_int_equal(count_known(), 1);
	assert_non_null(known_of(&scene, "b"));
	assert_true(tables_evict(scene.tables, 100000));
	assert_int_equal(count_known(), 0);
	table_unref(b);
	scene_done(&scene);
}

static void with_a_new_arena_all_is_told_again(void **state)
{
	struct scene scene;
	struct plan bare = {.error = -ENOENT};

	(void)state;
	begin(&scene);
	put(&scene, "bare", &bare);
	struct table *a = get_new(&scene, "a", 1000), *b = get(&scene, "bare");
	wait_for_tables(&scene);
	assert_int_equal(count_known(), 2);
	new_arena(&scene, 4);
	tables_set_arena(scene.tables, NULL);
	memset(map, 0, sizeof(map)); /* the kernel's side has gone */
	tables_set_arena(scene.tables, scene.arena);
	wait_for_tables(&scene);
	assert_non_null(known_of(&scene, "a"));
	assert_non_null(known_of(&scene, "bare"));
	table_unref(a);
	table_unref(b);
	scene_done(&scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_table_is_told_as_the_daemon_itself_would_use_it),
		cmocka_unit_test(a_file_without_cfi_is_told_and_a_broken_one_is_not),
		cmocka_unit_test(a_table_that_goes_is_not_known_any_more),
		cmocka_unit_test(with_a_new_arena_all_is_told_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
