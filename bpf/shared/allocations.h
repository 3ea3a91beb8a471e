/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Plain data of the allocators' probes that the daemon shares. Times are CLOCK_MONOTONIC ns.
 *
 * What is allocated and not freed yet is in the map `held`, one entry for each allocation whose
 * stack was taken. Ends of processes don't remove theirs: the daemon does, who knows when a pid's
 * program began.
 */
#pragma once

#include "bpf/shared/sample.h"

/* Of so many bytes at most one is taken in the mean. */
#define COUNTDOWN_MEAN_MAX (1ULL << 32)

/* What a function takes and gives; each has a program (bpf/malloc.bpf.c, bpf/mmap.bpf.c). */
enum call {
	CALL_SIZE,	     /* (size, …) -> address: malloc, valloc, pvalloc, mallocx */
	CALL_NEW,	     /* (size, …) -> address, or an exception: operator new */
	CALL_COUNT,	     /* (count, size) -> address: calloc */
	CALL_ALIGNED,	     /* (alignment, size) -> address: memalign, aligned_alloc */
	CALL_REALLOC,	     /* (address, size, …) -> address: realloc, rallocx */
	CALL_REALLOC_COUNT,  /* (address, count, size) -> address: reallocarray */
	CALL_POSIX_MEMALIGN, /* (&address, alignment, size) -> error */
	CALL_FREE,	     /* (address, …): free, operator delete, dallocx, sdallocx, cfree */
	CALL_MMAP,	     /* (address, length, …) -> address */
	CALL_MUNMAP,	     /* (address, length) -> error */
	CALL_MREMAP,	     /* (address, length, new length, flags, …) -> address */
	CALL_COUNT_OF
};

/* Which of them return something that is needed. */
#define CALLS_RETURNING (((1U << CALL_COUNT_OF) - 1) & ~(1U << CALL_FREE))
#define CALLS_HEAP	((1U << CALL_MMAP) - 1)
#define CALLS_MAPPING	(((1U << CALL_COUNT_OF) - 1) & ~CALLS_HEAP)

/* Which of them take out what is held. */
#define CALLS_LETTING_GO                                                                           \
	(1U << CALL_FREE | 1U << CALL_REALLOC | 1U << CALL_REALLOC_COUNT | 1U << CALL_MUNMAP |     \
	 1U << CALL_MREMAP)

/* Cookies (bpf_get_attach_cookie()) of CALL_REALLOC: without an address it is malloc, which is
 * probed as well. (Without sessions there are none: such points have a program of their own.) */
#define COOKIE_NULL_IS_MALLOC 1

/* Those of others, with sessions only: calls that return into a piece of code are a part of a call
 * that is probed. Where it begins, from the probed instruction on (signed), and its bytes; 0: there
 * is none. */
#define COOKIE_CALLER(from, bytes) ((uint64_t)(uint32_t)(bytes) << 32 | (uint32_t)(int32_t)(from))

/* Map `held`. */
struct allocation_key {
	uint64_t address;
	uint32_t tgid;
	uint32_t pad;
};

struct allocation {
	struct stack_key stack;
	uint64_t time_ns; /* when it was allocated */
	uint64_t bytes;	  /* that it stands for */
	uint64_t objects; /* allocations that it stands for */
	uint32_t tid;
	uint32_t pad;
};

enum mapped_kind { MAPPED_CAME, MAPPED_GONE };

/*
 * The program itself mapped a range, or gave it back. Ring buffer `mapped`. MAPPED_GONE takes from
 * what came before `time_ns`, which is when the call began (what another thread was given there
 * since stays). MAPPED_CAME's is when it returned; what lay there before is gone.
 */
struct mapped_event {
	uint32_t kind; /* enum mapped_kind */
	uint32_t tid;
	struct stack_key stack; /* key.tgid: whose; MAPPED_GONE: the rest is 0 */
	uint64_t start, end;
	uint64_t time_ns;
};

_Static_assert(sizeof(struct allocation_key) == 16, "a map key without padding");
_Static_assert(sizeof(struct allocation) == 48, "a map value without padding");
_Static_assert(sizeof(struct mapped_event) == 48, "the ring's records are 8-byte aligned");
