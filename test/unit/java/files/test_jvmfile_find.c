// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit/java/files/java_file_scene.h"

#include "java/files/jvmfile_state.h"

#include "bpf/shared/sample.h"

#define CODE	   0x7f0000001000
#define AT(offset) (CODE + (offset))
#define BYTES_MAX  (8 << 20)
#define S	   NS_PER_S
#define SETTLED	   (10 * S) /* long after the agent's begin */

static void scene_make(struct scene *scene)
{
	scene_begin(scene, BYTES_MAX);
	jvmfile_allow(scene->file, UINT32_MAX);
	maker_method(&scene->out, 1, "Lcom/acme/Main;", "run", "(I)V", "Main.java");
	maker_method(&scene->out, 2, "Lcom/acme/Main;", "turn", "(I)V", "Main.java");
}

static void update(struct scene *scene)
{
	folder_put(&scene->folder, JAVA_SYMBOLS_NAME, scene->out.data, scene->out.len);
	assert_int_equal(jvmfile_update(scene->file), 0);
}

static void add(struct scene *scene, uint32_t method, uint16_t flags, uint64_t time_ns,
		uint64_t address, uint32_t size)
{
	maker_code(&scene->out, JAVA_CODE, flags, method, time_ns, address, size, 0, 0, "", 0);
}

static void add_stub(struct scene *scene, const char *name, uint64_t time_ns, uint64_t address,
		     uint32_t size)
{
	maker_code(&scene->out, JAVA_STUB, 0, 0, time_ns, address, size, (uint32_t)strlen(name), 0,
		   name, strlen(name));
}

/* The name of what it was; "-": nothing is known, "?": it may have been one of several. */
static const char *found(struct scene *scene, uint64_t address, uint64_t from_ns, uint64_t until_ns)
{
	static char text[64];
	struct jvm_frame frames[JVM_FRAMES_MAX];
	struct jvmfile_found what;
	struct jvmcode *code;
	bool unsure;
	int r = jvmfile_find(scene->file, address, from_ns, until_ns, &what);

	if (r == -ENOENT || r == -ESTALE)
		return r == -ENOENT ? "-" : "?";
	assert_int_equal(r, 0);
	assert_int_equal(jvmfile_read_found(scene->file, address, what.number, &code), 0);
	uint64_t word = (uint64_t)FRAME_JAVA << FRAME_KIND_SHIFT | address;
	assert_true(jvmcode_is(code, word, what.number));
	assert_int_equal(jvmcode_frames(code, word, what.number, frames, &unsure), 1);
	assert_int_equal(frames[0].kind == JVM_COMPILED, what.kind == JVMFILE_METHOD);
	snprintf(text, sizeof(text), "%.*s", (int)frames[0].method_len, frames[0].method);
	jvmcode_unref(code);
	return text;
}

static void code_is_found_while_it_is_there(void **state)
{
	struct scene scene;

	(void)state;
	scene_make(&scene);
	add(&scene, 1, 0, SETTLED, CODE, 0x40);
	maker_unload(&scene.out, CODE, SETTLED + 20 * S);
	update(&scene);
	assert_string_equal(found(&scene, CODE, SETTLED + S, SETTLED + 2 * S), "run");
	assert_string_equal(found(&scene, AT(0x3f), SETTLED + S, SETTLED + 2 * S), "run");
	assert_string_equal(found(&scene, AT(0x40), SETTLED + S, SETTLED + 2 * S), "-");
	assert_string_equal(found(&scene, CODE - 1, SETTLED + S, SETTLED + 2 * S), "-");
	/* It is told a moment late that it came, and that it went. */
	assert_string_equal(found(&scene, CODE, SETTLED - S / 2, SETTLED + 2 * S), "run");
	assert_string_equal(found(&scene, CODE, SETTLED - 2 * S, SETTLED - 3 * S / 2), "-");
	assert_string_equal(found(&scene, CODE, SETTLED + 19 * S, SETTLED + 40 * S), "run");
	assert_string_equal(found(&scene, CODE, SETTLED + 21 * S, SETTLED + 40 * S), "-");
	scene_done(&scene);
}

static void code_in_the_place_of_other_code_is_not_guessed(void **state)
{
	struct scene scene;

	(void)state;
	scene_make(&scene);
	add(&scene, 1, 0, SETTLED, CODE, 0x40);
	maker_unload(&scene.out, CODE, SETTLED + 20 * S);
	add(&scene, 2, 0, SETTLED + 25 * S, AT(0x20), 0x40);
	update(&scene);
	assert_string_equal(found(&scene, AT(0x30), SETTLED, SETTLED + 19 * S), "run");
	assert_string_equal(found(&scene, AT(0x30), SETTLED, SETTLED + 30 * S), "?");
	assert_string_equal(found(&scene, AT(0x30), SETTLED + 22 * S, SETTLED + 23 * S), "-");
	assert_string_equal(found(&scene, AT(0x30), SETTLED + 26 * S, SETTLED + 30 * S), "turn");
	/* Of the first one alone. */
	assert_string_equal(found(&scene, AT(0x10), SETTLED, SETTLED + 30 * S), "run");
	scene_done(&scene);
}

static void what_was_before_the_agent_is_not_known(void **state)
{
	struct scene scene;

	(void)state;
	scene_make(&scene);
	add(&scene, 1, JAVA_CODE_BEFORE, 2 * S, CODE, 0x40);
	add(&scene, 2, 0, 5 * S / 2, AT(0x40), 0x40);
	update(&scene);
	assert_string_equal(found(&scene, CODE, 0, 5 * S), "-");
	assert_string_equal(found(&scene, CODE, 1, 5 * S), "run");
	/* Something else may have lain there before all was told. */
	assert_string_equal(found(&scene, AT(0x40), 2 * S, 5 * S), "-");
	assert_string_equal(found(&scene, AT(0x40), 5 * S / 2, 5 * S), "turn");
	scene_done(&scene);
}

static void what_was_lost_has_no_name(void **state)
{
	struct scene scene;

	(void)state;
	scene_make(&scene);
	add(&scene, 1, 0, SETTLED, CODE, 0x40);
	maker_code(&scene.out, JAVA_LOST, 0, 0, SETTLED + 10 * S, CODE, 0x40, 0, 0, "", 0);
	update(&scene);
	assert_string_equal(found(&scene, CODE, SETTLED, SETTLED + 5 * S), "run");
	assert_string_equal(found(&scene, CODE, SETTLED, SETTLED + 20 * S), "?");
	assert_string_equal(found(&scene, CODE, SETTLED + 12 * S, SETTLED + 20 * S), "-");
	scene_done(&scene);
}

static void stubs_lie_in_one_another(void **state)
{
	struct jvmfile_found what;
	struct scene scene;

	(void)state;
	scene_make(&scene);
	add_stub(&scene, "copy", S, AT(0x100), 0x20);
	add_stub(&scene, "all", S, CODE, 0x1000);
	add_stub(&scene, "Interpreter", S, AT(0x2000), 0x1000);
	add(&scene, 1, JAVA_CODE_BEFORE, 2 * S, AT(0x8000), 0x40);
	update(&scene);
	assert_string_equal(found(&scene, AT(0x110), SETTLED, SETTLED), "copy");
	assert_string_equal(found(&scene, AT(0x120), SETTLED, SETTLED), "all");
	assert_int_equal(jvmfile_find(scene.file, AT(0x2010), SETTLED, SETTLED, &what), 0);
	assert_int_equal(what.kind, JVMFILE_INTERPRETER);
	/* One that went without a word: a method lies there. */
	add_stub(&scene, "gone", SETTLED, AT(0x4000), 0x100);
	add(&scene, 2, 0, SETTLED + 10 * S, AT(0x4080), 0x40);
	/* … or a larger one: of these nobody knows. */
	add_stub(&scene, "later", SETTLED + 10 * S, AT(0x3f80), 0xf0);
	update(&scene);
	assert_string_equal(found(&scene, AT(0x4081), SETTLED, SETTLED + 5 * S), "gone");
	assert_string_equal(found(&scene, AT(0x40a0), SETTLED + 12 * S, SETTLED + 15 * S), "turn");
	assert_string_equal(found(&scene, AT(0x4010), SETTLED + 12 * S, SETTLED + 15 * S), "?");
	scene_done(&scene);
}

static void a_new_file_has_what_the_old_one_had(void **state)
{
	uint64_t now = loop_now_ns();
	struct jvmfile_found before, after;
	struct scene scene;

	(void)state;
	scene_make(&scene);
	add(&scene, 1, 0, SETTLED, CODE, 0x40);
	add(&scene, 2, 0, SETTLED + S, AT(0x40), 0x40);
	update(&scene);
	assert_int_equal(jvmfile_find(scene.file, AT(0x40), now - S, now, &before), 0);
	scene.out.len = 0;
	maker_begin(&scene.out, 1);
	maker_method(&scene.out, 2, "Lcom/acme/Main;", "turn", "(I)V", "Main.java");
	add(&scene, 2, 0, SETTLED + S, AT(0x40), 0x40);
	add(&scene, 2, 0, now - 1, CODE, 0x40);
	folder_put(&scene.folder, "next", scene.out.data, scene.out.len);
	assert_int_equal(renameat(scene.folder.fd, "next", scene.folder.fd, JAVA_SYMBOLS_NAME), 0);
	assert_int_equal(jvmfile_update(scene.file), 0);
	assert_int_equal(jvmfile_find(scene.file, AT(0x40), now - S, now, &after), 0);
	assert_int_equal(before.number, after.number);
	/* What was left out may have been there until now. */
	assert_string_equal(found(&scene, CODE, now - 5 * S, now), "?");
	assert_int_equal(jvmfile_find(scene.file, CODE, now - 5 * S, now - 3 * S, &after), 0);
	struct jvmcode *code;
	assert_int_equal(jvmfile_read_found(scene.file, CODE, after.number, &code), -ESTALE);
	scene_done(&scene);
}

static void nothing_is_said_of_a_time_that_was_not_read(void **state)
{
	uint64_t now = loop_now_ns();
	struct jvmfile_found what;
	struct scene scene;

	(void)state;
	scene_make(&scene);
	assert_int_equal(jvmfile_find(scene.file, CODE, now, now, &what), -ENOENT);
	add(&scene, 1, 0, SETTLED, CODE, 0x40);
	update(&scene);
	assert_int_equal(jvmfile_find(scene.file, CODE, now, now + 60 * S, &what), -EAGAIN);
	/* Where the file has gone what is open is read on. */
	assert_int_equal(unlinkat(scene.folder.fd, JAVA_SYMBOLS_NAME, 0), 0);
	assert_int_equal(jvmfile_update(scene.file), -ENOENT);
	assert_string_equal(found(&scene, CODE, now, now + 1), "run");
	scene_done(&scene);
}

static void times_of_another_clock_tell_nothing(void **state)
{
	struct scene scene;

	(void)state;
	scene_make(&scene);
	jvmfile_set_other_clock(scene.file);
	add(&scene, 1, 0, SETTLED, CODE, 0x40);
	update(&scene);
	assert_string_equal(found(&scene, CODE, SETTLED + S, SETTLED + 2 * S), "-");
	scene_done(&scene);
}

static void an_agent_that_has_stopped_tells_no_more(void **state)
{
	struct scene scene;

	(void)state;
	scene_make(&scene);
	add(&scene, 1, 0, SETTLED, CODE, 0x40);
	maker_code(&scene.out, JAVA_END, 0, 0, SETTLED + 10 * S, 0, 0, 0, 0, "", 0);
	update(&scene);
	assert_string_equal(found(&scene, CODE, SETTLED + 9 * S, SETTLED + 10 * S), "run");
	assert_string_equal(found(&scene, CODE, SETTLED + 9 * S, SETTLED + 20 * S), "-");
	scene_done(&scene);
}

/* As a long-running VM does: its code comes and goes at the same places. */
static void much_code_is_found_and_forgotten(void **state)
{
	enum { PLACES = 500, TIMES = 40 };
	struct jvmfile_stats stats;
	struct scene scene;

	(void)state;
	scene_make(&scene);
	for (uint32_t time = 0; time < TIMES; time++) {
		for (uint32_t place = 0; place < PLACES; place++) {
			if (time)
				maker_unload(&scene.out, AT(0x40 * place),
					     SETTLED + time * 10 * S - 3 * S);
			add(&scene, 1 + (time + place) % 2, 0, SETTLED + time * 10 * S,
			    AT(0x40 * place), 0x40);
		}
		if (time % 7 == 0)
			update(&scene);
	}
	update(&scene);
	scene.file->read_ns = UINT64_MAX; /* the machine may be up for less than these times */
	for (uint32_t time = 0; time < TIMES; time++)
		for (uint32_t place = 0; place < PLACES; place += 13)
			assert_string_equal(found(&scene, AT(0x40 * place + 7),
						  SETTLED + time * 10 * S,
						  SETTLED + time * 10 * S + 6 * S),
					    (time + place) % 2 ? "turn" : "run");
	jvmfile_forget(scene.file, SETTLED + (TIMES - 1) * 10 * S);
	jvmfile_stats(scene.file, &stats);
	assert_int_equal(stats.codes, PLACES);
	assert_string_equal(found(&scene, CODE, SETTLED + S, SETTLED + S), "-");
	assert_string_equal(found(&scene, CODE, SETTLED + TIMES * 10 * S, SETTLED + TIMES * 10 * S),
			    "turn");
	scene_done(&scene);
}

static void codes_without_room_are_counted(void **state)
{
	enum { MOST = 1 << 17 };
	struct jvmfile_stats stats;
	struct scene scene;

	(void)state;
	scene_make(&scene);
	for (uint32_t i = 0; i < MOST + 10; i++)
		add(&scene, 1, 0, SETTLED, AT(0x40ULL * i), 0x40);
	assert_int_equal(scene.out.error, 0);
	update(&scene);
	jvmfile_stats(scene.file, &stats);
	assert_int_equal(stats.codes, MOST);
	assert_int_equal(stats.lost, 10);
	assert_string_equal(found(&scene, AT(0x40ULL * (MOST - 1)), SETTLED, SETTLED), "run");
	assert_string_equal(found(&scene, AT(0x40ULL * MOST), SETTLED, SETTLED), "-");
	scene_done(&scene);
}

/* A job that reads a piece may take long: meanwhile the loop asks for the next ones. */
static void a_code_is_found_while_another_is_read(void **state)
{
	struct jvmfile_found what;
	struct jvmcode *code;
	struct scene scene;

	(void)state;
	scene_make(&scene);
	add(&scene, 1, 0, SETTLED, AT(0), 0x40);
	update(&scene);
	assert_int_equal(pthread_mutex_lock(&scene.file->reads), 0);
	assert_int_equal(jvmfile_find(scene.file, AT(8), SETTLED, SETTLED, &what), 0);
	assert_int_equal(jvmfile_read_found(scene.file, AT(8), what.number, &code), -EBUSY);
	assert_int_equal(jvmfile_update(scene.file), -EBUSY);
	assert_int_equal(pthread_mutex_unlock(&scene.file->reads), 0);
	assert_string_equal(found(&scene, AT(8), SETTLED, SETTLED), "run");
	assert_int_equal(jvmfile_take(scene.file), 0); /* as who changes the index does */
	assert_int_equal(jvmfile_find(scene.file, AT(8), SETTLED, SETTLED, &what), -EBUSY);
	jvmfile_give(scene.file);
	scene_done(&scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(code_is_found_while_it_is_there),
		cmocka_unit_test(code_in_the_place_of_other_code_is_not_guessed),
		cmocka_unit_test(what_was_before_the_agent_is_not_known),
		cmocka_unit_test(what_was_lost_has_no_name),
		cmocka_unit_test(stubs_lie_in_one_another),
		cmocka_unit_test(a_new_file_has_what_the_old_one_had),
		cmocka_unit_test(nothing_is_said_of_a_time_that_was_not_read),
		cmocka_unit_test(times_of_another_clock_tell_nothing),
		cmocka_unit_test(an_agent_that_has_stopped_tells_no_more),
		cmocka_unit_test(much_code_is_found_and_forgotten),
		cmocka_unit_test(codes_without_room_are_counted),
		cmocka_unit_test(a_code_is_found_while_another_is_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
