/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * java-symbols.bin: what a Java VM has compiled, written by the agent in it (agent.c), read by the
 * daemon (probe/java/files/jvmfile.h). README.md draws it. Numbers are the machine's own; records
 * begin at multiples of 8.
 *
 * The file only grows. Past its maximum a new one with what is still alive takes its place. A
 * record whose check is wrong is not whole yet: the reader stops there and comes back later.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* What Agent_OnAttach returns where it can't begin. */
#define JAVA_AGENT_NO_FILE	2
#define JAVA_AGENT_NOT_NOW	3 /* the VM lets it have no events: it has not begun yet */
#define JAVA_AGENT_OPTIONS	4 /* they make no sense */

#define JAVA_SYMBOLS_NAME	"java-symbols.bin"
#define JAVA_SYMBOLS_MAGIC	0x736d79736176616aULL /* "javasyms" */
#define JAVA_SYMBOLS_VERSION	1
#define JAVA_SYMBOLS_BYTES_MIN	65536
#define JAVA_SYMBOLS_BYTES_MAX	(1U << 30)
#define JAVA_SYMBOLS_RECORD_MAX (1U << 20)
#define JAVA_SYMBOLS_FRAMES_MAX 64    /* of one place: inlined methods */
#define JAVA_SYMBOLS_TEXT_MAX	4096  /* bytes of each text; longer ones are cut */
#define JAVA_SYMBOLS_PLACES_MAX 65536 /* of one code */

struct java_symbols_header {
	uint64_t magic;
	uint32_t version;
	uint32_t bytes;	   /* of this header: the first record is behind it */
	uint32_t pid;	   /* of the VM, as it sees itself */
	uint32_t rewrites; /* how many files there were before this one */
	uint64_t began_ns; /* when the agent began, CLOCK_MONOTONIC */
};

enum java_record_kind {
	JAVA_METHOD = 1, /* names a method by a number that later records use */
	JAVA_CODE,	 /* a method was compiled, and lies there from now on */
	JAVA_STUB,	 /* the VM made code of its own */
	JAVA_UNLOAD,	 /* what lies there has gone */
	JAVA_LOST,	 /* a CODE or STUB that was not written: there was no room */
	JAVA_END,	 /* the agent has stopped */
};

/* struct java_record.flags of JAVA_CODE */
#define JAVA_CODE_BEFORE 1U /* it was there before the agent: known where the VM may stop */
#define JAVA_CODE_NATIVE 2U /* it calls a function of a library; nothing is inlined */

struct java_record {
	uint32_t bytes; /* of all of it: a multiple of 8 */
	uint32_t check; /* java_record_check(), with 0 here */
	uint16_t kind;
	uint16_t flags;
	uint32_t method; /* METHOD, CODE: its number, from 1 on */
	uint64_t time_ns;
	/* METHOD: texts, that of the number's method; STUB: one text, behind the address. */
	union {
		struct {
			uint16_t class_len, name_len, signature_len, file_len;
			char text[]; /* Lcom/acme/Main; run (I)V Main.java, without NULs */
		} names;
		struct {
			uint64_t address;
			uint32_t size;	/* 0: UNLOAD */
			uint32_t nodes; /* STUB: bytes of its name */
			uint32_t places;
			uint32_t node_bytes;
			/* CODE: `nodes` times {number of the caller's node, method, line}, then
			 * `places` times {distance from the place before, node}, all as
			 * varints (LEB128). A node is a method at a line, inlined into its
			 * caller's (0: it isn't); numbers are from 1 on. A place is an address,
			 * from the code's begin, and its leaf's node. The address is the last
			 * that the node stands for: the ones before it, back to the place
			 * before, are the node's as well. STUB: its name. */
			uint8_t data[];
		} code;
	};
};

#define JAVA_RECORD_BYTES 24
#define JAVA_NAMES_BYTES  32 /* with their lengths */
#define JAVA_CODE_BYTES	  48

_Static_assert(offsetof(struct java_record, names) == JAVA_RECORD_BYTES, "as drawn");
_Static_assert(offsetof(struct java_record, names.text) == JAVA_NAMES_BYTES, "as drawn");
_Static_assert(offsetof(struct java_record, code.data) == JAVA_CODE_BYTES, "as drawn");

/* Of `bytes` bytes (a multiple of 8), of which those at [4, 8) don't count. */
static inline uint32_t java_record_check(const void *record, uint32_t bytes)
{
	const uint8_t *at = (const uint8_t *)record;
	uint64_t sum = 0x9e3779b97f4a7c15ULL;

	for (uint32_t i = 0; i < bytes; i += 8) {
		uint64_t word;

		__builtin_memcpy(&word, at + i, sizeof(word));
		if (i == 0)
			word &= UINT32_MAX;
		sum = (sum ^ word) * 0xff51afd7ed558ccdULL;
		sum ^= sum >> 32;
	}
	return (uint32_t)sum;
}
