// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/svg/judged_functions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/map.h"

#define FUNCTIONS_MAX (1u << 22)
#define SOURCES_TRIED 4 /* a file's name may have ` (` itself */

struct judged_key {
	uint64_t name; /* hash */
	uint64_t type;
};

struct judged_functions {
	uint64_t seed;
	struct map *functions; /* struct judged_key -> struct judged_function */
};

int judged_new(struct judged_functions **ret)
{
	struct judged_functions *judged = calloc(1, sizeof(*judged));
	int r = judged ? 0 : -ENOMEM;

	if (r == 0) {
		judged->seed = hash_seed();
		r = map_new(&judged->functions, sizeof(struct judged_key),
			    sizeof(struct judged_function), FUNCTIONS_MAX);
	}
	if (r < 0)
		judged_free(judged);
	else
		*ret = judged;
	return r;
}

void judged_free(struct judged_functions *judged)
{
	if (!judged)
		return;
	map_free(judged->functions);
	free(judged);
}

static struct judged_key key_of(const struct judged_functions *judged, enum frame_type type,
				const char *name, size_t len)
{
	return (struct judged_key){hash_bytes(judged->seed, name, len), type};
}

int judged_add(struct judged_functions *judged, enum frame_type type, const char *name,
	       struct judged_function verdict)
{
	struct judged_key key = key_of(judged, type, name, strlen(name));
	void *value;
	int r = map_put(judged->functions, &key, &value);

	if (r < 0)
		return r;
	*(struct judged_function *)value = verdict;
	return 0;
}

/* Returns where ` (` in front of a source file begins, the last one before `end`; 0: there is none.
 */
static size_t source_before(const char *name, size_t end)
{
	for (; end >= 3; end--) {
		if (name[end - 2] == ' ' && name[end - 1] == '(')
			return end - 2;
	}
	return 0;
}

const struct judged_function *judged_find(const struct judged_functions *judged, const char *frame,
					  size_t len)
{
	enum frame_type type = frame_type_parse(frame, &len);
	struct judged_key key = key_of(judged, type, frame, len);
	const struct judged_function *found = map_get(judged->functions, &key);
	size_t end = len && frame[len - 1] == ')' ? len : 0;

	for (int i = 0; i < SOURCES_TRIED && !found && (end = source_before(frame, end)) > 0; i++) {
		key = key_of(judged, type, frame, end);
		found = map_get(judged->functions, &key);
	}
	return found;
}
