// SPDX-License-Identifier: GPL-2.0-or-later
/* Code of a made-up Java VM: what is read of it, and that nothing in its memory does harm. */
#include "unit/java/vm/jvm_maker.h"

#include "java/code/jvmcode_struct.h"
#include "java/code/jvmstops.h"

#define WORD(kind, address) ((uint64_t)(kind) << FRAME_KIND_SHIFT | (address))
#define DETAIL(bci, id)	    hotspot_detail(FRAME_JAVA_DETAIL, bci, id)

static const struct jvm_made outer = {
	.class_name = "org/app/Main",
	.name = "run",
	.signature = "(I[Ljava/lang/String;)V",
	.file = "Main.java",
	.code = {0xb8, 0, 1, 0xb1}, /* invokestatic, return */
	.code_bytes = 4,
	.lines = {{0, 10}, {3, 12}},
	.lines_count = 2,
};
static const struct jvm_made inner = {
	.class_name = "org/app/Tool$$Lambda$7+0x0000700001000000",
	.name = "apply",
	.signature = "()J",
	.code = {0x03, 0xb1},
	.code_bytes = 2,
	.lines = {{0, 300}, {1, 290}},
	.lines_count = 2,
};

/* inner in outer at 0x20, at 0x40 outer alone; 0x60 isn't where the VM may stop, where `all`. */
static uint64_t make_inlined(struct jvm_memory *memory, bool all)
{
	const uint64_t methods[] = {jvm_method(memory, &outer), jvm_method(memory, &inner)};
	const struct jvm_nmethod_made made = {
		.id = 77,
		.methods = methods,
		.methods_count = 2,
		.scopes = {{0, 1, 0}, {1, 2, 1}, {0, 1, 3}},
		.scopes_count = 3,
		.places = {{0x20, 2, true}, {0x40, 3, true}, {0x60, 2, !all}},
		.places_count = 3,
	};

	return jvm_nmethod(memory, &made);
}

static struct jvmcode *read_code(struct jvm_memory *memory, uint64_t word, uint64_t detail)
{
	struct process_memory reader = {.read = jvm_memory_read, .arg = memory};
	struct jvmcode *code = NULL;

	memory->reads = 0;
	assert_int_equal(jvmcode_read(&code, &memory->layout, &reader, word, detail), 0);
	return code;
}

static int try_code(struct jvm_memory *memory, uint64_t word, uint64_t detail)
{
	struct process_memory reader = {.read = jvm_memory_read, .arg = memory};
	struct jvmcode *code = NULL;

	memory->reads = 0;
	int r = jvmcode_read(&code, &memory->layout, &reader, word, detail);
	if (r == 0)
		jvmcode_unref(code);
	return r;
}

static void assert_text(const char *text, size_t len, const char *expected)
{
	if (!expected) {
		assert_null(text);
		return;
	}
	assert_int_equal(len, strlen(expected));
	assert_memory_equal(text, expected, len);
}

/* "run" or "apply run", with the line of the first. */
static void assert_frames(const struct jvmcode *code, uint64_t word, uint64_t detail,
			  const char *methods, uint32_t line, bool expect_unsure)
{
	struct jvm_frame frames[JVM_FRAMES_MAX];
	char text[256] = "";
	bool unsure;
	size_t count = jvmcode_frames(code, word, detail, frames, &unsure);

	for (size_t i = 0; i < count; i++) {
		sprintf(text + strlen(text), "%s%.*s", i ? " " : "", (int)frames[i].method_len,
			frames[i].method);
		assert_true(i + 1 == count || frames[i].kind == JVM_INLINED);
	}
	assert_string_equal(text, methods);
	assert_int_equal(frames[0].line, line);
	assert_int_equal(unsure, expect_unsure);
}

static struct jvm_memory *new_memory(uint32_t version)
{
	struct jvm_memory *memory = malloc(sizeof(*memory));

	assert_non_null(memory);
	jvm_init(memory, version);
	return memory;
}

static void places_of_calls_are_exact(void **state)
{
	const uint32_t versions[] = {17, 21, 25};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
		_cleanup_free_ struct jvm_memory *memory = new_memory(versions[i]);
		uint64_t at = make_inlined(memory, false), detail = DETAIL(HOTSPOT_BCI_NONE, 77);
		struct jvmcode *code = read_code(memory, WORD(FRAME_JAVA_RETURN, at + 9), detail);

		assert_frames(code, WORD(FRAME_JAVA_RETURN, at + 0x20), detail, "apply run", 290,
			      false);
		assert_frames(code, WORD(FRAME_JAVA_RETURN, at + 0x40), detail, "run", 12, false);
		assert_frames(code, WORD(FRAME_JAVA_RETURN, at + 0x30), detail, "run", 0, true);
		assert_frames(code, WORD(FRAME_JAVA_RETURN, at + 0x70), detail, "run", 0, true);
		assert_frames(code, WORD(FRAME_JAVA, at + 0x20), detail, "run", 0, true);
		assert_frames(code, WORD(FRAME_JAVA, at + 7), detail, "run", 0, false);
		assert_true(jvmcode_is(code, WORD(FRAME_JAVA, at), detail));
		assert_false(jvmcode_is(code, WORD(FRAME_JAVA, at), detail + 1));
		assert_false(jvmcode_is(code, WORD(FRAME_JAVA, at - 1), detail));
		assert_false(jvmcode_is(code, WORD(FRAME_JAVA_METHOD, at), detail));
		jvmcode_unref(code);
	}
}

static void places_are_everywhere_where_one_is_no_stop(void **state)
{
	(void)state;
	_cleanup_free_ struct jvm_memory *memory = new_memory(25);
	uint64_t at = make_inlined(memory, true), detail = DETAIL(HOTSPOT_BCI_NONE, 77);
	struct jvmcode *code = read_code(memory, WORD(FRAME_JAVA, at + 9), detail);

	assert_frames(code, WORD(FRAME_JAVA, at + 0x1f), detail, "apply run", 290, false);
	assert_frames(code, WORD(FRAME_JAVA, at + 0x20), detail, "run", 12, false);
	assert_frames(code, WORD(FRAME_JAVA, at + 0x40), detail, "apply run", 290, false);
	assert_frames(code, WORD(FRAME_JAVA_RETURN, at + 0x41), detail, "apply run", 290, false);
	assert_frames(code, WORD(FRAME_JAVA, at + 0x60), detail, "run", 0, true);
	jvmcode_unref(code);
}

static void what_calls_nothing_is_certain(void **state)
{
	(void)state;
	_cleanup_free_ struct jvm_memory *memory = new_memory(17);
	struct jvm_made made = inner;
	made.lines_count = 1;
	const uint64_t method = jvm_method(memory, &made);
	const struct jvm_nmethod_made nmethod = {
		.id = 5,
		.methods = &method,
		.methods_count = 1,
		.scopes = {{0, 1, 0}},
		.scopes_count = 1,
		.places = {{0x20, 1, true}},
		.places_count = 1,
	};
	uint64_t at = jvm_nmethod(memory, &nmethod), detail = DETAIL(HOTSPOT_BCI_NONE, 5);
	struct jvmcode *code = read_code(memory, WORD(FRAME_JAVA, at), detail);

	assert_frames(code, WORD(FRAME_JAVA, at + 0x50), detail, "apply", 300, false);
	jvmcode_unref(code);
}

static void texts_are_as_people_know_them(void **state)
{
	(void)state;
	_cleanup_free_ struct jvm_memory *memory = new_memory(25);
	uint64_t at = make_inlined(memory, false), detail = DETAIL(HOTSPOT_BCI_NONE, 77);
	struct jvmcode *code = read_code(memory, WORD(FRAME_JAVA_RETURN, at), detail);
	struct jvm_frame frames[JVM_FRAMES_MAX];
	bool unsure;

	assert_int_equal(
		jvmcode_frames(code, WORD(FRAME_JAVA_RETURN, at + 0x20), detail, frames, &unsure),
		2);
	assert_text(frames[0].class_name, frames[0].class_len, "org.app.Tool$$Lambda");
	assert_text(frames[0].signature, frames[0].signature_len, "()");
	assert_text(frames[0].file, frames[0].file_len, NULL);
	assert_text(frames[1].class_name, frames[1].class_len, "org.app.Main");
	assert_text(frames[1].signature, frames[1].signature_len, "(int, java.lang.String[])");
	assert_text(frames[1].file, frames[1].file_len, "Main.java");
	assert_int_equal(frames[1].line, 10);
	assert_int_equal(frames[1].kind, JVM_COMPILED);
	jvmcode_unref(code);
}

static void stubs_have_their_names(void **state)
{
	(void)state;
	_cleanup_free_ struct jvm_memory *memory = new_memory(25);
	uint64_t at = jvm_blob(memory, 0, "C1 Runtime new_\xff");
	struct jvmcode *code = read_code(memory, WORD(FRAME_JAVA, at), DETAIL(HOTSPOT_BCI_NONE, 0));
	struct jvm_frame frames[JVM_FRAMES_MAX];
	bool unsure;

	assert_int_equal(jvmcode_frames(code, WORD(FRAME_JAVA, at), 0, frames, &unsure), 1);
	assert_int_equal(frames[0].kind, JVM_STUB);
	assert_text(frames[0].method, frames[0].method_len, "C1 Runtime new_\xef\xbf\xbd");
	assert_null(frames[0].class_name);
	assert_int_equal(try_code(memory, WORD(FRAME_JAVA, at), DETAIL(HOTSPOT_BCI_NONE, 3)),
			 -ESTALE);
	jvmcode_unref(code);
}

static void natives_are_themselves(void **state)
{
	(void)state;
	_cleanup_free_ struct jvm_memory *memory = new_memory(17);
	struct jvm_made made = outer;
	made.access = 0x100;
	const uint64_t method = jvm_method(memory, &made);
	const struct jvm_nmethod_made nmethod = {.id = 9, .methods = &method, .methods_count = 1};
	uint64_t at = jvm_nmethod(memory, &nmethod), detail = DETAIL(HOTSPOT_BCI_NONE, 9);
	struct jvmcode *code = read_code(memory, WORD(FRAME_JAVA_RETURN, at), detail);

	assert_frames(code, WORD(FRAME_JAVA_RETURN, at + 0x123), detail, "run", 0, false);
	jvmcode_unref(code);
}

static void interpreted_methods_have_lines(void **state)
{
	(void)state;
	_cleanup_free_ struct jvm_memory *memory = new_memory(8);
	uint64_t method = jvm_method(memory, &outer);
	uint32_t id = jvm_method_id(memory, method);
	uint64_t word = WORD(FRAME_JAVA_METHOD, method);
	struct jvmcode *code = read_code(memory, word, DETAIL(0, id));

	assert_frames(code, word, DETAIL(0, id), "run", 10, false);
	assert_frames(code, word, DETAIL(2, id), "run", 10, false);
	assert_frames(code, word, DETAIL(3, id), "run", 12, false);
	assert_frames(code, word, DETAIL(HOTSPOT_BCI_NONE, id), "run", 0, false);
	assert_true(jvmcode_is(code, word, DETAIL(3, id)));
	assert_int_equal(try_code(memory, word, DETAIL(0, id + 1)), -ESTALE);
	jvmcode_unref(code);
}

static void change_id(struct jvm_memory *memory, unsigned int read)
{
	if (read == 9)
		jvm_put(memory, memory->nmethod + 56, 78, 4);
}

static void what_changes_meanwhile_is_stale(void **state)
{
	(void)state;
	_cleanup_free_ struct jvm_memory *memory = new_memory(25);
	uint64_t at = make_inlined(memory, false);

	assert_int_equal(try_code(memory, WORD(FRAME_JAVA, at), DETAIL(HOTSPOT_BCI_NONE, 76)),
			 -ESTALE);
	memory->before = change_id;
	assert_int_equal(try_code(memory, WORD(FRAME_JAVA, at), DETAIL(HOTSPOT_BCI_NONE, 77)),
			 -ESTALE);
	memory->before = NULL;
	assert_int_equal(try_code(memory, WORD(FRAME_JAVA, JVM_AT + JVM_HEAP_BYTES - 1),
				  DETAIL(HOTSPOT_BCI_NONE, 77)),
			 -ESTALE);
	assert_int_equal(try_code(memory, WORD(FRAME_JAVA, 0x1000), DETAIL(HOTSPOT_BCI_NONE, 77)),
			 -ESTALE);
}

/* Callers that are written later, or the scope itself. */
static void cycles_are_refused(void **state)
{
	(void)state;
	_cleanup_free_ struct jvm_memory *memory = new_memory(17);
	const uint64_t method = jvm_method(memory, &outer);
	const struct jvm_nmethod_made nmethod = {
		.id = 5,
		.methods = &method,
		.methods_count = 1,
		.scopes = {{0, 1, 0}, {1, 1, 0}},
		.scopes_count = 2,
		.places = {{0x20, 2, true}},
		.places_count = 1,
	};
	uint64_t at = jvm_nmethod(memory, &nmethod), data;

	memcpy(&data, jvm_at(memory, memory->nmethod + 88), 8);
	for (uint64_t caller = 7; caller < 20; caller++) {
		jvm_put(memory, data + 7, caller, 1);
		assert_int_equal(
			try_code(memory, WORD(FRAME_JAVA, at), DETAIL(HOTSPOT_BCI_NONE, 5)),
			-EBADMSG);
	}
}

/* Each word of it wild, one after another, and several at random: an answer, and no harm. */
/* Two maps, as far from each other as can be; everything else is zero. */
static int read_far_maps(void *arg, uint64_t address, void *to, size_t bytes)
{
	static const uint64_t there[] = {2, 0x2000, 2, UINT64_MAX};

	(void)arg;
	memset(to, 0, bytes);
	if (address == 0x1000) /* their count, then where their addresses are */
		memcpy(to, &there[0], bytes);
	else if (address == 0x1008)
		memcpy(to, &there[1], bytes);
	else if (address == 0x2000)
		memcpy(to, &there[2], bytes);
	return 0;
}

static void maps_that_lie_too_far_apart_are_refused(void **state)
{
	(void)state;
	const struct jvm_layout layout = {.maps_pointers = 8};
	const struct process_memory memory = {.read = read_far_maps};
	struct jvm_reader reader = {.layout = &layout, .memory = &memory, .left = 1 << 20};
	_cleanup_free_ uint32_t *pcs = NULL;

	assert_int_equal(jvmstops_read(&reader, 0x1000, &pcs), -EBADMSG);
}

static void any_memory_has_an_answer(void **state)
{
	const uint64_t wild[] = {0,
				 UINT64_MAX,
				 INT32_MAX,
				 JVM_AT,
				 JVM_AT + JVM_BYTES - 1,
				 0x8000000000000000,
				 0x0101010101010101};
	_cleanup_free_ struct jvm_memory *memory = new_memory(25), *copy = new_memory(25);
	uint64_t at = make_inlined(memory, true), seed = 1;
	uint64_t detail = DETAIL(HOTSPOT_BCI_NONE, 77);

	(void)state;
	memcpy(copy, memory, sizeof(*copy));
	for (uint64_t i = 0; i < memory->used; i += 4) {
		if (i == JVM_BLOB_BYTES + 32) /* the code itself, and the rest of the cache */
			i = JVM_HEAP_BYTES;
		for (size_t j = 0; j < ARRAY_SIZE(wild); j++) {
			memcpy(copy->data + i, &wild[j], 8);
			try_code(copy, WORD(FRAME_JAVA_RETURN, at + 0x20), detail);
		}
		memcpy(copy->data + i, memory->data + i, 8);
	}
	for (int i = 0; i < 20000; i++) {
		uint64_t where = random_next(&seed) % 300;

		if (i & 1)
			where = JVM_HEAP_BYTES +
				random_next(&seed) % (memory->used - JVM_HEAP_BYTES);
		copy->data[where] = (uint8_t)random_next(&seed);
		try_code(copy, WORD(FRAME_JAVA_RETURN, at + 0x20), detail);
		if (i % 8 == 7)
			memcpy(copy->data, memory->data, memory->used);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(places_of_calls_are_exact),
		cmocka_unit_test(places_are_everywhere_where_one_is_no_stop),
		cmocka_unit_test(what_calls_nothing_is_certain),
		cmocka_unit_test(texts_are_as_people_know_them),
		cmocka_unit_test(stubs_have_their_names),
		cmocka_unit_test(natives_are_themselves),
		cmocka_unit_test(interpreted_methods_have_lines),
		cmocka_unit_test(what_changes_meanwhile_is_stale),
		cmocka_unit_test(cycles_are_refused),
		cmocka_unit_test(maps_that_lie_too_far_apart_are_refused),
		cmocka_unit_test(any_memory_has_an_answer),
	};

	return cmocka_run_group_tests_name("jvmcode", tests, NULL, NULL);
}
