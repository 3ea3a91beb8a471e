/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parts of a stack of the probe blkio (bpf/blkio.bpf.c, probe/probes/blkio.c): which way its bytes
 * went, and to which disk. The kernel's side numbers disks as it sees them.
 */
#pragma once

#ifndef __bpf__
#include <stdint.h>
#endif

/* As /proc/diskstats tells them apart: what is neither read nor discarded is a write. */
enum blkio_direction { BLKIO_READ, BLKIO_WRITE, BLKIO_DISCARD, BLKIO_FLUSH, BLKIO_DIRECTIONS };

/* The part of bytes that went that way. `disk`: its number; 0: the disk found no number. */
#define BLKIO_PART(direction, disk) (1 + (disk)*BLKIO_DIRECTIONS + (direction))
#define BLKIO_DIRECTION(part)	    (((part)-1) % BLKIO_DIRECTIONS)
#define BLKIO_DISK(part)	    (((part)-1) / BLKIO_DIRECTIONS)

#define BLKIO_DISKS_MAX		    1024

/* Name of a disk, filled up with NULs (struct gendisk.disk_name). Key of the map `disks`, value of
 * the map `disk_names`. */
struct blkio_disk {
	char name[32];
};
