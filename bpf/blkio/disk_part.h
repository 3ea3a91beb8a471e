/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The disk of a bio and its direction, as the last frame of what is counted: a number, which the
 * daemon names (bpf/shared/blkio_parts.h). */
#pragma once

#include "bpf/blkio/bio.h"
#include "bpf/shared/blkio_parts.h"

#define NUMBER_TRIES 16

/* Numbers of disks. The daemon keeps both maps for as long as it runs. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, BLKIO_DISKS_MAX);
	__type(key, struct blkio_disk);
	__type(value, uint32_t);
} disks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, BLKIO_DISKS_MAX);
	__type(key, uint32_t);
	__type(value, struct blkio_disk);
} disk_names SEC(".maps");

uint32_t disks_count; /* about the last number of a disk */

int number_disk(uint64_t disk);

/* Gives a disk a number of its own. Two CPUs may do so at once: one of the numbers stays unused. */
static __always_inline uint32_t give_number(const struct blkio_disk *disk)
{
	const uint32_t *known;

	for (int i = 0; i < NUMBER_TRIES; i++) {
		uint32_t number = ++disks_count;

		if (number >= BLKIO_DISKS_MAX)
			break;
		if (bpf_map_update_elem(&disk_names, &number, disk, BPF_NOEXIST))
			continue;
		if (bpf_map_update_elem(&disks, disk, &number, BPF_NOEXIST) == 0)
			return number;
		break;
	}
	known = bpf_map_lookup_elem(&disks, disk);
	return known ? *known : 0;
}

/* Returns the number of a disk; 0: there is none. A global function, so the verifier checks it
 * once. */
__noinline int number_disk(uint64_t disk)
{
	const struct gendisk *typed = (const struct gendisk *)disk;
	struct blkio_disk named = {};
	const uint32_t *known;

	if (BPF_CORE_READ_STR_INTO(&named.name, typed, disk_name) <= 0)
		return 0;
	known = bpf_map_lookup_elem(&disks, &named);
	return known ? *known : give_number(&named);
}

static __always_inline uint32_t bio_part(const struct bio *bio, const struct gendisk *disk)
{
	uint32_t op = bio_op(bio);
	enum blkio_direction direction = BLKIO_WRITE;

	if (op == OP_DISCARD)
		direction = BLKIO_DISCARD;
	else if (!(op & 1)) /* as the kernel's op_is_write() */
		direction = BLKIO_READ;
	else if (op == OP_WRITE && !bio_bytes(bio))
		direction = BLKIO_FLUSH;
	return BLKIO_PART(direction, number_disk((uint64_t)disk));
}
