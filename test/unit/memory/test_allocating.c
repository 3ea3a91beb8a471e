// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit/lib/unit.h"

#include "heap/allocating.h"

static bool is_function(const char *name)
{
	return allocating_function(name, strlen(name));
}

static void test_functions_of_allocators_are_known_by_name(void **state)
{
	(void)state;
	static const char *const names[] = {
		"malloc",
		"calloc",
		"realloc",
		"reallocarray",
		"memalign",
		"aligned_alloc",
		"posix_memalign",
		"valloc",
		"pvalloc",
		"free",
		"je_malloc",
		"je_free",
		"_rjem_calloc",
		"tc_malloc",
		"__libc_malloc",
		"operator new(unsigned long)",
		"operator new[](unsigned long)",
		"operator delete(void*)",
		"operator new",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (!is_function(names[i]))
			fail_msg("%s", names[i]);
	}
}

static void test_others_that_look_like_them_are_not(void **state)
{
	(void)state;
	static const char *const names[] = {
		"",	      "mallo",	    "malloc_usable_size", "my_malloc",
		"xmalloc",    "je_mallctl", "freelist",		  "operator newer",
		"mmap",	      "je_",	    "operator ne",	  "pool::malloc()",
		"operator<<",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (is_function(names[i]))
			fail_msg("%s", names[i]);
	}
	assert_false(allocating_function("mallocator", 5)); /* "mallo" */
	assert_true(allocating_function("mallocator", 6));
}

static void test_libraries_of_allocators_are_known_by_name(void **state)
{
	(void)state;
	assert_true(allocating_module("libjemalloc.so.2"));
	assert_true(allocating_module("libtcmalloc_minimal.so.4"));
	assert_false(allocating_module("libc.so.6"));
	assert_false(allocating_module(NULL));
}

static bool is_own(const struct allocating_frame *frames, size_t count, const void *program)
{
	for (size_t i = 1; i < count; i++) {
		if (allocating_above(&frames[0], &frames[i], i, program))
			return true;
	}
	return false;
}

#define FRAME(name, file, module)                                                                  \
	{                                                                                          \
		name, sizeof(name) - 1, file, module                                               \
	}

static void test_a_mapping_within_the_c_library_is_its_own(void **state)
{
	static const int libc, app;
	const struct allocating_frame thread[] = {FRAME("mmap", &libc, "libc.so.6"),
						  FRAME("allocate_stack", &libc, "libc.so.6"),
						  FRAME("main", &app, "app")};
	const struct allocating_frame called[] = {FRAME("mmap", &libc, "libc.so.6"),
						  FRAME("main", &app, "app"),
						  FRAME("__libc_start_main", &libc, "libc.so.6")};

	(void)state;
	assert_true(is_own(thread, ARRAY_SIZE(thread), &app));
	assert_true(is_own(thread, ARRAY_SIZE(thread), NULL));
	assert_false(is_own(called, ARRAY_SIZE(called), &app));
	assert_false(is_own(called, 1, &app));
}

static void test_a_static_programs_mapping_is_told_by_names(void **state)
{
	static const int app;
	const struct allocating_frame called[] = {FRAME("mmap", &app, "app"),
						  FRAME("load", &app, "app")};
	const struct allocating_frame grown[] = {FRAME("mmap", &app, "app"),
						 FRAME("sysmalloc", &app, "app"),
						 FRAME("malloc", &app, "app")};

	(void)state;
	assert_false(is_own(called, ARRAY_SIZE(called), &app));
	assert_true(is_own(grown, ARRAY_SIZE(grown), &app));
}

static void test_a_mapping_below_an_allocator_is_its_own(void **state)
{
	static const int libc, jemalloc, app;
	const struct allocating_frame named[] = {FRAME("mmap", &libc, "libc.so.6"),
						 FRAME("pages_map", &app, "app"),
						 FRAME("je_malloc", &app, "app")};
	const struct allocating_frame nameless[] = {
		FRAME("mmap", &libc, "libc.so.6"),
		FRAME("[libjemalloc.so.2+0x10]", &jemalloc, "libjemalloc.so.2"),
		FRAME("main", &app, "app")};

	(void)state;
	assert_true(is_own(named, ARRAY_SIZE(named), &app));
	assert_true(is_own(nameless, ARRAY_SIZE(nameless), &app));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_functions_of_allocators_are_known_by_name),
		cmocka_unit_test(test_others_that_look_like_them_are_not),
		cmocka_unit_test(test_libraries_of_allocators_are_known_by_name),
		cmocka_unit_test(test_a_mapping_within_the_c_library_is_its_own),
		cmocka_unit_test(test_a_static_programs_mapping_is_told_by_names),
		cmocka_unit_test(test_a_mapping_below_an_allocator_is_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
