/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A reader of bbolt databases (podman and containerd use them), which takes no lock: a value is
 * returned only if no later transaction has been written by the time the value has been read, since
 * until then bbolt overwrites no page of the transaction that was read. Little-endian; pages of at
 * most 1 MiB. The whole file is hostile.
 *
 *	page:	id u64 | flags u16 | count u16 | overflow u32 (further pages that belong to it)
 *	branch:	count x {pos u32 | key bytes u32 | page u64}; key: at pos from the element's start
 *	leaf:	count x {flags u32 | pos u32 | key bytes u32 | value bytes u32}; value: behind key
 *	bucket:	a value with flag 1: root page u64 | sequence u64; root 0: a page follows here
 *	meta:	pages 0 and 1, the later transaction counts; behind the page's head:
 *		magic u32 | version u32 | page size u32 | flags u32 | root bucket |
 *		freelist u64 | pages u64 | transaction u64 | FNV-1a of all these u64
 */
#pragma once

#include <stddef.h>

/*
 * Reads a value into `text`, with a NUL. `path` names nested buckets and a key in the last of them,
 * and ends with NULL. Returns the value's length, or a negative errno: -ENOENT if there is no such
 * key; -EBADMSG if the file is no database of bbolt, or damaged; -ENOSPC if value and NUL are
 * larger than `bytes`; -EAGAIN if the file is written to all the time; -ENOMEM; the errno of
 * reading.
 */
int bolt_get(int fd, const char *const *path, char *text, size_t bytes);
