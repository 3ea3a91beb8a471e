// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/diff/frame_place.h"

#include <string.h>

#include "elf/frame.h"

#define NUMBER_DIGITS 15 /* more are no line */

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Reads the digits before `end`. Returns where they begin, or `end` if `:` isn't before them. */
static size_t digits_behind_colon(const char *name, size_t end, uint64_t *number)
{
	size_t begin = end;
	uint64_t sum = 0;

	while (begin > 0 && is_digit(name[begin - 1]))
		begin--;
	if (begin == end || end - begin > NUMBER_DIGITS || begin == 0 || name[begin - 1] != ':')
		return end;
	for (size_t i = begin; i < end; i++)
		sum = sum * 10 + (uint64_t)(name[i] - '0');
	*number = sum;
	return begin - 1;
}

/* `function (file:12)`; len is without the suffix. */
static bool find_line(const char *name, size_t len, struct place_in_name *place)
{
	const char *parenthesis = memrchr(name, '(', len);

	if (name[len - 1] != ')' || !parenthesis || parenthesis == name || parenthesis[-1] != ' ')
		return false;
	place->end = len - 1;
	place->begin = digits_behind_colon(name, place->end, &place->number);
	place->group_begin = (size_t)(parenthesis + 1 - name);
	place->group_end = place->begin;
	place->owner_len = (size_t)(parenthesis - 1 - name);
	place->is_line = true;
	return place->begin < place->end && place->group_begin < place->begin;
}

/* `[module+0x1f]` */
static bool find_address(const char *name, size_t len, struct place_in_name *place)
{
	const char *plus = memrchr(name, '+', len);
	uint64_t number = 0;

	if (name[0] != '[' || name[len - 1] != ']' || !plus || plus < name + 2)
		return false;
	size_t begin = (size_t)(plus - name), digits = begin + 3;
	if (digits >= len - 1 || plus[1] != '0' || plus[2] != 'x' || len - 1 - digits > 16)
		return false;
	for (size_t i = digits; i < len - 1; i++) {
		const char *hex = "0123456789abcdef";
		const char *digit = strchr(hex, name[i]);

		if (!digit || !*digit)
			return false;
		number = number << 4 | (uint64_t)(digit - hex);
	}
	*place = (struct place_in_name){.group_begin = 1,
					.group_end = begin,
					.begin = begin,
					.end = len - 1,
					.number = number};
	return true;
}

/* `JS:*function file:12:5` */
static bool find_javascript(const char *name, size_t len, struct place_in_name *place)
{
	uint64_t column = 0;

	if (len < 4 || memcmp(name, "JS:", 3) != 0)
		return false;
	size_t line_end = digits_behind_colon(name, len, &column);
	size_t begin = digits_behind_colon(name, line_end, &place->number);

	if (begin == line_end) { /* a line alone */
		begin = line_end;
		place->number = column;
	}
	const char *blank = memrchr(name, ' ', begin);
	if (begin == len || !blank)
		return false;
	place->owner_len = (size_t)(blank - name);
	place->group_begin = place->owner_len + 1;
	place->group_end = place->begin = begin;
	place->end = len;
	place->is_line = true;
	return place->group_begin < place->group_end;
}

bool frame_place_find(const char *name, size_t len, struct place_in_name *place)
{
	frame_type_parse(name, &len);
	*place = (struct place_in_name){0};
	if (len < 4)
		return false;
	return find_address(name, len, place) || find_line(name, len, place) ||
	       find_javascript(name, len, place);
}
