// SPDX-License-Identifier: GPL-2.0-or-later
#include "code/code_java.h"

#include <errno.h>

#include "code/code_cache.h"
#include "runtime/jvm.h"
#include "code/java_agent_frames.h"
#include "bpf/shared/sample.h"

/* Upper halves of keys: what the lower half is an id of. */
#define COMPILED    (1ULL << 32)
#define INTERPRETED (2ULL << 32)
#define TOLD	    (3ULL << 32)

static uint64_t kind_of(uint64_t word)
{
	return word >> FRAME_KIND_SHIFT;
}

bool java_is_frame(uint64_t word)
{
	return kind_of(word) >= FRAME_JAVA && kind_of(word) <= FRAME_JAVA_METHOD;
}

/*
 * Returns the bci. The kernel's pairs of compiled code have none; the agent's have their kind
 * there.
 */
static uint32_t bci_of(const uint64_t pair[2])
{
	return pair[1] >> 32 & HOTSPOT_BCI_NONE;
}

static bool is_told(const uint64_t pair[2])
{
	return kind_of(pair[0]) != FRAME_JAVA_METHOD && bci_of(pair) != HOTSPOT_BCI_NONE;
}

bool java_is_stub(const uint64_t pair[2])
{
	if (is_told(pair))
		return bci_of(pair) == JVMFILE_STUB;
	return kind_of(pair[0]) != FRAME_JAVA_METHOD && !(uint32_t)pair[1];
}

bool java_is_interpreter(const uint64_t pair[2])
{
	return is_told(pair) && bci_of(pair) == JVMFILE_INTERPRETER;
}

void java_told_pair(uint64_t pair[2], uint64_t address, bool is_return,
		    const struct jvmfile_found *found)
{
	uint64_t kind = is_return ? FRAME_JAVA_RETURN : FRAME_JAVA;

	pair[0] = kind << FRAME_KIND_SHIFT | address;
	pair[1] = hotspot_detail(FRAME_JAVA_DETAIL, found->kind, found->number);
}

static struct code_key key_of(const uint64_t pair[2])
{
	uint32_t id = (uint32_t)pair[1];

	if (kind_of(pair[0]) == FRAME_JAVA_METHOD)
		return (struct code_key){pair[0] & FRAME_ADDRESS, INTERPRETED | id};
	if (is_told(pair))
		return (struct code_key){0, TOLD | id};
	if (id)
		return (struct code_key){0, COMPILED | id};
	return (struct code_key){pair[0] & FRAME_ADDRESS, 0};
}

static bool is_detail(const struct code_cursor *cursor, size_t at)
{
	return at < cursor->count && kind_of(cursor->words[at]) == FRAME_JAVA_DETAIL;
}

/* Finds the next pair. Details follow all native words, in the order of their frames. */
static bool next_java_pair(struct code_cursor *cursor, uint64_t pair[2], struct code_key *key)
{
	if (!cursor->at) {
		while (cursor->behind < cursor->count && !is_detail(cursor, cursor->behind))
			cursor->behind++;
	}
	while (cursor->at < cursor->count && !is_detail(cursor, cursor->at)) {
		uint64_t word = cursor->words[cursor->at++];

		if (!java_is_frame(word))
			continue;
		if (!is_detail(cursor, cursor->behind))
			return false;
		pair[0] = word;
		pair[1] = cursor->words[cursor->behind++];
		*key = key_of(pair);
		return true;
	}
	return false;
}

struct java_layout {
	struct jvm_layout vm;
	struct jvmfile *file; /* the agent's file; NULL: there is none */
};

static bool copy_java_layout(const struct target *target, void *to)
{
	struct java_layout *layout = to;

	if (!jvm_is_supported(target_jvm(target)) && !agent_frames_is(target))
		return false;
	if (to) {
		layout->vm =
			target_jvm(target)->layout; /* empty for a VM that only the agent knows */
		layout->file = jvmfile_ref(target->jvmfile);
	}
	return true;
}

static void release_java_layout(void *layout)
{
	jvmfile_unref(((struct java_layout *)layout)->file);
}

/*
 * Reads compiled code from the agent's file, if there is one: the file still has code that is gone.
 */
static int read_known(struct jvmcode **code, const struct java_layout *layout,
		      const struct process_memory *memory, const uint64_t pair[2])
{
	struct jvmfile_memory there = {.what = JVMFILE_UNKNOWN};

	if (!layout->file || kind_of(pair[0]) == FRAME_JAVA_METHOD)
		return -ENOENT;
	switch (jvmcode_check(&layout->vm, memory, pair[0], pair[1], &there.from, &there.to)) {
	case 0:
		there.what = JVMFILE_THERE;
		break;
	case -ESTALE:
		there.what = JVMFILE_GONE;
		break;
	}
	jvmfile_update(layout->file);
	return jvmfile_read(layout->file, pair[0], pair[1], &there, code);
}

static int read_piece(void **piece, const void *layout_of, const struct process_memory *memory,
		      const uint64_t pair[2])
{
	const struct java_layout *layout = layout_of;
	struct jvmcode *code = NULL;
	int r;

	if (is_told(pair)) {
		r = jvmfile_read_found(layout->file, pair[0] & FRAME_ADDRESS, (uint32_t)pair[1],
				       &code);
	} else {
		r = read_known(&code, layout, memory, pair);
		if (r < 0)
			r = jvmcode_read(&code, &layout->vm, memory, pair[0], pair[1]);
	}
	*piece = code;
	return r;
}

static bool java_piece_has(const void *piece, const uint64_t pair[2])
{
	return jvmcode_is(piece, pair[0], pair[1]);
}

static size_t java_piece_bytes(const void *piece)
{
	return jvmcode_bytes(piece);
}

static void java_piece_unref(void *piece)
{
	jvmcode_unref(piece);
}

const struct code_kind code_kind_java = {
	.number = CODES_JAVA,
	.next = next_java_pair,
	.layout = copy_java_layout,
	.layout_bytes = sizeof(struct java_layout),
	.release = release_java_layout,
	.read = read_piece,
	.has = java_piece_has,
	.bytes = java_piece_bytes,
	.unref = java_piece_unref,
};

struct jvmcode *codes_find_java(const struct target *target, const uint64_t pair[2])
{
	struct code_key key = key_of(pair);
	struct jvmcode *code = code_cache_find(target, &code_kind_java, &key);

	return code && jvmcode_is(code, pair[0], pair[1]) ? code : NULL;
}

void codes_want_java(struct code_cache *codes, struct target *target, const uint64_t pair[2])
{
	struct code_key key = key_of(pair);

	code_cache_want_one(codes, target, &key, pair);
}
