// SPDX-License-Identifier: GPL-2.0-or-later
/* What a program's jitdump tells of the code that it makes: names by time and rows, whatever the
 * file holds. */
#include "unit/lib/unit.h"

#include <sys/mman.h>

#include "jit/jit_memory.h"
#include "jit/jitdump.h"
#include "jit/jitdump_record.h"
#include "programs/jit_dump.h"

#define PID   77
#define WHOSE 7
#define AT    UINT64_C(0x7f0000001000)
#define NOW   1000

struct scene {
	int fd;
	struct jitdump *dump; /* what was read last */
};

static void begin(struct scene *scene)
{
	const struct dump_header header = dump_header(PID);

	*scene = (struct scene){.fd = memfd_create("dump", MFD_CLOEXEC)};
	assert_true(scene->fd >= 0);
	assert_true(dump_put(scene->fd, &header, sizeof(header)));
}

static void end(struct scene *scene)
{
	jitdump_unref(scene->dump);
	close(scene->fd);
	assert_int_equal(jit_memory_taken(), 0); /* all was given back */
}

/* Reads on. */
static int read_at(struct scene *scene, uint64_t now_ns)
{
	const struct jitdump_source source = {scene->fd, PID, WHOSE, now_ns};
	struct jitdump *now;
	int r = jitdump_read(&now, scene->dump, &source);

	if (r < 0)
		return r;
	jitdump_unref(scene->dump);
	scene->dump = now;
	return 0;
}

static void read_all(struct scene *scene)
{
	do
		assert_int_equal(read_at(scene, NOW), 0);
	while (jitdump_has_more(scene->dump));
}

static void load(struct scene *scene, uint64_t time, uint64_t start, uint64_t bytes,
		 const char *name)
{
	assert_true(dump_put_load(scene->fd, PID, time, start, bytes, start, name));
}

static void check_name(const struct scene *scene, uint64_t address, uint64_t ns, const char *name)
{
	size_t len = 0;
	const char *found = jitdump_find(scene->dump, address, ns, ns, &len);

	if (!name) {
		assert_null(found);
		return;
	}
	assert_non_null(found);
	assert_int_equal(len, strlen(name));
	assert_memory_equal(found, name, len);
}

static uint64_t lost(const struct scene *scene)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < JIT_LOST_COUNT; i++)
		sum += jitdump_lost(scene->dump, i);
	return sum;
}

/* ---- names ---- */

static void functions_have_names_from_their_time_on(void **state)
{
	struct scene scene;

	(void)state;
	begin(&scene);
	load(&scene, 100, AT, 32, "JS:*work /app/server.js:1:2");
	load(&scene, 200, AT + 64, 16, "_ZN6dumped5outerEv");
	read_all(&scene);
	assert_int_equal(jitdump_functions(scene.dump), 2);
	assert_int_equal(lost(&scene), 0);
	check_name(&scene, AT - 1, 500, NULL);
	check_name(&scene, AT, 500, "JS:*work /app/server.js:1:2");
	check_name(&scene, AT + 31, 100, "JS:*work /app/server.js:1:2");
	check_name(&scene, AT + 32, 500, NULL);
	check_name(&scene, AT, 99, NULL);
	check_name(&scene, AT + 79, 200, "dumped::outer()");
	check_name(&scene, AT + 80, 200, NULL);
	end(&scene);
}

static void the_time_of_a_stack_chooses_among_functions_of_one_place(void **state)
{
	struct scene scene;

	(void)state;
	begin(&scene);
	load(&scene, 100, AT, 32, "first");
	load(&scene, 100, AT + 32, 32, "beside");
	load(&scene, 200, AT + 16, 8, "second"); /* within the first, which is there no more */
	load(&scene, 300, AT, 48, "third");	 /* over both that are there */
	read_all(&scene);
	for (int again = 0; again < 2; again++) {
		check_name(&scene, AT + 16, 199, "first");
		check_name(&scene, AT + 16, 200, "second");
		check_name(&scene, AT + 8, 200, NULL);
		check_name(&scene, AT + 40, 299, "beside");
		check_name(&scene, AT + 40, 300, "third");
		check_name(&scene, AT + 50, 300, NULL);
		load(&scene, 301, AT + 4096, 16, "elsewhere");
		read_all(&scene); /* what was known before is still known */
	}
	assert_int_equal(jitdump_functions(scene.dump), 2);
	end(&scene);
}

static bool is_named(const struct scene *scene, uint64_t from_ns, uint64_t until_ns)
{
	size_t len;

	return jitdump_find(scene->dump, AT, from_ns, until_ns, &len);
}

static void between_two_times_no_name_of_two_is_guessed(void **state)
{
	struct scene scene;

	(void)state;
	begin(&scene);
	load(&scene, 100, AT, 32, "first");
	load(&scene, 200, AT, 16, "second");
	load(&scene, 300, AT, 32, "second"); /* compiled again */
	load(&scene, 400, AT + 16, 32, "beside");
	read_all(&scene);
	assert_true(is_named(&scene, 100, 199));
	assert_false(is_named(&scene, 100, 200));
	assert_false(is_named(&scene, 50, 199)); /* it isn't known what was there before */
	assert_true(is_named(&scene, 200, 399));
	assert_true(is_named(&scene, 200, NOW)); /* it went, and nothing came */
	assert_false(is_named(&scene, 400, NOW));
	end(&scene);
}

static void a_function_that_moves_keeps_its_name(void **state)
{
	struct scene scene;

	(void)state;
	begin(&scene);
	load(&scene, 100, AT, 32, "moves");
	load(&scene, 100, AT + 4096, 32, "goes");
	assert_true(dump_put_move(scene.fd, PID, 200, AT, AT + 4096 + 16, 32, AT));
	assert_true(dump_put_move(scene.fd, PID, 300, AT + 64, AT + 128, 32, 5)); /* unknown */
	assert_true(dump_put_move(scene.fd, PID, 300, AT + 4096 + 16, AT + 8192, 32, 5));
	read_all(&scene);
	check_name(&scene, AT, 199, "moves");
	check_name(&scene, AT, 200, NULL);
	check_name(&scene, AT + 4096 + 16, 200, "moves");
	check_name(&scene, AT + 4096, 199, "goes");
	check_name(&scene, AT + 4096, 200, NULL);
	check_name(&scene, AT + 128, 300, NULL);
	check_name(&scene, AT + 8192, 300, NULL); /* another number */
	end(&scene);
}

static void a_function_may_move_over_its_own_place(void **state)
{
	struct scene scene;

	(void)state;
	begin(&scene);
	load(&scene, 100, AT, 32, "moves");
	assert_true(dump_put_move(scene.fd, PID, 200, AT, AT + 16, 32, AT));
	read_all(&scene);
	check_name(&scene, AT + 16, 199, "moves");
	check_name(&scene, AT, 200, NULL);
	check_name(&scene, AT + 40, 200, "moves");
	assert_int_equal(jitdump_functions(scene.dump), 1);
	end(&scene);
}

static void times_that_cannot_be_are_none(void **state)
{
	struct scene scene;

	(void)state;
	begin(&scene);
	load(&scene, 500, AT, 32, "first");
	load(&scene, UINT64_MAX, AT, 32, "second"); /* it was there when it was read */
	load(&scene, 400, AT + 64, 32, "older");
	load(&scene, 300, AT + 64, 32, "newer"); /* as the file has it */
	read_all(&scene);
	check_name(&scene, AT, NOW - 1, "first");
	check_name(&scene, AT, NOW, "second");
	check_name(&scene, AT + 64, 450, "newer");
	end(&scene);
}

static void other_processes_and_unknown_records_are_passed_over(void **state)
{
	const struct dump_head unknown = {99, sizeof(unknown) + 3, 1}, close = {DUMP_CLOSE, 16, 1};
	struct scene scene;

	(void)state;
	begin(&scene);
	assert_true(dump_put_load(scene.fd, PID + 1, 100, AT, 32, 1, "a child's"));
	assert_true(dump_put(scene.fd, &unknown, sizeof(unknown)));
	assert_true(dump_put(scene.fd, "xyz", 3));
	assert_true(dump_put(scene.fd, &close, sizeof(close)));
	load(&scene, 100, AT + 64, 0, "empty");
	load(&scene, 100, AT + 64, 8, "known");
	read_all(&scene);
	check_name(&scene, AT, 500, NULL);
	check_name(&scene, AT + 64, 500, "known");
	assert_int_equal(jitdump_functions(scene.dump), 1);
	assert_int_equal(lost(&scene), 0);
	end(&scene);
}

/* ---- a file that grows ---- */

static void a_record_that_is_cut_is_read_when_it_is_whole(void **state)
{
	struct scene scene, whole;
	char bytes[512];

	(void)state;
	begin(&whole);
	load(&whole, 100, AT, 32, "first");
	load(&whole, 100, AT + 64, 32, "second");
	ssize_t count = pread(whole.fd, bytes, sizeof(bytes), 0);
	scene = (struct scene){.fd = memfd_create("dump", MFD_CLOEXEC)};
	for (ssize_t i = 0; i < count; i++) {
		int r = read_at(&scene, NOW);

		assert_int_equal(r, (size_t)i < sizeof(struct dump_header) ? -EAGAIN : 0);
		assert_true(dump_put(scene.fd, bytes + i, 1));
	}
	assert_int_equal(jitdump_functions(scene.dump), 1);
	read_all(&scene);
	check_name(&scene, AT, 500, "first");
	check_name(&scene, AT + 64, 500, "second");
	close(whole.fd);
	end(&scene);
}

static void what_is_not_new_costs_nothing(void **state)
{
	struct scene scene;

	(void)state;
	begin(&scene);
	load(&scene, 100, AT, 32, "first");
	read_all(&scene);
	const struct jitdump *before = scene.dump;
	read_all(&scene);
	assert_ptr_equal(scene.dump, before);
	end(&scene);
}

static void a_file_that_shrinks_is_read_no_more(void **state)
{
	struct scene scene;

	(void)state;
	begin(&scene);
	load(&scene, 100, AT, 32, "first");
	read_all(&scene);
	assert_int_equal(ftruncate(scene.fd, sizeof(struct dump_header)), 0);
	assert_int_equal(read_at(&scene, NOW), -ESTALE);
	end(&scene);
}

/* ---- headers ---- */

static void check_header(const struct dump_header *header, int error)
{
	struct scene scene = {.fd = memfd_create("dump", MFD_CLOEXEC)};

	assert_true(dump_put(scene.fd, header, sizeof(*header)));
	assert_int_equal(read_at(&scene, NOW), error);
	end(&scene);
}

static void a_header_is_checked(void **state)
{
	struct dump_header header = dump_header(PID);

	(void)state;
	check_header(&header, 0);
	header.magic = __builtin_bswap32(DUMP_MAGIC);
	check_header(&header, -EBADMSG);
	header = dump_header(PID);
	header.version = 2;
	check_header(&header, -EBADMSG);
	header = dump_header(PID);
	header.machine = EM_386;
	check_header(&header, -EBADMSG);
	header = dump_header(PID);
	header.bytes = sizeof(header) - 1;
	check_header(&header, -EBADMSG);
	header.bytes = 1u << 30;
	check_header(&header, -EBADMSG);
	header.bytes = sizeof(header) + 8; /* its last bytes are still to come */
	check_header(&header, -EAGAIN);
	header = dump_header(PID);
	header.flags = 1;
	check_header(&header, -ENOTSUP);
	check_header(&(struct dump_header){0}, -EBADMSG);
	header = dump_header(PID + 1);
	check_header(&header, -ESRCH);
}

static void paths_of_a_process(void **state)
{
	(void)state;
	assert_true(jitdump_is_path("/tmp/jit-77.dump", 77));
	assert_true(jitdump_is_path("/home/a/.debug/jit/x/jit-1.dump", 1));
	assert_false(jitdump_is_path("/tmp/jit-77.dump", 78));
	assert_false(jitdump_is_path("/tmp/jit-077.dump", 77));
	assert_false(jitdump_is_path("/tmp/jit--77.dump", 77));
	assert_false(jitdump_is_path("/tmp/jit-77.dump.so", 77));
	assert_false(jitdump_is_path("/tmp/jit-77.dump/libx.so", 77));
	assert_false(jitdump_is_path("/tmp/xjit-77.dump", 77));
	assert_false(jitdump_is_path("/tmp/jit-.dump", 0));
	assert_false(jitdump_is_path("/tmp/jit-0.dump", 0));
}

/* ---- rows ---- */

static void load_with_rows(struct scene *scene, uint64_t start, uint64_t bytes, int head_first,
			   const char *name)
{
	unsigned char frames[DUMP_FRAMES];

	assert_true(
		dump_put_frames(scene->fd, 100, frames, dump_frames(frames, bytes), head_first));
	load(scene, 100, start, bytes, name);
}

static struct rule rule_at(const struct jit_rows *rows, uint64_t address)
{
	struct rule rule = {.kind = RULE_NONE};

	for (size_t i = 0; i < rows->count; i++) {
		const struct jit_piece *piece = &rows->pieces[i];

		if (address >= piece->start && address < piece->end)
			image_find(&rows->image, piece->at + (address - piece->start), &rule);
	}
	return rule;
}

static void check_cfa(const struct jit_rows *rows, uint64_t address, int32_t offset)
{
	struct rule rule = rule_at(rows, address);

	assert_int_equal(rule.kind, RULE_CFA);
	assert_int_equal(rule.cfa_reg, 7);
	assert_int_equal(rule.cfa_offset, offset);
}

static void check_rows(const struct scene *scene, uint64_t start, bool has_rows)
{
	struct jit_rows rows;

	assert_int_equal(jitdump_make_rows(scene->dump, &rows), 0);
	if (has_rows) {
		check_cfa(&rows, start, 8);
		check_cfa(&rows, start + 4, 32);
		check_cfa(&rows, start + 12, 32);
		check_cfa(&rows, start + 13, 8);
	} else {
		assert_true(rule_at(&rows, start + 4).kind != RULE_CFA);
	}
	jit_rows_done(&rows);
}

static void rows_of_a_function_come_before_it(void **state)
{
	struct scene scene;

	(void)state;
	begin(&scene);
	load_with_rows(&scene, AT, DUMP_CODE, 0, "first");
	load_with_rows(&scene, AT + 32, DUMP_CODE, 1, "second"); /* the head lies before them */
	load(&scene, 100, AT + 64, DUMP_CODE, "third");
	read_all(&scene);
	assert_true(jitdump_has_rows(scene.dump));
	assert_true(jitdump_rows_differ(scene.dump, NULL));
	check_rows(&scene, AT, true);
	check_rows(&scene, AT + 32, true);
	check_rows(&scene, AT + 64, false);
	assert_int_equal(lost(&scene), 0);
	end(&scene);
}

static void rows_go_with_their_function(void **state)
{
	struct scene scene;

	(void)state;
	begin(&scene);
	load_with_rows(&scene, AT, DUMP_CODE, 0, "first");
	load_with_rows(&scene, AT + 32, DUMP_CODE, 0, "second");
	read_all(&scene);
	struct jitdump *before = jitdump_ref(scene.dump);
	load(&scene, 200, AT + 4096, DUMP_CODE, "third");
	read_all(&scene);
	assert_false(jitdump_rows_differ(scene.dump, before));
	load(&scene, 200, AT + 8, 4, "over the first");
	assert_true(dump_put_move(scene.fd, PID, 200, AT + 32, AT + 8192, DUMP_CODE, AT + 32));
	read_all(&scene);
	assert_true(jitdump_rows_differ(scene.dump, before));
	check_rows(&scene, AT, false);
	check_rows(&scene, AT + 32, false);
	check_rows(&scene, AT + 8192, true);
	jitdump_unref(before);
	end(&scene);
}

static void a_function_without_rows_that_make_sense_has_its_name(void **state)
{
	static const unsigned char nonsense[64] = {60, 0, 0, 0, 0, 0, 0, 0, 1, 'z'};
	unsigned char frames[DUMP_FRAMES];
	struct scene scene;

	(void)state;
	begin(&scene);
	assert_true(dump_put_frames(scene.fd, 100, nonsense, sizeof(nonsense), 0));
	load(&scene, 100, AT, DUMP_CODE, "nonsense");
	/* of code that is shorter, and so lies elsewhere than is told */
	assert_true(dump_put_frames(scene.fd, 100, frames, dump_frames(frames, 4096), 0));
	load(&scene, 100, AT + 32, DUMP_CODE, "elsewhere");
	read_all(&scene);
	assert_int_equal(jitdump_lost(scene.dump, JIT_LOST_ROWS), 2);
	check_rows(&scene, AT, false);
	check_rows(&scene, AT + 32, false);
	check_name(&scene, AT, 500, "nonsense");
	check_name(&scene, AT + 32, 500, "elsewhere");
	end(&scene);
}

/* Half of a pair is read now, the other half later. */
static void rows_wait_for_their_function(void **state)
{
	unsigned char frames[DUMP_FRAMES];
	struct scene scene;

	(void)state;
	begin(&scene);
	assert_true(dump_put_frames(scene.fd, 100, frames, dump_frames(frames, DUMP_CODE), 0));
	read_all(&scene);
	load(&scene, 100, AT, DUMP_CODE, "first");
	read_all(&scene);
	check_rows(&scene, AT, true);
	end(&scene);
}

/* ---- bounds ---- */

static void a_record_that_makes_no_sense_ends_the_file(void **state)
{
	const struct dump_head heads[] = {{DUMP_LOAD, 15, 1},
					  {DUMP_LOAD, 40, 1},
					  {DUMP_MOVE, 40, 1},
					  {DUMP_UNWINDING, 39, 1}};
	const struct dump_unwinding unwinding = {.head = {DUMP_UNWINDING, sizeof(unwinding), 1},
						 .bytes = 1};
	static const char rest[64];

	(void)state;
	for (size_t i = 0; i <= ARRAY_SIZE(heads); i++) {
		struct scene scene;

		begin(&scene);
		if (i < ARRAY_SIZE(heads))
			assert_true(dump_put(scene.fd, &heads[i], sizeof(heads[i])));
		else
			assert_true(dump_put(scene.fd, &unwinding, sizeof(unwinding)));
		assert_true(dump_put(scene.fd, rest, sizeof(rest)));
		assert_int_equal(read_at(&scene, NOW), -EBADMSG);
		end(&scene);
	}
}

static void sizes_and_addresses_that_cannot_be_are_counted(void **state)
{
	struct scene scene;

	(void)state;
	begin(&scene);
	load(&scene, 100, UINT64_MAX - 8, 32, "over the end");
	load(&scene, 100, AT, (uint64_t)JITDUMP_CODE_MAX + 1, "huge");
	load(&scene, 100, AT, 16, "known");
	read_all(&scene);
	assert_int_equal(jitdump_lost(scene.dump, JIT_LOST_BROKEN), 2);
	check_name(&scene, AT, 500, "known");
	end(&scene);
}

static void a_long_name_is_cut(void **state)
{
	struct scene scene;
	char name[3000];

	(void)state;
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	begin(&scene);
	load(&scene, 100, AT, 16, name);
	read_all(&scene);
	name[JITDUMP_NAME_MAX] = '\0';
	check_name(&scene, AT, 500, name);
	end(&scene);
}

static void more_than_there_is_room_for_is_left_out_and_counted(void **state)
{
	enum { COUNT = 8000 };
	struct scene scene;
	char name[1001];

	(void)state;
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	begin(&scene);
	for (unsigned i = 0; i < COUNT; i++)
		load(&scene, 100, AT + i * 32, 16, name);
	load(&scene, 200, AT, 16, "too late");
	read_all(&scene);
	uint64_t left_out = jitdump_lost(scene.dump, JIT_LOST_NO_ROOM);
	assert_in_range(left_out, COUNT / 4, COUNT * 3 / 4);
	assert_int_equal(left_out + jitdump_functions(scene.dump), COUNT);
	assert_in_range(jit_memory_taken(), JIT_LOOK_MAX / 2, JIT_LOOK_MAX);
	check_name(&scene, AT, 199, name);
	check_name(&scene, AT, 200, NULL); /* but never the wrong one */
	check_name(&scene, AT + 32, 200, name);
	end(&scene);
}

static void places_are_used_again_without_end(void **state)
{
	enum { TIMES = 40000 };
	struct scene scene;
	char name[32];

	(void)state;
	begin(&scene);
	for (unsigned i = 1; i <= TIMES; i++) {
		snprintf(name, sizeof(name), "generation_%u", i);
		load(&scene, i, AT, 16, name);
		if (i % 10000 == 0)
			assert_int_equal(read_at(&scene, i), 0);
	}
	while (jitdump_has_more(scene.dump))
		assert_int_equal(read_at(&scene, TIMES), 0);
	assert_int_equal(lost(&scene), 0);
	assert_int_equal(jitdump_functions(scene.dump), 1);
	check_name(&scene, AT, TIMES, "generation_40000");
	check_name(&scene, AT, TIMES - 1, "generation_39999");
	check_name(&scene, AT, 1, NULL); /* forgotten */
	end(&scene);
}

static void functions_in_any_order_are_found(void **state)
{
	enum { COUNT = 5000 };
	uint64_t random = 1;
	struct scene scene;
	char name[32];

	(void)state;
	begin(&scene);
	for (unsigned i = 0; i < COUNT; i++) { /* 2,741 and the number are coprime */
		unsigned at = i * 2741 % COUNT;

		snprintf(name, sizeof(name), "function_%u", at);
		load(&scene, 100, AT + at * 32, 1 + random_next(&random) % 32, name);
		if (i % 700 == 0)
			read_all(&scene);
	}
	read_all(&scene);
	assert_int_equal(jitdump_functions(scene.dump), COUNT);
	for (unsigned i = 0; i < COUNT; i++) {
		snprintf(name, sizeof(name), "function_%u", i);
		check_name(&scene, AT + i * 32, 500, name);
	}
	end(&scene);
}

static void a_users_memory_is_bounded(void **state)
{
	struct scene scene;

	(void)state;
	begin(&scene);
	load(&scene, 100, AT, 16, "first");
	assert_true(jit_memory_take(WHOSE, JIT_SHARE_MAX));
	assert_int_equal(read_at(&scene, NOW), -ENOSPC);
	jit_memory_give(WHOSE, JIT_SHARE_MAX);
	assert_int_equal(read_at(&scene, NOW), 0);
	check_name(&scene, AT, 500, "first");
	end(&scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_have_names_from_their_time_on),
		cmocka_unit_test(the_time_of_a_stack_chooses_among_functions_of_one_place),
		cmocka_unit_test(between_two_times_no_name_of_two_is_guessed),
		cmocka_unit_test(a_function_that_moves_keeps_its_name),
		cmocka_unit_test(a_function_may_move_over_its_own_place),
		cmocka_unit_test(times_that_cannot_be_are_none),
		cmocka_unit_test(other_processes_and_unknown_records_are_passed_over),
		cmocka_unit_test(a_record_that_is_cut_is_read_when_it_is_whole),
		cmocka_unit_test(what_is_not_new_costs_nothing),
		cmocka_unit_test(a_file_that_shrinks_is_read_no_more),
		cmocka_unit_test(a_header_is_checked),
		cmocka_unit_test(paths_of_a_process),
		cmocka_unit_test(rows_of_a_function_come_before_it),
		cmocka_unit_test(rows_go_with_their_function),
		cmocka_unit_test(a_function_without_rows_that_make_sense_has_its_name),
		cmocka_unit_test(rows_wait_for_their_function),
		cmocka_unit_test(a_record_that_makes_no_sense_ends_the_file),
		cmocka_unit_test(sizes_and_addresses_that_cannot_be_are_counted),
		cmocka_unit_test(a_long_name_is_cut),
		cmocka_unit_test(more_than_there_is_room_for_is_left_out_and_counted),
		cmocka_unit_test(places_are_used_again_without_end),
		cmocka_unit_test(functions_in_any_order_are_found),
		cmocka_unit_test(a_users_memory_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
