/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The debug information of a compiled Java method: which methods are inlined at which places of its
 * code. Decoded from copies of its PcDescs and ScopeDescs, which are hostile: checked, no cycles.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "java/vm/jvmlayout.h"

#define JVMSCOPE_BCI_NONE (-1) /* before the first bytecode */

struct jvmplace {
	uint32_t pc;	       /* from the code's begin on */
	uint32_t scope : 31;   /* from 1; 0: nothing is known there */
	uint32_t can_stop : 1; /* the VM may stop there: a call's return address, a poll, … */
};

struct jvmscope {
	uint32_t caller; /* from 1; 0: it is the outermost method */
	uint32_t method; /* its number in the nmethod's metadata, from 1 */
	int32_t bci;
	uint32_t line; /* 0: not yet known */
};

struct jvmscopes {
	struct jvmplace *places; /* by pc, rising */
	struct jvmscope *scopes;
	uint32_t places_count, scopes_count;
};

struct jvmscopes_input {
	const uint8_t *pcs; /* PcDescs */
	const uint8_t *data;
	size_t pcs_bytes, data_bytes;
	uint8_t base; /* UNSIGNED5's */
};

/* Both arrays are the caller's to free, after an error as well. -EBADMSG, -ENOMEM. */
int jvmscopes_decode(struct jvmscopes *scopes, const struct jvm_layout *layout,
		     const struct jvmscopes_input *input);

/*
 * Marks the places where the VM may stop: `pcs`, rising. Returns whether there are others: the
 * compiler has kept debug information for all of the code, then.
 */
bool jvmscopes_mark_stops(struct jvmscopes *scopes, const uint32_t *pcs, size_t count);
