// SPDX-License-Identifier: GPL-2.0-or-later
#include "pressure/pressure_text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define BLANKS "\t "
#define DIGITS "0123456789"

static const char *const names[] = {
	[PRESSURE_ON_CPU] = "cpu",
	[PRESSURE_ON_MEMORY] = "memory",
	[PRESSURE_ON_IO] = "io",
};

const char *pressure_name(enum pressure_on on)
{
	return names[on];
}

/* A word of the text, which isn't ended by a NUL. */
struct pressure_word {
	const char *at;
	int len;
	unsigned number; /* from 1 on */
};

static void take_word(const char **rest, struct pressure_word *word)
{
	word->at = *rest + strspn(*rest, BLANKS);
	word->len = (int)strcspn(word->at, BLANKS);
	word->number++;
	*rest = word->at + word->len;
}

static int refuse_word(const struct pressure_word *word, const char *what, struct why *why)
{
	if (word->len)
		why_set(why, "word %u, %.*s, must be %s", word->number,
			word->len > 40 ? 40 : word->len, word->at, what);
	else
		why_set(why, "word %u is missing: it must be %s", word->number, what);
	return -EINVAL;
}

static bool is_word(const struct pressure_word *word, const char *text)
{
	return (size_t)word->len == strlen(text) &&
	       strncasecmp(word->at, text, (size_t)word->len) == 0;
}

static int read_resource(const struct pressure_word *word, enum pressure_on *on, struct why *why)
{
	for (int i = 0; i < PRESSURES; i++) {
		if (is_word(word, names[i])) {
			*on = (enum pressure_on)i;
			return 0;
		}
	}
	return refuse_word(word, "cpu, memory or io", why);
}

static int read_extent(const struct pressure_word *word, bool *full, struct why *why)
{
	*full = is_word(word, "full");
	return *full || is_word(word, "some") ? 0 : refuse_word(word, "some or full", why);
}

/* Reads a number of at most 8 digits. */
static int read_us(const struct pressure_word *word, uint32_t min, uint32_t max, const char *what,
		   uint32_t *us, struct why *why)
{
	char must[96];

	*us = 0;
	for (int i = 0; i < word->len && word->len <= 8; i++) {
		if (!strchr(DIGITS, word->at[i])) {
			*us = 0;
			break;
		}
		*us = *us * 10 + (uint32_t)(word->at[i] - '0');
	}
	if (*us >= min && *us <= max)
		return 0;
	snprintf(must, sizeof(must), "the %s in microseconds, from %u to %u", what, min, max);
	return refuse_word(word, must, why);
}

static bool has_parent_step(const char *path)
{
	for (const char *at = path; (at = strstr(at, "..")); at += 2) {
		if (at > path && at[-1] == '/' && (at[2] == '/' || at[2] == '\0'))
			return true;
	}
	return false;
}

/* Reads the rest of the text: a cgroup's name may have blanks in it. */
static int read_cgroup(const char *rest, char cgroup[PRESSURE_CGROUP_BYTES], struct why *why)
{
	size_t len;

	rest += strspn(rest, BLANKS);
	len = strlen(rest);
	while (len && strchr(BLANKS, rest[len - 1]))
		len--;
	if (len >= PRESSURE_CGROUP_BYTES) {
		why_set(why, "the cgroup's path is longer than %d bytes",
			PRESSURE_CGROUP_BYTES - 1);
		return -EINVAL;
	}
	snprintf(cgroup, PRESSURE_CGROUP_BYTES, "%.*s", (int)len, rest);
	if (len && cgroup[0] != '/') {
		why_set(why, "word 5, %.40s, must be a cgroup's path, which begins with /", cgroup);
		return -EINVAL;
	}
	for (size_t i = 0; i < len; i++) {
		if ((unsigned char)cgroup[i] < ' ') {
			why_set(why, "the cgroup's path has a control character");
			return -EINVAL;
		}
	}
	if (has_parent_step(cgroup)) {
		why_set(why, "the cgroup's path must not have \"..\"");
		return -EINVAL;
	}
	return 0;
}

int pressure_text_read(struct pressure_text *text, const char *written, struct why *why)
{
	struct pressure_text read = {0};
	struct pressure_word word = {0}, stall;
	const char *rest = written;

	take_word(&rest, &word);
	int r = read_resource(&word, &read.on, why);
	take_word(&rest, &word);
	if (r == 0)
		r = read_extent(&word, &read.full, why);
	take_word(&rest, &word);
	stall = word;
	if (r == 0)
		r = read_us(&stall, 1, PRESSURE_WINDOW_MAX_US, "stall", &read.stall_us, why);
	take_word(&rest, &word);
	if (r == 0)
		r = read_us(&word, PRESSURE_WINDOW_MIN_US, PRESSURE_WINDOW_MAX_US, "window",
			    &read.window_us, why);
	if (r == 0 && read.stall_us > read.window_us)
		r = refuse_word(&stall, "no longer than the window, which is word 4", why);
	if (r == 0)
		r = read_cgroup(rest, read.cgroup, why);
	if (r == 0)
		*text = read;
	return r;
}

/*
 * While a task runs, not all tasks of the host wait for a CPU: the kernel shows "full" of the
 * host's cpu as 0 (psi.rst).
 */
bool pressure_text_is_idle(const struct pressure_text *text)
{
	return text->on == PRESSURE_ON_CPU && text->full && !text->cgroup[0];
}

void pressure_text_say(const struct pressure_text *text, char *words, size_t bytes)
{
	snprintf(words, bytes, "%s tasks stalled on %s for %g ms within %g ms, %s%s",
		 text->full ? "all" : "some", names[text->on], text->stall_us / 1e3,
		 text->window_us / 1e3, text->cgroup[0] ? "in the cgroup " : "on the whole host",
		 text->cgroup);
}
