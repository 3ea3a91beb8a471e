// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/kernel_words.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void kernel_words_number(struct buf *buf, uint64_t number)
{
	for (; number >= 0x80; number >>= 7)
		buf_char(buf, (char)(number | 0x80));
	buf_char(buf, (char)number);
}

uint64_t kernel_words_read(const char **at)
{
	uint64_t number = 0;

	for (unsigned shift = 0; shift < 64; shift += 7) {
		uint8_t byte = (uint8_t) * (*at)++;

		number |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			break;
	}
	return number;
}

/* Returns the length of the first word: leading `_` and `.`, and what follows up to the next `_` or
 * `.`. */
static size_t word_length(const char *text)
{
	size_t before = strspn(text, "_.");

	return before + strcspn(text + before, "_.");
}

int kernel_words_encode(struct intern *words, struct buf *codes, const char *name)
{
	for (size_t len; *name; name += len) {
		len = word_length(name);
		int64_t number = intern_add(words, name, len);
		if (number < 0)
			return (int)number;
		kernel_words_number(codes, (uint64_t)number + 1);
	}
	buf_char(codes, '\0');
	return buf_error(codes);
}

int kernel_words_keep(struct kernel_words *kept, const struct intern *words)
{
	size_t count = intern_count(words), bytes = 0, len;

	for (size_t i = 0; i < count; i++) {
		intern_get(words, (uint32_t)i, &len);
		bytes += len;
	}
	*kept = (struct kernel_words){malloc(bytes + 1), calloc(count + 1, sizeof(uint32_t)),
				      count};
	if (!kept->text || !kept->begins) {
		kernel_words_done(kept);
		return -ENOMEM;
	}
	for (size_t i = 0; i < count; i++) {
		const char *text = intern_get(words, (uint32_t)i, &len);

		memcpy(kept->text + kept->begins[i], text, len);
		kept->begins[i + 1] = kept->begins[i] + (uint32_t)len;
	}
	return 0;
}

void kernel_words_done(struct kernel_words *words)
{
	free(words->text);
	free(words->begins);
	*words = (struct kernel_words){0};
}

void kernel_words_decode(const struct kernel_words *words, const char *code, char *name,
			 size_t bytes)
{
	size_t used = 0;

	for (uint64_t number; (number = kernel_words_read(&code));) {
		uint32_t begins = words->begins[number - 1];
		size_t len = words->begins[number] - begins;

		if (len > bytes - 1 - used)
			len = bytes - 1 - used;
		memcpy(name + used, words->text + begins, len);
		used += len;
	}
	name[used] = '\0';
}
