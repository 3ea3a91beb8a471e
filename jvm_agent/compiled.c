// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The record of a compiled method: which methods at which lines its places stand for. Places that
 * follow each other share most of their callers, so these are written as a tree: a chain begins
 * with as many nodes of the one before as are the same.
 */
#include "agent.h"

#define SEEN_SLOTS 256 /* a power of two */

typedef int32_t (*native_call)(jvmti_env *, jmethodID, uint8_t *);
typedef int32_t (*lines_call)(jvmti_env *, jmethodID, int32_t *, struct jvmti_line **);

/* Methods that this code has: their number and lines are asked for once, as a rule. */
struct seen {
	jmethodID method;
	uint32_t number;
	int32_t count;
	struct jvmti_line *lines;
};

struct node {
	uint32_t id, method, line;
};

struct writing {
	struct agent *agent;
	const struct compiled *code;
	struct seen *seen;
	struct bytes nodes, places;
	uint32_t node_count, place_count;
	uint64_t place_before;
	struct node chain[JAVA_SYMBOLS_FRAMES_MAX]; /* of the place before, outermost first */
	uint32_t depth;
};

static void forget(struct writing *mine, struct seen *seen)
{
	vm_free(mine->agent, seen->lines);
	*seen = (struct seen){0};
}

static struct seen *look_up(struct writing *mine, jmethodID method)
{
	jvmti_env *jvmti = mine->agent->jvmti;
	uint64_t hash = (uint64_t)method * 0x9e3779b97f4a7c15ULL;
	struct seen *seen = &mine->seen[hash >> 32 & (SEEN_SLOTS - 1)];

	if (seen->method == method)
		return seen;
	forget(mine, seen);
	*seen = (struct seen){.method = method, .number = method_number(mine->agent, method)};
	if (VM_CALL(jvmti, JVMTI_GET_LINE_NUMBER_TABLE, lines_call)(jvmti, method, &seen->count,
								    &seen->lines)) {
		seen->lines = NULL; /* it has none */
		seen->count = 0;
	}
	return seen;
}

/* The line of the last entry that isn't behind the instruction; the table isn't always in order. */
static uint32_t line_at(const struct seen *seen, int64_t bci)
{
	int64_t best = -1;
	uint32_t line = 0;

	for (int32_t i = 0; i < seen->count; i++) {
		if (seen->lines[i].from > bci || seen->lines[i].from < best)
			continue;
		best = seen->lines[i].from;
		line = (uint32_t)seen->lines[i].line;
	}
	return line;
}

static bool add_place(struct writing *mine, uint64_t pc, const jmethodID *methods,
		      const int32_t *bcis, int32_t frames)
{
	uint64_t distance = pc - mine->code->address;
	uint32_t shared = 0;

	if (frames < 1 || distance > mine->code->size || distance < mine->place_before ||
	    mine->place_count >= JAVA_SYMBOLS_PLACES_MAX)
		return true; /* this place is left out */
	/* Left out, it would be the next one's; what calls the rest is certain. */
	if (frames > JAVA_SYMBOLS_FRAMES_MAX) {
		methods += frames - JAVA_SYMBOLS_FRAMES_MAX;
		bcis += frames - JAVA_SYMBOLS_FRAMES_MAX;
		frames = JAVA_SYMBOLS_FRAMES_MAX;
	}
	for (uint32_t i = 0; i < (uint32_t)frames; i++) {
		const struct seen *seen = look_up(mine, methods[(uint32_t)frames - 1 - i]);
		int64_t bci = bcis[(uint32_t)frames - 1 - i];
		struct node node = {0, seen->number, line_at(seen, bci < 0 ? 0 : bci)};

		if (!node.method)
			return false;
		if (shared == i && i < mine->depth && mine->chain[i].method == node.method &&
		    mine->chain[i].line == node.line) {
			shared++;
			continue;
		}
		node.id = ++mine->node_count;
		bytes_varint(&mine->nodes, i ? mine->chain[i - 1].id : 0);
		bytes_varint(&mine->nodes, node.method);
		bytes_varint(&mine->nodes, node.line);
		mine->chain[i] = node;
	}
	mine->depth = (uint32_t)frames;
	bytes_varint(&mine->places, distance - mine->place_before);
	bytes_varint(&mine->places, mine->chain[frames - 1].id);
	mine->place_before = distance;
	mine->place_count++;
	return true;
}

static bool add_inlined(struct writing *mine, const struct jvmti_inline_record *record)
{
	for (int32_t i = 0; i < record->count; i++) {
		const struct jvmti_place *place = &record->places[i];

		if (!add_place(mine, (uint64_t)place->pc, place->methods, place->bcis,
			       place->frames))
			return false;
	}
	return true;
}

/* Without records of inlined methods: the method alone. */
static bool add_map(struct writing *mine)
{
	for (int32_t i = 0; i < mine->code->map_count; i++) {
		int32_t bci = (int32_t)mine->code->map[i].bci;

		if (!add_place(mine, (uint64_t)mine->code->map[i].address, &mine->code->method,
			       &bci, 1))
			return false;
	}
	return true;
}

static bool add_places(struct writing *mine)
{
	bool inlined = false;

	for (const struct jvmti_record *info = mine->code->info; info; info = info->next) {
		if (info->kind != JVMTI_INLINE_INFO)
			continue;
		if (!add_inlined(mine, (const struct jvmti_inline_record *)info))
			return false;
		inlined = true;
	}
	return inlined || add_map(mine);
}

static uint16_t flags_of(struct agent *agent, const struct compiled *code)
{
	uint8_t native = 0;

	if (VM_CALL(agent->jvmti, JVMTI_IS_METHOD_NATIVE, native_call)(agent->jvmti, code->method,
								       &native))
		native = 0;
	return (uint16_t)((code->before ? JAVA_CODE_BEFORE : 0) | (native ? JAVA_CODE_NATIVE : 0));
}

static bool put_together(struct writing *mine, uint32_t number, struct bytes *record)
{
	const struct compiled *code = mine->code;
	struct java_record head = {
		.kind = JAVA_CODE,
		.flags = flags_of(mine->agent, code),
		.method = number,
	};

	head.code.address = code->address;
	head.code.size = code->size;
	head.code.nodes = mine->node_count;
	head.code.places = mine->place_count;
	head.code.node_bytes = (uint32_t)mine->nodes.len;
	bytes_add(record, &head, JAVA_CODE_BYTES);
	bytes_add(record, mine->nodes.data, mine->nodes.len);
	bytes_add(record, mine->places.data, mine->places.len);
	return !mine->nodes.failed && !mine->places.failed && !record->failed;
}

bool compiled_record(struct agent *agent, const struct compiled *code, struct bytes *record,
		     uint32_t *rewrites)
{
	struct writing mine = {.agent = agent, .code = code};
	bool told = false;

	mine.seen = pages_take(SEEN_SLOTS * sizeof(*mine.seen));
	if (!mine.seen)
		return false;
	lock_take(&agent->lock);
	*rewrites = agent->journal.rewrites;
	lock_give(&agent->lock);
	uint32_t number = look_up(&mine, code->method)->number;
	if (number && add_places(&mine))
		told = put_together(&mine, number, record);
	for (size_t i = 0; i < SEEN_SLOTS; i++)
		forget(&mine, &mine.seen[i]);
	pages_give(mine.seen, SEEN_SLOTS * sizeof(*mine.seen));
	bytes_free(&mine.nodes);
	bytes_free(&mine.places);
	return told;
}
