/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One value out of a file of bbolt, as podman and containerd have them, without its lock: a value
 * is given only when no later transaction was there when it had been read, for until then bbolt
 * overwrites nothing of this one. Little-endian; pages of 1 MiB at most. All of it is hostile.
 *
 *   page       id u64 | flags u16 | count u16 | overflow u32 (pages that follow and belong to it)
 *     branch   count x: pos u32 | key's bytes u32 | page u64               keys: pos after the
 * element leaf     count x: flags u32 | pos u32 | key's bytes u32 | value's u32  … value after the
 * key bucket     a value with flag 1: root page u64 | sequence u64; root 0: a page follows right
 * here meta       pages 0 and 1, the later transaction's counts: after the page's head magic u32 |
 * version u32 | page size u32 | flags u32 | root bucket | freelist u64 | pages u64 | transaction
 * u64 | FNV-1a of all that u64
 */
#pragma once

#include <stddef.h>

/*
 * `path`: buckets, and a key in the last one; NULL at its end. `text` gets the value and a NUL, the
 * value's bytes are returned. -ENOENT: it isn't there; -EBADMSG: no such file, or damaged; -ENOSPC:
 * it has no room in `bytes`; -EAGAIN: written to all the time; or read()'s.
 */
int bolt_get(int fd, const char *const *path, char *text, size_t bytes);
