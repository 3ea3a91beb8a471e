/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Plain data that the allocation probe (bpf/malloc.bpf.c) shares with the daemon. Times are
 * CLOCK_MONOTONIC, ns.
 *
 * Live allocations are in the map `held`: one entry for each allocation that is not freed yet and
 * whose stack was taken. The programs don't remove the entries of a process that ends: the daemon
 * removes these entries, for the daemon knows when a pid's program began.
 */
#pragma once

#include "bpf/shared/sample.h"

/* Upper bound of the mean distance between two sampled bytes. */
#define COUNTDOWN_MEAN_MAX (1ULL << 32)

/* Signature of a probed function (bpf/malloc.bpf.c). */
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

/* Masks of enum call: calls whose return value is needed, calls on the heap, calls that map
 * memory. */
#define CALLS_RETURNING (((1U << CALL_COUNT_OF) - 1) & ~(1U << CALL_FREE))
#define CALLS_HEAP	((1U << CALL_MMAP) - 1)
#define CALLS_MAPPING	(((1U << CALL_COUNT_OF) - 1) & ~CALLS_HEAP)

/* Mask of enum call: calls that may remove an entry of `held`. */
#define CALLS_LETTING_GO                                                                           \
	(1U << CALL_FREE | 1U << CALL_REALLOC | 1U << CALL_REALLOC_COUNT | 1U << CALL_MUNMAP |     \
	 1U << CALL_MREMAP)

/*
 * Cookie of a point (bpf_get_attach_cookie()). Only sessions get cookies.
 *
 *	  63  60 59    32 31     0
 *	+-------+--------+--------+
 *	| call  | bytes  | from   |	enum call; CALL_REALLOC has flags in the place of `from`
 *	+-------+--------+--------+
 *
 * A call that returns into a piece of code is a part of a call that is probed already. `from`:
 * where the piece begins, signed, counted from the probed instruction; `bytes`: its size, 0: there
 * is no such piece.
 */
#define COOKIE_CALL_SHIFT  60
#define COOKIE_BYTES_SHIFT 32
#define COOKIE_BYTES_MAX   ((1U << (COOKIE_CALL_SHIFT - COOKIE_BYTES_SHIFT)) - 1)
#define COOKIE_CALL(call)  ((uint64_t)(call) << COOKIE_CALL_SHIFT)
#define COOKIE_CALLER(from, bytes)                                                                 \
	((uint64_t)(bytes) << COOKIE_BYTES_SHIFT | (uint32_t)(int32_t)(from))

_Static_assert(CALL_COUNT_OF <= 1 << (64 - COOKIE_CALL_SHIFT), "a cookie has room for each call");

/* Flag of CALL_REALLOC: realloc() without an address calls malloc(), which has a probe point of its
 * own. Where there are no cookies such a point has the program on_realloc_alone(). */
#define COOKIE_NULL_IS_MALLOC 1

/* Key of the map `held`. */
struct allocation_key {
	uint64_t address;
	uint32_t tgid;
	uint32_t pad;
};

struct allocation {
	struct stack_key stack;
	uint64_t time_ns; /* time of the allocation */
	uint64_t bytes;	  /* bytes that this sample stands for */
	uint64_t objects; /* allocations that this sample stands for */
	uint32_t tid;
	uint32_t older_ms; /* it goes on with an allocation that is so much older; 0: with none */
};

enum mapped_kind { MAPPED_CAME, MAPPED_GONE };

/*
 * Record of the ring buffer `mapped`: the program itself mapped a range, or gave a range back.
 * MAPPED_GONE removes from the ranges that were mapped before `time_ns`, the begin of the call; a
 * range that another thread has mapped there since then stays. The `time_ns` of MAPPED_CAME is the
 * return of the call; an older range at the same place is gone.
 */
struct mapped_event {
	uint32_t kind; /* enum mapped_kind */
	uint32_t tid;
	struct stack_key stack; /* key.tgid: the process; MAPPED_GONE: the other fields are 0 */
	uint64_t start, end;
	uint64_t time_ns;
};

_Static_assert(CALL_COUNT_OF <= 16, "a call has 4 bits in a cookie");
_Static_assert(sizeof(struct allocation_key) == 16, "a map key without padding");
_Static_assert(sizeof(struct allocation) == 48, "a map value without padding");
_Static_assert(sizeof(struct mapped_event) == 48, "the ring's records are 8-byte aligned");
