// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/text/near_word.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#define LENGTH_MAX 40 /* longer words have no near ones */
#define CHANGES	   2
#define PREFIX	   3 /* letters that a common beginning has at least */

static bool same_letter(char a, char b)
{
	return tolower((unsigned char)a) == tolower((unsigned char)b);
}

static unsigned least_number(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/* Returns how many letters are to be changed, added, removed or swapped with their neighbour
 * (Damerau's and Levenshtein's distance, each letter swapped at most once). */
static unsigned letter_distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
	unsigned rows[3][LENGTH_MAX + 1];

	for (size_t j = 0; j <= b_len; j++)
		rows[0][j] = (unsigned)j;
	for (size_t i = 1; i <= a_len; i++) {
		unsigned *row = rows[i % 3], *above = rows[(i - 1) % 3], *over = rows[(i + 1) % 3];

		row[0] = (unsigned)i;
		for (size_t j = 1; j <= b_len; j++) {
			bool same = same_letter(a[i - 1], b[j - 1]);

			row[j] = least_number(least_number(above[j], row[j - 1]) + 1,
					      above[j - 1] + !same);
			if (i > 1 && j > 1 && same_letter(a[i - 1], b[j - 2]) &&
			    same_letter(a[i - 2], b[j - 1]))
				row[j] = least_number(row[j], over[j - 2] + 1);
		}
	}
	return rows[a_len % 3][b_len];
}

const char *near_word(const char *word, const char *const *words, size_t count)
{
	size_t len = strlen(word);
	unsigned best = least_number((unsigned)(len + 1) / 3, CHANGES) + 1;
	const char *found = NULL, *begun = NULL;

	if (!len || len > LENGTH_MAX)
		return NULL;
	for (size_t i = 0; i < count; i++) {
		size_t other = strlen(words[i]);

		if (other > LENGTH_MAX)
			continue;
		unsigned changes = letter_distance(word, len, words[i], other);
		if (changes < best) {
			best = changes;
			found = words[i];
		}
		size_t shorter = len < other ? len : other;
		if (!begun && shorter >= PREFIX && strncasecmp(word, words[i], shorter) == 0)
			begun = words[i];
	}
	return found ? found : begun;
}
