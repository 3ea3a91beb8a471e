// SPDX-License-Identifier: GPL-2.0-or-later
/* What a file of a hostile VM may cost: in steps, for times differ. */
#include "unit/java/files/java_file_scene.h"

#include "java/files/jvmfile_state.h"

#define CODE	   0x7f0000001000
#define AT(offset) (CODE + (offset))
#define BYTES_MAX  (12 << 20)
#define S	   NS_PER_S
#define SETTLED	   (10 * S) /* long after the agent's begin */
#define HIGH	   18	    /* the tree, of all codes that are known at most */

static void update(struct scene *scene)
{
	assert_int_equal(scene->out.error, 0);
	folder_put(&scene->folder, JAVA_SYMBOLS_NAME, scene->out.data, scene->out.len);
	assert_int_equal(jvmfile_update(scene->file), 0);
}

static void add(struct scene *scene, uint16_t kind, uint64_t time_ns, uint64_t address,
		uint32_t size)
{
	maker_code(&scene->out, kind, 0, kind == JAVA_CODE, time_ns, address, size, 0, 0, "", 0);
}

static int find(struct scene *scene, uint64_t address, uint64_t from_ns, uint64_t until_ns)
{
	struct jvmfile_found found;

	return jvmfile_find(scene->file, address, from_ns, until_ns, &found);
}

static void assert_bounded(const struct jvmfile *file, uint64_t address)
{
	static const uint32_t most[] = {0, 1, 2, 63, 64, JVMFILE_READ_MOST};

	for (size_t i = 0; i < ARRAY_SIZE(most); i++) {
		struct jvmfile_hits hits;

		jvmfile_hits(file, address, most[i], &hits);
		assert_true(hits.more);
		assert_true(hits.count <= most[i] && hits.count <= JVMFILE_HITS_MAX);
		assert_true(hits.looked <= (most[i] + 2) * HIGH);
	}
}

static void codes_over_one_another_are_bounded_in_steps(void **state)
{
	static const struct {
		uint32_t step, size, size_step; /* from one code to the next */
	} cases[] = {{1, 1 << 20, 0}, {0, 64, 0}, {1, 1 << 20, 1}, {16, 1 << 22, 0}};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct scene scene;

		scene_begin(&scene, BYTES_MAX);
		jvmfile_allow(scene.file, UINT32_MAX);
		for (uint32_t code = 0; code < JVMFILE_CODES_MAX; code++)
			add(&scene, JAVA_CODE, SETTLED + code, AT((uint64_t)cases[i].step * code),
			    cases[i].size - cases[i].size_step * code);
		update(&scene);
		uint64_t last = AT((uint64_t)cases[i].step * (JVMFILE_CODES_MAX - 1));
		assert_int_equal(scene.file->codes_count, JVMFILE_CODES_MAX);
		assert_bounded(scene.file, last);
		assert_bounded(scene.file, last - cases[i].step * (JVMFILE_CODES_MAX / 2));
		assert_int_equal(find(&scene, last, SETTLED + S, SETTLED + 2 * S), -ESTALE);
		scene_done(&scene);
	}
}

static void a_stub_ends_with_the_first_method_after_it(void **state)
{
	struct scene scene;

	(void)state;
	scene_begin(&scene, BYTES_MAX);
	jvmfile_allow(scene.file, UINT32_MAX);
	add(&scene, JAVA_CODE, SETTLED, CODE, 0x40);
	maker_unload(&scene.out, CODE, SETTLED + 5 * S);
	add(&scene, JAVA_STUB, SETTLED + 10 * S, AT(8), 0x40);
	add(&scene, JAVA_CODE, SETTLED + 20 * S, AT(16), 0x40);
	maker_unload(&scene.out, AT(16), SETTLED + 25 * S);
	add(&scene, JAVA_CODE, SETTLED + 30 * S, AT(24), 0x40);
	maker_unload(&scene.out, AT(24), SETTLED + 35 * S);
	update(&scene);
	/* A method of before it doesn't end it. */
	assert_int_equal(find(&scene, AT(32), SETTLED + 12 * S, SETTLED + 13 * S), 0);
	assert_int_equal(find(&scene, AT(32), SETTLED + 12 * S, SETTLED + 22 * S), -ESTALE);
	assert_int_equal(find(&scene, AT(32), SETTLED + 21 * S, SETTLED + 22 * S), 0);
	assert_int_equal(find(&scene, AT(32), SETTLED + 26 * S, SETTLED + 27 * S), -ENOENT);
	/* Where no method lay it is still there. */
	assert_int_equal(find(&scene, AT(9), SETTLED + 36 * S, SETTLED + 37 * S), 0);
	scene_done(&scene);
}

static void finding_ends_where_no_step_is_left(void **state)
{
	struct scene scene;

	(void)state;
	scene_begin(&scene, BYTES_MAX);
	for (uint32_t i = 0; i < 100; i++)
		add(&scene, JAVA_CODE, SETTLED, AT(0x40 * i), 0x40);
	update(&scene);
	assert_int_equal(find(&scene, CODE, SETTLED + S, SETTLED + 2 * S), -ENOBUFS);
	jvmfile_allow(scene.file, 1);
	assert_int_equal(find(&scene, CODE, SETTLED + S, SETTLED + 2 * S), 0);
	assert_int_equal(find(&scene, AT(0x40), SETTLED + S, SETTLED + 2 * S), -ENOBUFS);
	/* What was found once is known for what comes later, but not of before. */
	assert_int_equal(find(&scene, CODE, SETTLED + 3 * S / 2, SETTLED + 2 * S), 0);
	assert_int_equal(find(&scene, CODE, SETTLED + S - 1, SETTLED + 2 * S), -ENOBUFS);
	assert_int_equal(find(&scene, CODE, SETTLED + S, SETTLED + 3 * S), -ENOBUFS);
	scene_done(&scene);
}

static void what_was_found_is_known_as_long_as_it_holds(void **state)
{
	uint64_t until = SETTLED + 40 * S;
	struct scene scene;

	(void)state;
	scene_begin(&scene, BYTES_MAX);
	jvmfile_allow(scene.file, UINT32_MAX);
	add(&scene, JAVA_CODE, SETTLED, CODE, 0x40);
	update(&scene);
	assert_int_equal(find(&scene, CODE, SETTLED + S, until), 0);
	assert_int_equal(find(&scene, CODE, SETTLED + 30 * S, until), 0);
	maker_unload(&scene.out, CODE, SETTLED + 20 * S);
	update(&scene);
	assert_int_equal(find(&scene, CODE, SETTLED + S, until), 0);
	assert_int_equal(find(&scene, CODE, SETTLED + 20 * S, until), 0);
	assert_int_equal(find(&scene, CODE, SETTLED + 20 * S + 1, until), -ENOENT);
	add(&scene, JAVA_CODE, SETTLED + 30 * S, CODE, 0x40);
	update(&scene);
	assert_int_equal(find(&scene, CODE, SETTLED + S, until), -ESTALE);
	assert_int_equal(find(&scene, CODE, SETTLED + 31 * S, until), 0);
	scene_done(&scene);
}

/* Room is made for many at once, or each further record would move all. */
static void room_is_made_where_much_has_gone(void **state)
{
	enum { FEW = 100, MUCH = JVMFILE_CODES_MAX / 16 };
	struct jvmfile_stats stats;
	struct scene scene;

	(void)state;
	scene_begin(&scene, BYTES_MAX);
	for (uint32_t i = 0; i < JVMFILE_CODES_MAX; i++)
		add(&scene, JAVA_CODE, SETTLED, AT(0x40ULL * i), 0x40);
	for (uint32_t i = 0; i < FEW; i++) {
		maker_unload(&scene.out, AT(0x40ULL * i), SETTLED + S);
		add(&scene, JAVA_CODE, SETTLED + S, AT(0x40ULL * i), 0x20);
	}
	update(&scene);
	jvmfile_stats(scene.file, &stats);
	assert_int_equal(stats.codes, JVMFILE_CODES_MAX);
	assert_int_equal(stats.lost, FEW);
	for (uint32_t i = FEW; i < MUCH; i++)
		maker_unload(&scene.out, AT(0x40ULL * i), SETTLED + S);
	for (uint32_t i = 0; i < FEW; i++)
		add(&scene, JAVA_CODE, SETTLED + S, AT(0x40ULL * i), 0x20);
	update(&scene);
	jvmfile_stats(scene.file, &stats);
	assert_int_equal(stats.codes, JVMFILE_CODES_MAX - MUCH + FEW);
	assert_int_equal(stats.lost, FEW);
	scene_done(&scene);
}

enum { REWRITTEN = 1000 };

/* Codes before and after a file was written anew, the time of each so much later; how many of them
 * kept their numbers. */
static uint32_t count_kept(uint64_t between_ns, bool reverse)
{
	struct scene scene;
	uint32_t kept = 0;

	scene_begin(&scene, BYTES_MAX);
	for (uint32_t i = 0; i < REWRITTEN; i++)
		add(&scene, JAVA_CODE, SETTLED + i * between_ns, AT(0x40 * i), 0x40);
	update(&scene);
	scene.out.len = 0;
	maker_begin(&scene.out, 1);
	for (uint32_t i = 0; i < REWRITTEN; i += 2) {
		uint32_t code = reverse ? REWRITTEN - 1 - i : i;

		add(&scene, JAVA_CODE, SETTLED + code * between_ns, AT(0x40 * code), 0x40);
	}
	folder_put(&scene.folder, "next", scene.out.data, scene.out.len);
	assert_int_equal(renameat(scene.folder.fd, "next", scene.folder.fd, JAVA_SYMBOLS_NAME), 0);
	assert_int_equal(jvmfile_update(scene.file), 0);
	for (uint32_t i = 0; i < scene.file->codes_count; i++)
		kept += scene.file->codes[i].offset && scene.file->codes[i].number <= REWRITTEN;
	scene_done(&scene);
	return kept;
}

static void few_codes_of_one_time_are_compared(void **state)
{
	(void)state;
	assert_int_equal(count_kept(1, false), REWRITTEN / 2);
	assert_int_equal(count_kept(0, false), REWRITTEN / 2);
	/* Each would have to be compared with all. */
	assert_true(count_kept(0, true) <= 64);
	assert_true(count_kept(1, true) <= 64);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(codes_over_one_another_are_bounded_in_steps),
		cmocka_unit_test(a_stub_ends_with_the_first_method_after_it),
		cmocka_unit_test(finding_ends_where_no_step_is_left),
		cmocka_unit_test(what_was_found_is_known_as_long_as_it_holds),
		cmocka_unit_test(room_is_made_where_much_has_gone),
		cmocka_unit_test(few_codes_of_one_time_are_compared),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
