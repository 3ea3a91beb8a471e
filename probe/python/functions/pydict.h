/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Walks the entries of a dict of a Python process, whose memory is hostile, and whose dict may
 * change meanwhile: then entries may be missing or make no sense.
 *
 * Source: CPython's Objects/dictobject.c, 3.8 to 3.10:
 *
 *	PyDictObject	  keys ──┐ values: NULL, or an array of as many words as keys has entries
 *	PyDictKeysObject  size (of the index), used (entries), index[size] of 1, 2, 4 or 8 bytes,
 *			  entries of {hash, key, value}
 */
#pragma once

#include "python/layout.h"
#include "proc/process_memory.h"

/*
 * Calls each() with the addresses of each key and value; a result other than 0 ends the walk.
 * Returns 0; what each() returned; -EBADMSG if there is no dict; or the errno of memory->read().
 * There is no bound but each() and the dict's own size, which may be any number.
 */
int pydict_each(const struct python_layout *layout, const struct process_memory *memory,
		uint64_t dict, int (*each)(void *arg, uint64_t key, uint64_t value), void *arg);
