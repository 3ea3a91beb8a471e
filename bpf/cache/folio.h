/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A folio of the page cache: one page, or some that are kept as one. Before Linux 5.16 the kernel
 * hands over a page, which lies at the same address and has the same flags.
 */
#pragma once

#include "bpf/core/kernel_types.h"

enum pageflags { PG_head };

typedef struct {
	unsigned long f;
} RELOCATED memdesc_flags_t;

struct inode___cached {
	unsigned short i_mode;
	long long i_size; /* bytes */
	struct address_space *i_mapping;
} RELOCATED;

struct address_space {
	struct inode___cached *host;
} RELOCATED;

struct mem_cgroup {
	struct cgroup_subsys_state css;
} RELOCATED;

struct page {
	unsigned long flags;
	struct mem_cgroup *mem_cgroup; /* before 5.11 */
	unsigned long memcg_data;      /* 5.11 to 5.15 */
	unsigned long index;	       /* before 5.16 */
	struct address_space *mapping; /* the same */
	unsigned char compound_order;  /* of the second page, before 6.1 */
} RELOCATED;

struct page___since {
	memdesc_flags_t flags; /* since 6.18 */
} RELOCATED;

struct folio {
	unsigned long memcg_data; /* a struct mem_cgroup, and flags */
	unsigned long index;
	struct address_space *mapping;
	unsigned char _folio_order; /* 6.1 to 6.5 */
	unsigned long _flags_1;	    /* its lowest byte is the order since 6.6 */
} RELOCATED;

#define FOLIO_ORDER_MASK 0xff
#define FOLIO_ORDER_BITS 31 /* of the order: no folio has a larger one */

static __always_inline uint64_t folio_flags(const void *folio)
{
	if (bpf_core_field_exists(((struct page___since *)0)->flags.f))
		return BPF_CORE_READ((const struct page___since *)folio, flags.f);
	return BPF_CORE_READ((const struct page *)folio, flags);
}

/* Returns the bit of a flag; 0: the kernel has no such flag. */
#define FOLIO_FLAG(name)                                                                           \
	(bpf_core_enum_value_exists(enum pageflags, name)                                          \
		 ? 1ULL << (bpf_core_enum_value(enum pageflags, name) & 63)                        \
		 : 0)

static __always_inline uint32_t folio_order(const void *folio)
{
	if (bpf_core_field_exists(((struct folio *)0)->_folio_order))
		return BPF_CORE_READ((const struct folio *)folio, _folio_order);
	if (bpf_core_field_exists(((struct page *)0)->compound_order))
		return BPF_CORE_READ((const struct page *)(folio + bpf_core_type_size(struct page)),
				     compound_order);
	if (bpf_core_field_exists(((struct folio *)0)->_flags_1))
		return BPF_CORE_READ((const struct folio *)folio, _flags_1) & FOLIO_ORDER_MASK;
	return 0;
}

/* Returns the pages of a folio. */
static __always_inline uint64_t folio_pages(const void *folio)
{
	if (!(folio_flags(folio) & FOLIO_FLAG(PG_head)))
		return 1;
	return 1ULL << (folio_order(folio) & FOLIO_ORDER_BITS);
}

/* Returns the file's struct address_space. */
static __always_inline struct address_space *folio_mapping(const void *folio)
{
	if (bpf_core_field_exists(((struct folio *)0)->mapping))
		return BPF_CORE_READ((const struct folio *)folio, mapping);
	return BPF_CORE_READ((const struct page *)folio, mapping);
}

/* Returns the number of the folio's first page in the file. */
static __always_inline uint64_t folio_index(const void *folio)
{
	if (bpf_core_field_exists(((struct folio *)0)->index))
		return BPF_CORE_READ((const struct folio *)folio, index);
	return BPF_CORE_READ((const struct page *)folio, index);
}

#define MEMCG_DATA_FLAGS 7UL

/* Returns the id of the node of the memory cgroup that the folio is charged to; 0: none. */
static __always_inline uint64_t folio_cgroup(const void *folio)
{
	const struct mem_cgroup *group = NULL;

	if (bpf_core_field_exists(((struct folio *)0)->memcg_data))
		group = (const void *)(BPF_CORE_READ((const struct folio *)folio, memcg_data) &
				       ~MEMCG_DATA_FLAGS);
	else if (bpf_core_field_exists(((struct page *)0)->memcg_data))
		group = (const void *)(BPF_CORE_READ((const struct page *)folio, memcg_data) &
				       ~MEMCG_DATA_FLAGS);
	else if (bpf_core_field_exists(((struct page *)0)->mem_cgroup))
		group = BPF_CORE_READ((const struct page *)folio, mem_cgroup);
	return group ? BPF_CORE_READ(group, css.cgroup, kn, id) : 0;
}
