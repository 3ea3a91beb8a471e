/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What lies at a pc in a Java VM's code cache: the block's CodeBlob, found by the segment map
 * (bpf/shared/hotspot_tables.h).
 */
#pragma once

#include "java/code/jvmread.h"

struct jvmblob {
	uint64_t address, end;
	uint64_t code, code_end;
	bool is_nmethod;
	uint32_t id; /* the nmethod's compile id; 0: it is none */
	struct jvm_span head;
};

/* -ESTALE: nothing is there now. */
int jvmblob_find(struct jvmblob *blob, struct jvm_reader *reader, uint64_t pc);

/* Whether the same is there as before: 0, or -ESTALE. */
int jvmblob_check(const struct jvmblob *blob, struct jvm_reader *reader);

/* Its name, as the VM has it; returns its length, or an errno. */
#define JVMBLOB_NAME_MAX 128
long jvmblob_name(const struct jvmblob *blob, struct jvm_reader *reader,
		  char name[JVMBLOB_NAME_MAX]);
