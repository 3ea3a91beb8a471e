// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit/java/files/java_file_scene.h"

#include "bpf/shared/sample.h"

#define CODE	   0x7f0000001000
#define LONG_AGO   (4 * NS_PER_S) /* but after the agent's begin */
#define AT(offset) (CODE + (offset))
#define BYTES_MAX  (1 << 20)

static int update(struct scene *scene)
{
	folder_put(&scene->folder, JAVA_SYMBOLS_NAME, scene->out.data, scene->out.len);
	return jvmfile_update(scene->file);
}

static void add_methods(struct scene *scene)
{
	maker_method(&scene->out, 1, "Lcom/acme/Main;", "run", "(I)V", "Main.java");
	maker_method(&scene->out, 2, "Lcom/acme/Part;", "turn", "()I", "Part.java");
	maker_method(&scene->out, 3, "LKnown$$Lambda.0x00007f1234;", "get", "()V", "");
}

/* run:10 ── (turn:20 in run:11); places: 8 run:10, 0x18 turn in run:11, 0x20 run:12 */
static void add_code(struct scene *scene, uint16_t flags, uint64_t time_ns)
{
	static const char tree[] = {0, 1, 10, 0, 1, 11, 2, 2, 20, 0, 1, 12, 8, 1, 0x10, 3, 8, 4};

	maker_code(&scene->out, JAVA_CODE, flags, 1, time_ns, CODE, 0x40, 4, 3, tree, sizeof(tree));
}

/* A scene with that code, told long ago. */
static void scene_told(struct scene *scene, uint16_t flags)
{
	scene_begin(scene, BYTES_MAX);
	add_methods(scene);
	add_code(scene, flags, LONG_AGO);
}

static uint64_t word_of(uint64_t kind, uint64_t address)
{
	return kind << FRAME_KIND_SHIFT | address;
}

static int read_at(struct scene *scene, uint64_t address, uint32_t id, int what,
		   struct jvmcode **code)
{
	struct jvmfile_memory memory = {what, CODE,
					CODE + (id == 6 && scene->short_now ? 32 : 0x40)};

	return jvmfile_read(scene->file, word_of(FRAME_JAVA, address), id, &memory, code);
}

/* "turn:20 run:11", leaf first; "?" in front where it isn't sure. */
static void assert_frames(const struct jvmcode *code, uint64_t word, uint32_t id,
			  const char *expected)
{
	struct jvm_frame frames[JVM_FRAMES_MAX];
	char text[256] = "";
	bool unsure;
	size_t count = jvmcode_frames(code, word, id, frames, &unsure), len = 0;

	for (size_t i = 0; i < count; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%.*s:%u",
					i	 ? " "
					: unsure ? "?"
						 : "",
					(int)frames[i].method_len, frames[i].method,
					frames[i].line);
	assert_string_equal(text, expected);
}

/* The code is there; `expected` NULL: whatever its frames are. */
static void assert_read(struct scene *scene, uint64_t address, uint32_t id, int what,
			const char *expected)
{
	struct jvmcode *code;

	assert_int_equal(read_at(scene, address, id, what, &code), 0);
	if (expected)
		assert_frames(code, word_of(FRAME_JAVA, address), id, expected);
	jvmcode_unref(code);
}

static void inlined_methods_are_told_by_the_place(void **state)
{
	struct jvmcode *code;
	struct scene scene;

	(void)state;
	scene_told(&scene, 0);
	assert_int_equal(update(&scene), 0);
	assert_int_equal(read_at(&scene, AT(0x10), 5, JVMFILE_THERE, &code), 0);
	assert_true(jvmcode_is(code, word_of(FRAME_JAVA, AT(0x3f)), 5));
	assert_frames(code, word_of(FRAME_JAVA, AT(4)), 5, "run:10");
	assert_frames(code, word_of(FRAME_JAVA, AT(0x10)), 5, "turn:20 run:11");
	assert_frames(code, word_of(FRAME_JAVA_RETURN, AT(0x18)), 5, "turn:20 run:11");
	assert_frames(code, word_of(FRAME_JAVA, AT(0x19)), 5, "run:12");
	/* What is interrupted there ends behind it. */
	assert_frames(code, word_of(FRAME_JAVA, AT(0x18)), 5, "run:12");
	assert_frames(code, word_of(FRAME_JAVA, AT(0x30)), 5, "?run:0");
	jvmcode_unref(code);
	scene_done(&scene);
}

static void code_from_before_is_known_where_it_may_stop(void **state)
{
	struct jvmcode *code;
	struct scene scene;

	(void)state;
	scene_told(&scene, JAVA_CODE_BEFORE);
	assert_int_equal(update(&scene), 0);
	assert_int_equal(read_at(&scene, AT(0x10), 5, JVMFILE_UNKNOWN, &code), 0);
	assert_frames(code, word_of(FRAME_JAVA_RETURN, AT(0x18)), 5, "turn:20 run:11");
	assert_frames(code, word_of(FRAME_JAVA, AT(0x10)), 5, "?run:0");
	jvmcode_unref(code);
	scene_done(&scene);
}

static void names_are_those_of_people(void **state)
{
	struct jvm_frame frames[JVM_FRAMES_MAX];
	struct jvmcode *code;
	struct scene scene;
	bool unsure;

	(void)state;
	scene_begin(&scene, BYTES_MAX);
	add_methods(&scene);
	maker_code(&scene.out, JAVA_CODE, JAVA_CODE_NATIVE, 3, LONG_AGO, CODE, 8, 0, 0, "", 0);
	maker_code(&scene.out, JAVA_STUB, 0, 0, LONG_AGO, AT(64), 8, 4, 0, "stub", 4);
	assert_int_equal(update(&scene), 0);
	assert_int_equal(read_at(&scene, AT(1), 5, JVMFILE_UNKNOWN, &code), 0);
	assert_int_equal(jvmcode_frames(code, word_of(FRAME_JAVA, AT(1)), 5, frames, &unsure), 1);
	assert_false(unsure);
	assert_memory_equal(frames[0].class_name, "Known$$Lambda", frames[0].class_len);
	assert_null(frames[0].file);
	jvmcode_unref(code);
	assert_int_equal(read_at(&scene, AT(65), 0, JVMFILE_UNKNOWN, &code), 0);
	jvmcode_frames(code, word_of(FRAME_JAVA, AT(65)), 0, frames, &unsure);
	assert_int_equal(frames[0].kind, JVM_STUB);
	assert_memory_equal(frames[0].method, "stub", 4);
	jvmcode_unref(code);
	assert_int_equal(read_at(&scene, AT(65), 6, JVMFILE_UNKNOWN, &code), -ENOENT);
	scene_done(&scene);
}

static void what_has_gone_is_not_given_for_another_id(void **state)
{
	struct jvmcode *code;
	struct scene scene;

	(void)state;
	scene_told(&scene, 0);
	assert_int_equal(update(&scene), 0);
	assert_read(&scene, AT(0x10), 5, JVMFILE_THERE, NULL);
	assert_int_equal(read_at(&scene, AT(0x10), 6, JVMFILE_THERE, &code), -ENOENT);
	maker_unload(&scene.out, CODE, LONG_AGO + 1);
	maker_code(&scene.out, JAVA_CODE, JAVA_CODE_NATIVE, 2, LONG_AGO + 2, CODE, 32, 0, 0, "", 0);
	assert_int_equal(update(&scene), 0);
	/* … nor while the VM has another one there, of which it hasn't told. */
	assert_int_equal(read_at(&scene, AT(0x10), 6, JVMFILE_THERE, &code), -ENOENT);
	scene.short_now = true;
	assert_read(&scene, AT(0x10), 6, JVMFILE_THERE, "turn:0");
	assert_read(&scene, AT(0x10), 5, JVMFILE_GONE, "turn:20 run:11");
	scene_done(&scene);
}

static void code_that_changed_just_now_is_not_guessed(void **state)
{
	uint64_t now = loop_now_ns();
	struct jvmcode *code;
	struct scene scene;

	(void)state;
	scene_told(&scene, 0);
	maker_unload(&scene.out, CODE, now);
	add_code(&scene, 0, now + 1);
	assert_int_equal(update(&scene), 0);
	assert_int_equal(read_at(&scene, AT(0x10), 5, JVMFILE_UNKNOWN, &code), -ESTALE);
	assert_read(&scene, AT(0x10), 5, JVMFILE_GONE, NULL);
	assert_read(&scene, AT(0x10), 6, JVMFILE_THERE, NULL);
	scene_done(&scene);
}

static void what_the_agent_lost_has_no_name(void **state)
{
	struct jvmfile_stats stats;
	struct jvmcode *code;
	struct scene scene;

	(void)state;
	scene_told(&scene, 0);
	maker_code(&scene.out, JAVA_LOST, 0, 0, LONG_AGO + 1, CODE, 0x40, 0, 0, "", 0);
	assert_int_equal(update(&scene), 0);
	assert_int_equal(read_at(&scene, AT(0x10), 5, JVMFILE_THERE, &code), -ENOENT);
	jvmfile_stats(scene.file, &stats);
	assert_int_equal(stats.lost, 1);
	scene_done(&scene);
}

static void a_torn_tail_is_read_when_it_is_whole(void **state)
{
	struct jvmcode *code;
	struct scene scene;

	(void)state;
	scene_told(&scene, 0);
	size_t whole = scene.out.len;
	for (size_t cut = 8; cut < 64; cut += 8) {
		scene.out.len = whole - cut;
		assert_int_equal(update(&scene), 0);
		assert_int_equal(read_at(&scene, AT(0x10), 5, JVMFILE_THERE, &code), -ENOENT);
	}
	scene.out.len = whole;
	assert_int_equal(update(&scene), 0);
	assert_read(&scene, AT(0x10), 5, JVMFILE_THERE, NULL);
	scene_done(&scene);
}

static void a_new_file_keeps_what_was_given_out(void **state)
{
	struct jvmcode *code;
	struct scene scene;

	(void)state;
	scene_told(&scene, 0);
	assert_int_equal(update(&scene), 0);
	assert_read(&scene, AT(0x10), 5, JVMFILE_THERE, NULL);
	scene.out.len = 0;
	maker_begin(&scene.out, 1);
	add_methods(&scene);
	add_code(&scene, 0, LONG_AGO);
	folder_put(&scene.folder, "next", scene.out.data, scene.out.len);
	assert_int_equal(renameat(scene.folder.fd, "next", scene.folder.fd, JAVA_SYMBOLS_NAME), 0);
	assert_int_equal(jvmfile_update(scene.file), 0);
	assert_int_equal(read_at(&scene, AT(0x10), 6, JVMFILE_THERE, &code), -ENOENT);
	assert_read(&scene, AT(0x10), 5, JVMFILE_THERE, NULL);
	scene_done(&scene);
}

static void what_is_no_plain_file_is_refused(void **state)
{
	struct scene scene;

	(void)state;
	scene_begin(&scene, BYTES_MAX);
	assert_int_equal(jvmfile_update(scene.file), -ENOENT);
	assert_int_equal(symlinkat("/etc/passwd", scene.folder.fd, JAVA_SYMBOLS_NAME), 0);
	assert_int_equal(jvmfile_update(scene.file), -EACCES);
	assert_int_equal(unlinkat(scene.folder.fd, JAVA_SYMBOLS_NAME, 0), 0);
	assert_int_equal(mkfifoat(scene.folder.fd, JAVA_SYMBOLS_NAME, 0600), 0);
	assert_int_equal(jvmfile_update(scene.file), -EACCES);
	assert_int_equal(unlinkat(scene.folder.fd, JAVA_SYMBOLS_NAME, 0), 0);
	assert_int_equal(mkdirat(scene.folder.fd, JAVA_SYMBOLS_NAME, 0700), 0);
	assert_int_equal(jvmfile_update(scene.file), -EACCES);
	assert_int_equal(unlinkat(scene.folder.fd, JAVA_SYMBOLS_NAME, AT_REMOVEDIR), 0);
	scene.out.len = 20;
	assert_int_equal(update(&scene), -EBADMSG);
	if (geteuid() == 0) {
		assert_int_equal(unlinkat(scene.folder.fd, JAVA_SYMBOLS_NAME, 0), 0);
		assert_int_equal(update(&scene), -EBADMSG);
		assert_int_equal(fchownat(scene.folder.fd, JAVA_SYMBOLS_NAME, 65534, 65534, 0), 0);
		assert_int_equal(jvmfile_update(scene.file), -EACCES);
	}
	scene_done(&scene);
}

static void circles_and_numbers_out_of_bounds_are_refused(void **state)
{
	static const char circle[] = {2, 1, 10, 1, 1, 10, 8, 1}, method[] = {0, 9, 10, 8, 1},
			  place[] = {0, 1, 10, 8, 2}, far_off[] = {0, 1, 10, 0x7f, 1},
			  other[] = {0, 2, 10, 8, 1};
	static const struct {
		const char *data;
		size_t bytes;
		uint32_t nodes;
	} cases[] = {{circle, sizeof(circle), 2},
		     {method, sizeof(method), 1},
		     {place, sizeof(place), 1},
		     {far_off, sizeof(far_off), 1},
		     {other, sizeof(other), 1}};
	struct jvmcode *code;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct scene scene;

		scene_begin(&scene, BYTES_MAX);
		add_methods(&scene);
		maker_code(&scene.out, JAVA_CODE, 0, 1, LONG_AGO, CODE, 32, cases[i].nodes, 1,
			   cases[i].data, cases[i].bytes);
		assert_int_equal(update(&scene), 0);
		assert_int_equal(read_at(&scene, AT(4), 5, JVMFILE_UNKNOWN, &code), -EBADMSG);
		scene_done(&scene);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(inlined_methods_are_told_by_the_place),
		cmocka_unit_test(code_from_before_is_known_where_it_may_stop),
		cmocka_unit_test(names_are_those_of_people),
		cmocka_unit_test(what_has_gone_is_not_given_for_another_id),
		cmocka_unit_test(code_that_changed_just_now_is_not_guessed),
		cmocka_unit_test(what_the_agent_lost_has_no_name),
		cmocka_unit_test(a_torn_tail_is_read_when_it_is_whole),
		cmocka_unit_test(a_new_file_keeps_what_was_given_out),
		cmocka_unit_test(what_is_no_plain_file_is_refused),
		cmocka_unit_test(circles_and_numbers_out_of_bounds_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
