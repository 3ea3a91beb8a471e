// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit/proc/elf_maker.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>

#include "alloc/allocator.h"
#include "proc/elf.h"

#define PLACED(name, value) FUNCTION(name, value, 16)

/* A file with these symbols, and this code at the start of its own. */
static struct allocator read_planned(const struct elf_plan *plan, const void *code, size_t bytes)
{
	struct elf_maker *maker = malloc(sizeof(*maker));
	struct allocator allocator;
	struct elf_image image;

	assert_non_null(maker);
	size_t len = elf_make(maker, plan);
	memcpy(maker->image + CODE_OFFSET, code, bytes);
	_cleanup_close_ int fd = file_of(maker->image, len);
	free(maker);
	assert_int_equal(elf_read(fd, &image), 0);
	assert_int_equal(allocator_read(fd, &image, &allocator), 0);
	return allocator;
}

static struct allocator read_dynamic(const struct symbol_plan *symbols, size_t count)
{
	return read_planned(&(struct elf_plan){.dynamic = symbols, .dynamic_count = count}, "", 0);
}

static const struct allocator_function *find(const struct allocator *allocator, const char *name)
{
	for (size_t i = 0; i < allocator->count; i++) {
		if (strcmp(allocator->functions[i].name, name) == 0)
			return &allocator->functions[i];
	}
	return NULL;
}

/* ---- by their names ---- */

#define HEAP PLACED("malloc", 0), PLACED("free", 16)

static void kinds_are_told_by_what_else_is_there(void **state)
{
	static const struct {
		const char *name;
		enum allocator_kind kind;
	} signs[] = {
		{"something", ALLOCATOR_OTHER},
		{"gnu_get_libc_version", ALLOCATOR_GLIBC},
		{"_int_malloc", ALLOCATOR_GLIBC},
		{"__dls3", ALLOCATOR_MUSL},
		{"__malloc_donate", ALLOCATOR_MUSL},
		{"mallctl", ALLOCATOR_JEMALLOC},
		{"je_mallctl", ALLOCATOR_JEMALLOC},
		{"tc_malloc", ALLOCATOR_TCMALLOC},
		{"_rtld_global", ALLOCATOR_NONE},
		{"MallocExtension_GetStats", ALLOCATOR_TCMALLOC},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(signs); i++) {
		struct symbol_plan symbols[] = {HEAP, PLACED(signs[i].name, 32)};
		struct allocator allocator = read_dynamic(symbols, ARRAY_SIZE(symbols));

		if (allocator.kind != signs[i].kind)
			fail_msg("%s: %s", signs[i].name, allocator_name(allocator.kind));
		assert_int_equal(allocator.is_default, allocator.kind != ALLOCATOR_NONE);
	}
}

static void a_file_with_one_of_the_two_is_no_allocator(void **state)
{
	static const struct symbol_plan only_malloc[] = {PLACED("malloc", 0)};
	static const struct symbol_plan only_free[] = {PLACED("free", 0)};

	(void)state;
	assert_int_equal(read_dynamic(only_malloc, 1).kind, ALLOCATOR_NONE);
	assert_int_equal(read_dynamic(only_free, 1).count, 0);
	/* but a static program that never frees */
	struct elf_plan plan = {.symbols = only_malloc, .symbols_count = 1};
	struct allocator allocator = read_planned(&plan, "", 0);
	assert_int_equal(allocator.kind, ALLOCATOR_OTHER);
	assert_int_equal(allocator.count, 1);
}

static void an_unknown_allocators_new_may_throw_and_is_left_out(void **state)
{
	static const struct symbol_plan symbols[] = {HEAP, PLACED("_Znwm", 32),
						     PLACED("_ZnwmRKSt9nothrow_t", 48)};

	(void)state;
	struct allocator allocator = read_dynamic(symbols, ARRAY_SIZE(symbols));
	assert_int_equal(allocator.kind, ALLOCATOR_OTHER);
	assert_null(find(&allocator, "_Znwm"));
	assert_non_null(find(&allocator, "_ZnwmRKSt9nothrow_t"));
}

static void what_is_not_a_function_here_is_left_out(void **state)
{
	static const struct symbol_plan symbols[] = {
		HEAP,
		{"calloc", 32, 16, STT_FUNC, STB_GLOBAL, true},
		{"realloc", 48, 16, STT_GNU_IFUNC, STB_GLOBAL, false},
		{"valloc", 64, 16, STT_OBJECT, STB_GLOBAL, false},
		PLACED("xmalloc", 80),
		PLACED("mallocs", 96),
		PLACED("pvalloc", 0x10000),
		FUNCTION("memalign", 112, 0),
	};

	(void)state;
	struct allocator allocator = read_dynamic(symbols, ARRAY_SIZE(symbols));
	assert_int_equal(allocator.count, 3);
	assert_non_null(find(&allocator, "malloc"));
	assert_non_null(find(&allocator, "free"));
	assert_non_null(find(&allocator, "memalign"));
}

static void an_address_counts_once_by_its_plainest_name(void **state)
{
	static const struct symbol_plan symbols[] = {
		PLACED("tc_malloc", 0), PLACED("malloc", 0), PLACED("_ZdlPv", 16),
		PLACED("free", 16),	PLACED("cfree", 16), PLACED("_Znwm", 32),
	};

	(void)state;
	struct allocator allocator = read_dynamic(symbols, ARRAY_SIZE(symbols));
	assert_int_equal(allocator.count, 3);
	assert_int_equal(find(&allocator, "malloc")->address, CODE_ADDRESS);
	assert_int_equal(find(&allocator, "malloc")->file_offset, CODE_OFFSET);
	assert_int_equal(find(&allocator, "free")->call, CALL_FREE);
	assert_int_equal(find(&allocator, "_Znwm")->call, CALL_NEW);
}

static void a_prefixed_allocator_is_beside_the_default(void **state)
{
	static const struct symbol_plan symbols[] = {
		PLACED("_rjem_malloc", 0), PLACED("_rjem_sdallocx", 16), PLACED("_Znwm", 32)};

	(void)state;
	struct elf_plan plan = {.symbols = symbols, .symbols_count = ARRAY_SIZE(symbols)};
	struct allocator allocator = read_planned(&plan, "", 0);
	assert_int_equal(allocator.kind, ALLOCATOR_JEMALLOC);
	assert_false(allocator.is_default);
	assert_int_equal(allocator.count, 2); /* operator new is libstdc++'s */
}

/* Strings are read in pieces; a name may lie across two. */
static void names_are_found_wherever_they_lie(void **state)
{
	static char filler[4096];

	(void)state;
	for (size_t len = 4070; len < 4096; len++) {
		memset(filler, 'x', len);
		filler[len] = '\0';
		struct symbol_plan symbols[] = {PLACED(filler, 64), HEAP, PLACED("calloc", 32)};
		struct allocator allocator = read_dynamic(symbols, ARRAY_SIZE(symbols));

		assert_int_equal(allocator.count, 3);
	}
}

/* Thousands of names may end as one of ours does. */
static void names_are_found_behind_many_that_end_alike(void **state)
{
	static const char name[] = "_free"; /* 6 bytes: 1,333 of them */
	static char filler[6 * 1333 + 1];

	(void)state;
	struct elf_maker *maker = malloc(sizeof(*maker));
	assert_non_null(maker);
	memset(filler, 'x', sizeof(filler) - 1);
	struct symbol_plan symbols[] = {PLACED(filler, 64), HEAP, PLACED("calloc", 32)};
	struct elf_plan plan = {.dynamic = symbols, .dynamic_count = ARRAY_SIZE(symbols)};
	size_t len = elf_make(maker, &plan);
	unsigned char *at = memmem(maker->image, len, filler, sizeof(filler) - 1);
	assert_non_null(at);
	for (size_t i = 0; i < sizeof(filler) - 1; i += sizeof(name))
		memcpy(at + i, name, sizeof(name));
	_cleanup_close_ int fd = file_of(maker->image, len);
	free(maker);
	struct allocator allocator;
	struct elf_image image;
	assert_int_equal(elf_read(fd, &image), 0);
	assert_int_equal(allocator_read(fd, &image, &allocator), 0);
	assert_int_equal(allocator.count, 3);
}

static void narrow_programs_have_none(void **state)
{
	static const struct symbol_plan symbols[] = {HEAP};

	(void)state;
	struct elf_plan plan = {.narrow = true, .symbols = symbols, .symbols_count = 2};
	assert_int_equal(read_planned(&plan, "", 0).kind, ALLOCATOR_NONE);
}

/* ---- by their code ---- */

#if defined(__x86_64__)

static void who_hands_its_calls_on_is_left_out(void **state)
{
	static const struct symbol_plan symbols[] = {
		PLACED("malloc", 0),	      PLACED("free", 16),   PLACED("calloc", 32),
		PLACED("posix_memalign", 48), PLACED("valloc", 64), PLACED("memalign", 80),
		PLACED("realloc", 96),
	};
	uint8_t code[112];

	(void)state;
	memset(code, 0x90, sizeof(code));
	memcpy(code + 0, "\xe8\x5b\0\0\0", 5);	      /* malloc: calls 96, realloc: not looked at */
	memcpy(code + 33, "\xe8\xda\xff\xff\xff", 5); /* calloc: calls 0 */
	memcpy(code + 48, "\xe8\xf3\xff\xff\xff", 5); /* posix_memalign: calls into calloc */
	memcpy(code + 64, "\xe9\x0b\0\0\0", 5);	      /* valloc: jumps to 80 */
	memcpy(code + 80, "\xeb\x02", 2);	      /* memalign: jumps inside itself */
	memcpy(code + 96, "\x0f\x84\x9a\xff\xff\xff", 6); /* realloc: to 0, where that is 0 */
	struct elf_plan plan = {.dynamic = symbols, .dynamic_count = ARRAY_SIZE(symbols)};
	struct allocator allocator = read_planned(&plan, code, sizeof(code));
	assert_null(find(&allocator, "calloc"));
	assert_null(find(&allocator, "valloc"));
	assert_non_null(find(&allocator, "posix_memalign"));
	assert_non_null(find(&allocator, "memalign"));
	assert_non_null(find(&allocator, "malloc"));
	assert_true(find(&allocator, "realloc")->null_is_malloc);
	assert_int_equal(allocator.count, 5);
}

/* Musl's, whose frames can't be told: it stays, and what it calls is known by that. */
static void a_caller_in_musl_stays(void **state)
{
	static const struct symbol_plan symbols[] = {
		PLACED("malloc", 0),  PLACED("free", 16),   PLACED("calloc", 32),
		PLACED("valloc", 48), PLACED("__dls3", 64),
	};
	uint8_t code[64];

	(void)state;
	memset(code, 0x90, sizeof(code));
	memcpy(code + 33, "\xe8\xda\xff\xff\xff", 5); /* calloc: calls malloc */
	memcpy(code + 48, "\xe9\xeb\xff\xff\xff", 5); /* valloc: jumps to calloc */
	struct elf_plan plan = {.dynamic = symbols, .dynamic_count = ARRAY_SIZE(symbols)};
	struct allocator allocator = read_planned(&plan, code, sizeof(code));
	assert_int_equal(allocator.count, 3);
	assert_true(find(&allocator, "calloc")->calls_inner);
	assert_int_equal(find(&allocator, "malloc")->caller_address, CODE_ADDRESS + 32);
	assert_int_equal(find(&allocator, "malloc")->caller_bytes, 16);
}

#endif

/* ---- real ones ---- */

static int read_file(const char *path, struct allocator *allocator)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct elf_image image;

	if (fd < 0)
		return -errno;
	assert_int_equal(elf_read(fd, &image), 0);
	assert_int_equal(allocator_read(fd, &image, allocator), 0);
	return 0;
}

/* Whether the file has that one, whose very address the dynamic loader finds. */
static void check_loaded(const struct allocator *allocator, void *library, const char *name)
{
	const struct allocator_function *function = find(allocator, name);
	void *address = dlsym(library, name);
	Dl_info info;

	if (!function)
		fail_msg("%s is missing", name);
	assert_non_null(address);
	assert_int_not_equal(dladdr(address, &info), 0);
	assert_int_equal(function->address, (uintptr_t)address - (uintptr_t)info.dli_fbase);
}

static void this_c_library_is_known(void **state)
{
	static const char *const names[] = {"malloc", "calloc", "realloc", "free",
					    "valloc", "mmap",	"munmap",  "posix_memalign"};
	void *library = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
	struct allocator allocator;
	struct link_map *map;

	(void)state;
	if (!library)
		skip(); /* another C library */
	assert_int_equal(dlinfo(library, RTLD_DI_LINKMAP, &map), 0);
	assert_int_equal(read_file(map->l_name, &allocator), 0);
	assert_int_equal(allocator.kind, ALLOCATOR_GLIBC);
	assert_true(allocator.is_default);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		check_loaded(&allocator, library, names[i]);
#if defined(__x86_64__)
	/* It goes to realloc by the PLT; and realloc(NULL) to malloc. */
	assert_null(find(&allocator, "reallocarray"));
	assert_true(find(&allocator, "realloc")->null_is_malloc);
#endif
	dlclose(library);
}

static void others_are_known(void **state)
{
	static const struct {
		const char *path;
		enum allocator_kind kind;
		const char *there, *left_out;
	} files[] = {
		{"/lib/ld-musl-x86_64.so.1", ALLOCATOR_MUSL, "calloc", "reallocarray"},
		{"/usr/lib/x86_64-linux-gnu/libjemalloc.so.2", ALLOCATOR_JEMALLOC, "_Znwm",
		 "_ZdlPv"},
		{"/usr/lib/x86_64-linux-gnu/libtcmalloc_minimal.so.4", ALLOCATOR_TCMALLOC, "calloc",
		 "posix_memalign"},
		{"/lib64/ld-linux-x86-64.so.2", ALLOCATOR_NONE, NULL, "malloc"},
		{"/usr/lib/x86_64-linux-gnu/libstdc++.so.6", ALLOCATOR_NONE, NULL, "_Znwm"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		struct allocator allocator;

		if (read_file(files[i].path, &allocator) < 0) {
			printf("test_allocator: skipped: %s is not installed\n", files[i].path);
			continue;
		}
		assert_int_equal(allocator.kind, files[i].kind);
		assert_null(find(&allocator, files[i].left_out));
		if (!files[i].there)
			continue;
		assert_non_null(find(&allocator, files[i].there));
		assert_non_null(find(&allocator, "malloc"));
		assert_non_null(find(&allocator, "free"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kinds_are_told_by_what_else_is_there),
		cmocka_unit_test(a_file_with_one_of_the_two_is_no_allocator),
		cmocka_unit_test(an_unknown_allocators_new_may_throw_and_is_left_out),
		cmocka_unit_test(what_is_not_a_function_here_is_left_out),
		cmocka_unit_test(an_address_counts_once_by_its_plainest_name),
		cmocka_unit_test(a_prefixed_allocator_is_beside_the_default),
		cmocka_unit_test(names_are_found_wherever_they_lie),
		cmocka_unit_test(names_are_found_behind_many_that_end_alike),
		cmocka_unit_test(narrow_programs_have_none),
#if defined(__x86_64__)
		cmocka_unit_test(who_hands_its_calls_on_is_left_out),
		cmocka_unit_test(a_caller_in_musl_stays),
#endif
		cmocka_unit_test(this_c_library_is_known),
		cmocka_unit_test(others_are_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
