// SPDX-License-Identifier: GPL-2.0-or-later
#include "python/pycode_copy.h"

#include <string.h>

#include "base/cleanup.h"

static const struct {
	size_t at, most;
} parts[CODE_PARTS] = {
	[CODE_PART_OBJECT] = {offsetof(struct code_copy, object),
			      sizeof(((struct code_copy *)0)->object)},
	[CODE_PART_NAME] = {offsetof(struct code_copy, name), CODE_TEXT_BYTES},
	[CODE_PART_QUALNAME] = {offsetof(struct code_copy, qualname), CODE_TEXT_BYTES},
	[CODE_PART_FILE] = {offsetof(struct code_copy, file), CODE_TEXT_BYTES},
	[CODE_PART_LINES] = {offsetof(struct code_copy, lines), CODE_LINES_BYTES},
};

bool code_copy_is_valid(const struct code_copy *copy, size_t bytes)
{
	if (bytes < CODE_COPY_LEAST || bytes - CODE_COPY_LEAST < copy->bytes[CODE_PART_LINES])
		return false;
	for (size_t i = 0; i < CODE_PARTS; i++) {
		if (copy->bytes[i] > parts[i].most)
			return false;
	}
	return true;
}

/* Returns the copy's bytes of that address, and how many follow; NULL: the copy lacks the address.
 */
static const uint8_t *find_bytes(const struct pycode_copy *mine, uint64_t address, size_t *bytes)
{
	const struct code_copy *copy = mine->copy;

	for (size_t i = 0; !mine->settled && i < CODE_PARTS; i++) {
		uint64_t at = address - copy->at[i];

		if (at >= copy->bytes[i])
			continue;
		*bytes = (size_t)(copy->bytes[i] - at);
		return (const uint8_t *)copy + parts[i].at + at;
	}
	*bytes = 0;
	return NULL;
}

static int copy_read(void *arg, uint64_t address, void *to, size_t bytes)
{
	struct pycode_copy *mine = arg;
	size_t have;
	const uint8_t *found = find_bytes(mine, address, &have);

	if (found && bytes <= have) {
		memcpy(to, found, bytes);
		return 0;
	}
	mine->read_on = true;
	return mine->behind.read(mine->behind.arg, address, to, bytes);
}

static size_t copy_held(void *arg, uint64_t address)
{
	size_t have;

	find_bytes(arg, address, &have);
	return have;
}

static bool copy_settle(void *arg)
{
	struct pycode_copy *mine = arg;

	mine->settled = true;
	return !mine->read_on;
}

struct process_memory pycode_memory_with(struct pycode_copy *mine)
{
	return (struct process_memory){
		.read = copy_read, .held = copy_held, .settle = copy_settle, .arg = mine};
}
