/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lookup of the CodeBlob that holds a pc in a Java VM's code cache, by the segment map
 * (bpf/shared/hotspot_tables.h). Runs in a job.
 */
#pragma once

#include "java/code/jvmread.h"

struct jvmblob {
	uint64_t address, end;
	uint64_t code, code_end;
	bool is_nmethod;
	uint32_t id; /* the nmethod's compile id; 0: no nmethod */
	struct jvm_span head;
};

/* Finds the blob whose code holds `pc`. Returns 0, or a negative errno: -ESTALE if no blob is there
 * now; -EBADMSG if the data makes no sense; an errno of reading. */
int jvmblob_find(struct jvmblob *blob, struct jvm_reader *reader, uint64_t pc);

/* Returns 0 if the same blob is still there; -ESTALE if not; or an errno of reading. */
int jvmblob_check(const struct jvmblob *blob, struct jvm_reader *reader);

/* Reads the blob's name as the VM has it. Returns its length, or a negative errno of reading. */
#define JVMBLOB_NAME_MAX 128
long jvmblob_name(const struct jvmblob *blob, struct jvm_reader *reader,
		  char name[JVMBLOB_NAME_MAX]);
