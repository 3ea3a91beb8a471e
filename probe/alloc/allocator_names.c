// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Table of the allocators' function names. Sources: malloc(3), posix_memalign(3), mmap(2);
 * jemalloc's jemalloc.h, gperftools' tcmalloc.h; the Itanium C++ ABI for operators. Beside plain C
 * names it has those of private copies of jemalloc in C programs (je_) and in Rust's (_rjem_).
 */
#include "alloc/allocator_state.h"

#include "base/cleanup.h"

#define SIZED(prefix, family, mark)                                                                \
	{prefix "malloc", CALL_SIZE, 1, false, false, family, mark},                               \
		{prefix "calloc", CALL_COUNT, 2, true, false, family, mark},                       \
		{prefix "realloc", CALL_REALLOC, 2, false, false, family, mark},                   \
		{prefix "posix_memalign", CALL_POSIX_MEMALIGN, 3, true, false, family, mark},      \
		{prefix "aligned_alloc", CALL_ALIGNED, 2, true, false, family, mark},              \
		{prefix "memalign", CALL_ALIGNED, 2, true, false, family, mark},                   \
		{prefix "valloc", CALL_SIZE, 1, true, false, family, mark},                        \
		{prefix "pvalloc", CALL_SIZE, 1, true, false, family, mark},                       \
		{prefix "free", CALL_FREE, 1, false, false, family, mark},                         \
	{                                                                                          \
		prefix "cfree", CALL_FREE, 1, true, false, family, mark                            \
	}

/* Functions of jemalloc; operator delete may call sdallocx(). */
#define EXTENDED(prefix, family, mark)                                                             \
	{prefix "mallocx", CALL_SIZE, 1, false, false, family, mark},                              \
		{prefix "rallocx", CALL_REALLOC, 2, false, false, family, mark},                   \
		{prefix "dallocx", CALL_FREE, 1, false, false, family, mark},                      \
	{                                                                                          \
		prefix "sdallocx", CALL_FREE, 1, false, false, family, mark                        \
	}

#define NEW(name, call)                                                                            \
	{                                                                                          \
		name, call, 1, true, true, false, SIGN_NONE                                        \
	}
#define DELETE(name)                                                                               \
	{                                                                                          \
		name, CALL_FREE, 1, true, true, false, SIGN_NONE                                   \
	}
#define MARK(name, mark)                                                                           \
	{                                                                                          \
		name, CALL_COUNT_OF, 0, false, false, false, mark                                  \
	}

const struct allocator_name allocator_names[] = {
	SIZED("", false, SIGN_NONE),
	{"reallocarray", CALL_REALLOC_COUNT, 3, true, false, false, SIGN_NONE},
	{"free_sized", CALL_FREE, 1, true, false, false, SIGN_NONE},
	{"free_aligned_sized", CALL_FREE, 1, true, false, false, SIGN_NONE},
	EXTENDED("", false, SIGN_NONE),
	SIZED("je_", true, SIGN_JEMALLOC),
	EXTENDED("je_", true, SIGN_JEMALLOC),
	SIZED("_rjem_", true, SIGN_JEMALLOC),
	EXTENDED("_rjem_", true, SIGN_JEMALLOC),
	SIZED("tc_", true, SIGN_TCMALLOC),
	NEW("_Znwm", CALL_NEW),
	NEW("_Znam", CALL_NEW),
	NEW("_ZnwmRKSt9nothrow_t", CALL_SIZE),
	NEW("_ZnamRKSt9nothrow_t", CALL_SIZE),
	NEW("_ZnwmSt11align_val_t", CALL_NEW),
	NEW("_ZnamSt11align_val_t", CALL_NEW),
	NEW("_ZnwmSt11align_val_tRKSt9nothrow_t", CALL_SIZE),
	NEW("_ZnamSt11align_val_tRKSt9nothrow_t", CALL_SIZE),
	DELETE("_ZdlPv"),
	DELETE("_ZdaPv"),
	DELETE("_ZdlPvm"),
	DELETE("_ZdaPvm"),
	DELETE("_ZdlPvRKSt9nothrow_t"),
	DELETE("_ZdaPvRKSt9nothrow_t"),
	DELETE("_ZdlPvSt11align_val_t"),
	DELETE("_ZdaPvSt11align_val_t"),
	DELETE("_ZdlPvmSt11align_val_t"),
	DELETE("_ZdaPvmSt11align_val_t"),
	DELETE("_ZdlPvSt11align_val_tRKSt9nothrow_t"),
	DELETE("_ZdaPvSt11align_val_tRKSt9nothrow_t"),
	{"mmap", CALL_MMAP, 6, false, false, false, SIGN_NONE},
	{"mmap64", CALL_MMAP, 6, true, false, false, SIGN_NONE},
	{"munmap", CALL_MUNMAP, 2, false, false, false, SIGN_NONE},
	{"mremap", CALL_MREMAP, 5, false, false, false, SIGN_NONE},
	MARK("_rtld_global", SIGN_LOADER),
	MARK("mallctl", SIGN_JEMALLOC),
	MARK("je_mallctl", SIGN_JEMALLOC),
	MARK("_rjem_mallctl", SIGN_JEMALLOC),
	MARK("MallocExtension_GetStats", SIGN_TCMALLOC),
	MARK("MallocExtension_Internal_GetStats", SIGN_TCMALLOC),
	MARK("TCMallocInternalMalloc", SIGN_TCMALLOC),
	MARK("gnu_get_libc_version", SIGN_GLIBC),
	MARK("__libc_memalign", SIGN_GLIBC),
	MARK("_int_malloc", SIGN_GLIBC),
	/* a stage of musl's dynamic loader, which is in the same file */
	MARK("__dls3", SIGN_MUSL),
	MARK("__libc_malloc_impl", SIGN_MUSL),
	MARK("__malloc_donate", SIGN_MUSL),
	MARK("__expand_heap", SIGN_MUSL), /* before 1.2 */
};

const size_t allocator_names_count = ARRAY_SIZE(allocator_names);
_Static_assert(ARRAY_SIZE(allocator_names) <= ALLOCATOR_NAMES_MAX, "readers have room");

const char *allocator_name(enum allocator_kind kind)
{
	static const char *const names[ALLOCATOR_COUNT] = {
		[ALLOCATOR_NONE] = "none",	   [ALLOCATOR_GLIBC] = "glibc",
		[ALLOCATOR_MUSL] = "musl",	   [ALLOCATOR_JEMALLOC] = "jemalloc",
		[ALLOCATOR_TCMALLOC] = "tcmalloc", [ALLOCATOR_OTHER] = "other",
	};

	return names[kind];
}
