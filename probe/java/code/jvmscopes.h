/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Decoder for the debug information of a compiled Java method, which says which methods are inlined
 * at which places of the code. Input are copies of PcDescs and ScopeDescs, which are hostile: all
 * is checked, and there are no cycles.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "java/vm/jvmlayout.h"

#define JVMSCOPE_BCI_NONE (-1) /* before the first bytecode */

struct jvmplace {
	uint32_t pc;	       /* offset from the code's begin */
	uint32_t scope : 31;   /* number from 1; 0: nothing is known there */
	uint32_t can_stop : 1; /* the VM may stop there: a call's return address, a poll, … */
};

struct jvmscope {
	uint32_t caller; /* number of the caller's scope, from 1; 0: the outermost method */
	uint32_t method; /* number of the method in the nmethod's metadata, from 1 */
	int32_t bci;
	uint32_t line; /* 0: not yet known */
};

struct jvmscopes {
	struct jvmplace *places; /* sorted by pc */
	struct jvmscope *scopes;
	uint32_t places_count, scopes_count;
};

struct jvmscopes_input {
	const uint8_t *pcs; /* PcDescs */
	const uint8_t *data;
	size_t pcs_bytes, data_bytes;
	uint8_t base; /* java/code/unsigned5.h */
};

/* Decodes the input. The caller frees both arrays, also after an error. Returns 0, -EBADMSG, or
 * -ENOMEM. */
int jvmscopes_decode(struct jvmscopes *scopes, const struct jvm_layout *layout,
		     const struct jvmscopes_input *input);

/*
 * Marks the places where the VM may stop, given as `pcs`, rising. Returns whether there are other
 * places: then the compiler has kept debug information for all of the code.
 */
bool jvmscopes_mark_stops(struct jvmscopes *scopes, const uint32_t *pcs, size_t count);
