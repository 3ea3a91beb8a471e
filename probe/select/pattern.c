// SPDX-License-Identifier: GPL-2.0-or-later
#define PCRE2_CODE_UNIT_WIDTH 8
#include "select/pattern.h"

#include <errno.h>
#include <pcre2.h>
#include <string.h>

#include "base/cleanup.h"

#define HEAP_KIB_MAX   64
#define NESTING_MAX    32
#define NAME_BYTES_MAX 255

/*
 * Limits of steps: what needs more is meant to hurt. A comm has 15 bytes; a container's name is
 * matched once.
 */
static const uint32_t steps_max[] = {[PATTERN_FOR_COMM] = 2000, [PATTERN_FOR_NAME] = 50000};

void pattern_free(void *pattern)
{
	pcre2_code_free(pattern);
}

int pattern_match(const void *pattern, const char *name, enum pattern_for what)
{
	pcre2_match_context *limits = pcre2_match_context_create(NULL);
	pcre2_match_data *result = pcre2_match_data_create(1, NULL);
	int r = PCRE2_ERROR_NOMEMORY;

	if (limits && result) {
		pcre2_set_match_limit(limits, steps_max[what]);
		pcre2_set_heap_limit(limits, HEAP_KIB_MAX);
		r = pcre2_match(pattern, (PCRE2_SPTR)name, strlen(name), 0, 0, result, limits);
	}
	pcre2_match_data_free(result);
	pcre2_match_context_free(limits);
	if (r >= 0)
		return 1;
	if (r == PCRE2_ERROR_NOMATCH)
		return 0;
	return r == PCRE2_ERROR_NOMEMORY ? -ENOMEM : -E2BIG;
}

/* A name of the greatest length, made of these, repeated. */
static bool is_dear_for(const void *pattern, const char *piece)
{
	char name[NAME_BYTES_MAX + 1];
	size_t bytes = strlen(piece);

	for (size_t i = 0; i < NAME_BYTES_MAX; i++)
		name[i] = piece[i % bytes];
	name[NAME_BYTES_MAX] = '\0';
	return pattern_match(pattern, name, PATTERN_FOR_NAME) < 0;
}

/* Tries a pattern on names of the worst kind, before it is accepted. */
static bool is_too_dear(const void *pattern, enum pattern_for what)
{
	static const char *const names[] = {"aaaaaaaaaaaaaaa", "xxxxxxxxxxxxxxx",
					    "ababababababab",  "000000000000000",
					    "kworker/u8:0-ev", "redis-server-12"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (pattern_match(pattern, names[i], what) < 0 ||
		    (what == PATTERN_FOR_NAME && is_dear_for(pattern, names[i])))
			return true;
	}
	return false;
}

int pattern_new(void **ret, const char *text, enum pattern_for what)
{
	pcre2_compile_context *limits;
	PCRE2_SIZE offset;
	int error;

	*ret = NULL;
	if (strlen(text) > PATTERN_BYTES_MAX)
		return -E2BIG;
	if (!text[0])
		return 0;
	limits = pcre2_compile_context_create(NULL);
	if (!limits)
		return -ENOMEM;
	pcre2_set_parens_nest_limit(limits, NESTING_MAX);
	pcre2_code *code =
		pcre2_compile((PCRE2_SPTR)text, PCRE2_ZERO_TERMINATED,
			      PCRE2_DOTALL | PCRE2_DOLLAR_ENDONLY, &error, &offset, limits);
	pcre2_compile_context_free(limits);
	if (!code)
		return -EINVAL;
	if (is_too_dear(code, what)) {
		pattern_free(code);
		return -EINVAL;
	}
	*ret = code;
	return 0;
}
