// SPDX-License-Identifier: GPL-2.0-or-later
/* Where CPython keeps what: by rows, by what a process says, and in the memory of real ones. */
#include "unit/python/pythons.h"

#include <sys/uio.h>

#include "proc/proc.h"
#include "python/layouts.h"

#define V(minor, micro) (0x03000000u | (minor) << 16 | (micro) << 8 | 0xf0)

/* ---- which versions ---- */

static void rows_hold_for_all_of_a_minor_version(void **state)
{
	struct python_layout layout;

	(void)state;
	for (uint32_t minor = 8; minor <= 12; minor++) {
		for (uint32_t micro = 0; micro < 30; micro += 7) {
			assert_int_equal(python_layout_of(V(minor, micro), NULL, 0, &layout), 0);
			assert_int_equal(layout.walk.version, V(minor, micro));
			assert_true(layout.walk.frame_words <= CPYTHON_FRAME_WORDS);
			assert_true(layout.walk.code_sum_words <= CPYTHON_CODE_WORDS);
		}
	}
	assert_int_equal(python_layout_of(0x030b00c1, NULL, 0, &layout), 0); /* a candidate */
}

static void other_versions_are_not_supported(void **state)
{
	static const uint32_t versions[] = {0,		V(7, 16),   V(16, 0),
					    V(255, 0),	0x020700f0, 0x040000f0,
					    0x030b00a1, 0x030b00b2, UINT32_MAX};
	uint8_t debug[PYTHON_DEBUG_OFFSETS_BYTES] = {0};
	struct python_layout layout;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(versions); i++)
		assert_int_equal(python_layout_of(versions[i], debug, sizeof(debug), &layout),
				 -ENOTSUP);
}

/* ---- what a process says ---- */

struct said {
	uint64_t words[PYTHON_DEBUG_OFFSETS_BYTES / 8];
};

/* As 3.13's are, in the words where this version has them. */
static struct said say(const struct python_debug *debug, uint32_t version)
{
	struct said said = {0};
	const struct {
		uint8_t word;
		uint64_t offset;
	} all[] = {
		{debug->word.interpreters_head, 632},
		{debug->word.interpreter_next, 7000},
		{debug->word.interpreter_threads, 7344},
		{debug->word.thread_next, 8},
		{debug->word.thread_id, 152},
		{debug->word.thread_frame, 72},
		{debug->word.frame_previous, 8},
		{debug->word.frame_code, 0},
		{debug->word.frame_instr, 56},
		{debug->word.frame_owner, 70},
		{debug->word.code_filename, 112},
		{debug->word.code_name, 120},
		{debug->word.code_qualname, 128},
		{debug->word.code_lines, 136},
		{debug->word.code_first_line, 68},
		{debug->word.code_locals, 96},
		{debug->word.code_instructions, 200},
		{debug->word.object_type, 8},
		{debug->word.bytes_length, 16},
		{debug->word.bytes_data, 32},
		{debug->word.unicode_state, 32},
		{debug->word.unicode_length, 16},
		{debug->word.ascii_data, 40},
	};

	memcpy(said.words, "xdebugpy", 8);
	said.words[1] = version;
	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		said.words[all[i].word] = all[i].offset;
	return said;
}

static int read_said(const struct said *said, uint32_t version, struct python_layout *layout)
{
	return python_layout_of(version, said, sizeof(*said), layout);
}

static void offsets_are_those_that_the_process_says(void **state)
{
	struct python_layout layout;

	(void)state;
	for (size_t i = 0; i < python_debugs_count; i++) {
		uint32_t version = python_debugs[i].version | 0x02f0;
		struct said said = say(&python_debugs[i], version);

		assert_int_equal(read_said(&said, version, &layout), 0);
		assert_int_equal(layout.walk.interpreter_threads, 7344);
		assert_int_equal(layout.walk.thread_frame, 72);
		assert_int_equal(layout.walk.cframe, CPYTHON_NO);
		assert_int_equal(layout.walk.frame_owner, 70);
		assert_int_equal(layout.walk.frame_words, 9);
		assert_int_equal(layout.walk.code_sum_at, 88);
		assert_int_equal(layout.walk.code_sum_words, 7);
		assert_int_equal(layout.compact_data, 56);
		assert_int_equal(layout.code_lines, 136);
		assert_int_equal(layout.code_copies, CPYTHON_NO);
	}
}

static void a_build_without_the_gil_has_copies_of_code(void **state)
{
	const struct python_debug *debug = &python_debugs[1];
	struct said said = say(debug, V(14, 0));
	struct python_layout layout;

	(void)state;
	said.words[2] = 1;
	said.words[debug->word.unicode_length] = 32;
	said.words[debug->word.unicode_state] = 48;
	said.words[debug->word.code_copies] = 232;
	assert_int_equal(read_said(&said, V(14, 0), &layout), 0);
	assert_int_equal(layout.code_copies, 232);
	assert_int_equal(layout.walk.unicode_hash, 40);
	assert_int_equal(layout.unicode_kind_shift, 8);
}

static void what_makes_no_sense_is_refused(void **state)
{
	const struct python_debug *debug = &python_debugs[0];
	const struct said good = say(debug, V(13, 0));
	struct python_layout layout;
	struct said said = good;

	(void)state;
	assert_int_equal(python_layout_of(V(13, 0), NULL, 0, &layout), -EBADMSG);
	assert_int_equal(python_layout_of(V(13, 0), &good, debug->bytes - 1, &layout), -EBADMSG);
	assert_int_equal(read_said(&good, V(13, 1), &layout), -EBADMSG);
	said.words[0] ^= 1;
	assert_int_equal(read_said(&said, V(13, 0), &layout), -EBADMSG);
	said = good;
	said.words[2] = 2;
	assert_int_equal(read_said(&said, V(13, 0), &layout), -EBADMSG);
}

/* Any value in any word: refused, or within bounds. */
static void hostile_offsets_stay_within_bounds(void **state)
{
	static const uint64_t values[] = {
		1,	   4,	  7,	 96,	120,	 124,	     128,	 4088,
		4096,	   32752, 65528, 65536, 1 << 20, UINT32_MAX, 1ULL << 63, UINT64_MAX - 7,
		UINT64_MAX};

	(void)state;
	for (size_t i = 0; i < python_debugs_count; i++) {
		uint32_t version = python_debugs[i].version | 0xf0;
		const struct said good = say(&python_debugs[i], version);

		for (size_t word = 3; word < python_debugs[i].bytes / 8u; word++) {
			for (size_t k = 0; k < ARRAY_SIZE(values); k++) {
				struct said said = good;
				struct python_layout layout;

				said.words[word] = values[k];
				int r = read_said(&said, version, &layout);
				if (r == -EBADMSG)
					continue;
				assert_int_equal(r, 0);
				assert_true(layout.walk.frame_words <= CPYTHON_FRAME_WORDS);
				assert_true(layout.walk.frame_owner < CPYTHON_FRAME_WORDS * 8);
				assert_true(layout.walk.code_sum_words <= CPYTHON_CODE_WORDS);
				assert_true(layout.walk.code_sum_at < 4096);
				assert_true(layout.walk.interpreter_threads < 1 << 20);
				assert_true(layout.code_name < 4096 && layout.code_lines < 4096);
			}
		}
	}
}

/* ---- real processes ---- */

/* A chain that the loop was entered for twice: by the module, and by sorted() calling back. */
static const char script[] =
	"import sys, threading, weakref\n"
	"def wait(): print(threading.get_ident(), flush=True); sys.stdin.readline()\n"
	"def größe_数(x): wait(); return x\n"
	"def outer(): return sorted([1], key=größe_数)\n"
	"outer()\n"
	"for i in range(3000): größe_数.__code__.co_code; eval('1')\n"
	"ref = weakref.ref(größe_数.__code__)\n"
	"sys.settrace(lambda *a: None); (lambda: 0)(); sys.settrace(None)\n"
	"outer()\n";

static const char *const chain[] = {"wait", "größe_数", "outer", "<module>"};

static uint64_t peek(const struct python *python, uint64_t address, size_t bytes)
{
	uint64_t value = 0;
	struct iovec local = {&value, bytes}, remote = {(void *)(uintptr_t)address, bytes};

	assert_int_equal(process_vm_readv(python->pid, &local, 1, &remote, 1, 0), bytes);
	return value;
}

static uint64_t word(const struct python *python, uint64_t address)
{
	return peek(python, address, 8);
}

static void read_str(const struct python *python, const struct python_layout *layout, uint64_t str,
		     char *text)
{
	uint64_t length = word(python, str + layout->unicode_length);
	uint32_t bits = (uint32_t)peek(python, str + layout->unicode_state, 4);
	unsigned kind = bits >> layout->unicode_kind_shift & 7;
	bool ascii = bits >> layout->unicode_ascii_shift & 1;
	uint64_t data = str + (ascii ? layout->ascii_data : layout->compact_data);

	assert_true(bits >> layout->unicode_compact_shift & 1);
	assert_true(kind == 1 || kind == 2 || kind == 4);
	assert_true(length < 100);
	for (uint64_t i = 0; i < length; i++) {
		uint32_t c = (uint32_t)peek(python, data + i * kind, kind);

		if (c >= 0x800) {
			*text++ = (char)(0xe0 | c >> 12);
			*text++ = (char)(0x80 | (c >> 6 & 0x3f));
			*text++ = (char)(0x80 | (c & 0x3f));
		} else if (c >= 0x80) {
			*text++ = (char)(0xc0 | c >> 6);
			*text++ = (char)(0x80 | (c & 0x3f));
		} else {
			*text++ = (char)c;
		}
	}
	*text = '\0';
}

/* The first frame of the thread whose pthread_self() this is. */
static uint64_t first_frame(const struct python *python, const struct cpython *walk, uint64_t self)
{
	uint64_t head = word(python, walk->runtime + walk->interpreters_head);
	uint64_t thread, frame;

	assert_int_equal(head, word(python, walk->runtime + walk->interpreters_head + 8));
	assert_int_equal(word(python, head + walk->interpreter_next), 0);
	thread = word(python, head + walk->interpreter_threads);
	while (thread && word(python, thread + walk->thread_id) != self)
		thread = word(python, thread + walk->thread_next);
	assert_true(thread != 0);
	frame = word(python, thread + walk->thread_frame);
	return walk->cframe == CPYTHON_NO ? frame : word(python, frame + walk->cframe);
}

static bool is_shim(const struct python *python, const struct cpython *walk, uint64_t frame)
{
	return walk->entry == CPYTHON_ENTRY_SHIM &&
	       peek(python, frame + walk->frame_owner, 1) >= walk->shim_owner;
}

static bool is_entry(const struct python *python, const struct cpython *walk, uint64_t frame)
{
	uint64_t previous = word(python, frame + walk->frame_previous);

	if (walk->entry == CPYTHON_ENTRY_SHIM)
		return !previous || is_shim(python, walk, previous);
	return walk->entry == CPYTHON_ENTRY_EACH || peek(python, frame + walk->frame_owner, 1) != 0;
}

struct seen {
	uint64_t sums[ARRAY_SIZE(chain)];
};

static void see_code(const struct python *python, const struct python_layout *layout,
		     uint64_t frame, size_t i, struct seen *seen)
{
	const struct cpython *walk = &layout->walk;
	uint64_t code = word(python, frame + walk->frame_code) & ~(uint64_t)walk->code_tag;
	uint64_t instr = word(python, frame + walk->frame_instr), hash;
	uint64_t sums[CPYTHON_CODE_WORDS];
	char name[512];

	assert_int_equal(word(python, code + walk->object_type), walk->code_type);
	read_str(python, layout, word(python, code + layout->code_name), name);
	assert_string_equal(name, chain[i]);
	read_str(python, layout, word(python, code + layout->code_filename), name);
	assert_string_equal(name, "<string>");
	if (layout->code_qualname != CPYTHON_NO) {
		read_str(python, layout, word(python, code + layout->code_qualname), name);
		assert_string_equal(name, chain[i]);
	}
	assert_true(walk->instr_is_int || instr - code < 4096);
	assert_int_equal(peek(python, code + layout->code_first_line, 4), i == 3 ? 1 : 2 + i);
	for (uint32_t k = 0; k < walk->code_sum_words; k++)
		sums[k] = word(python, code + walk->code_sum_at + 8 * k);
	hash = word(python, word(python, code + walk->code_name) + walk->unicode_hash);
	if (hash == UINT64_MAX) /* nobody has asked for it so far: names of modules in 3.11 */
		hash = 0;
	seen->sums[i] = cpython_code_sum(sums, walk->code_sum_words, hash);
}

static void see_chain(const struct python *python, const struct python_layout *layout,
		      uint64_t self, struct seen *seen)
{
	const struct cpython *walk = &layout->walk;
	uint64_t frame = first_frame(python, walk, self);

	for (size_t i = 0; i < ARRAY_SIZE(chain); i++) {
		while (is_shim(python, walk, frame))
			frame = word(python, frame + walk->frame_previous);
		see_code(python, layout, frame, i, seen);
		assert_int_equal(is_entry(python, walk, frame),
				 walk->entry == CPYTHON_ENTRY_EACH || i == 1 || i == 3);
		frame = word(python, frame + walk->frame_previous);
	}
	assert_true(!frame || is_shim(python, walk, frame));
}

static int read_memory(void *arg, uint64_t address, void *to, size_t bytes)
{
	return process_memory_read(*(const int *)arg, address, to, bytes);
}

static void see(const char *program, void *arg)
{
	struct python_layout layout;
	struct python python;
	struct seen before, after;
	char line[64];
	int *seen = arg;

	print_message("%s\n", program);
	if (!python_start(&python, program, script, line, sizeof(line))) {
		print_message("\tskipped: it doesn't run here, or has no interpreter\n");
		return;
	}
	struct process_memory_id id = {python.pid, 0, proc_program(python.pid)};
	_cleanup_close_ int fd = process_memory_open(&id);
	const struct process_memory memory = {.read = read_memory, .arg = &fd};
	int r = cpython_of_process(&memory, &python.file, python.bias, &layout);
	if (python.file.version < V(8, 0) - 0xf0) {
		assert_int_equal(r, -ENOTSUP);
	} else {
		assert_int_equal(r, 0);
		see_chain(&python, &layout, strtoull(line, NULL, 10), &before);
		assert_int_equal(write(python.to, "\n", 1), 1);
		assert_true(python_line(&python, line, sizeof(line)));
		see_chain(&python, &layout, strtoull(line, NULL, 10), &after);
		assert_memory_equal(&before, &after, sizeof(before));
		++*seen;
	}
	python_end(&python);
}

static void real_ones_are_read_through_their_layout(void **state)
{
	int seen = 0;

	(void)state;
	pythons_each(see, &seen);
	if (!seen) {
		print_message("skipped: no Python of 3.8 or later; PYTHONS names them\n");
		skip();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_hold_for_all_of_a_minor_version),
		cmocka_unit_test(other_versions_are_not_supported),
		cmocka_unit_test(offsets_are_those_that_the_process_says),
		cmocka_unit_test(a_build_without_the_gil_has_copies_of_code),
		cmocka_unit_test(what_makes_no_sense_is_refused),
		cmocka_unit_test(hostile_offsets_stay_within_bounds),
		cmocka_unit_test(real_ones_are_read_through_their_layout),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
