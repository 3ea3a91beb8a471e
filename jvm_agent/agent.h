/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the agent's parts share. Callbacks come on any thread of the VM, several at a time. The lock
 * is held for the file and the tables alone, never while the VM is asked something.
 */
#pragma once

#include "journal.h"
#include "jvmti.h"

struct agent {
	struct lock lock;
	bool running; /* there is a file */
	/* A thread turns the VM's events on or off, and is the only one that does: who ends the
	 * agent meanwhile leaves them to it, and no other one begins. */
	bool turning;
	java_vm *vm;
	jvmti_env *jvmti;
	struct journal journal;
	/* The thread that has the VM tell what it compiled before; 0: none. */
	uint32_t generating;
};

/* A function of one of the VM's tables, by its place there. */
#define VM_CALL(object, position, type) ((type)(*(object))[position])

void vm_free(struct agent *agent, void *memory);

/* The record of compiled code, into `record`. False: it can't be told. It names methods by their
 * numbers, writing records of those that have none yet; *rewrites: the journal's by then. */
struct compiled {
	jmethodID method;
	uint64_t address;
	uint32_t size;
	int32_t map_count;
	const struct jvmti_address *map;
	const struct jvmti_record *info;
	bool before;
};
bool compiled_record(struct agent *agent, const struct compiled *code, struct bytes *record,
		     uint32_t *rewrites);

/* The number of a method; its record is written when it is new. 0: there is no room, or the VM
 * doesn't know it. */
uint32_t method_number(struct agent *agent, jmethodID method);
