// SPDX-License-Identifier: GPL-2.0-or-later
#include "event/event_text.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define ARG	 "arg="
#define ARGS_MAX 12

#define EXPECTED                                                                                   \
	"an event is t:GROUP:TRACEPOINT, k:FUNCTION, u:/PATH:FUNCTION or "                         \
	"usdt:/PATH:PROVIDER:NAME, with \" arg=N\" behind it if an argument's value is a frame"

static const struct {
	const char *prefix;
	enum event_type type;
} types[] = {
	{"t:", EVENT_TRACEPOINT},
	{"k:", EVENT_KERNEL},
	{"u:", EVENT_USER},
	{"usdt:", EVENT_USDT},
};

/* Copies a text that is shorter than EVENT_WHAT_BYTES. */
static void move_text(char to[EVENT_WHAT_BYTES], const char *text)
{
	memcpy(to, text, strlen(text) + 1);
}

/* Cuts what is behind the last colon off the text, into `last`. Returns false if there is none. */
static bool cut_last(char *text, char *last)
{
	char *colon = strrchr(text, ':');

	if (!colon)
		return false;
	move_text(last, colon + 1);
	*colon = '\0';
	return true;
}

/* A name of the kernel's: such a name can neither be a path nor end a line. */
static bool is_identifier(const char *name)
{
	return name[0] && name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
					    "0123456789_.$")] == '\0';
}

/* Takes " arg=2" or " arg=2:-4" off the text. Returns false if it is wrong. */
static bool cut_arg(struct event_text *event, char *text)
{
	char *space = strchr(text, ' '), *end;

	if (!space)
		return true;
	*space = '\0';
	if (strncmp(space + 1, ARG, strlen(ARG)) != 0 || !isdigit((unsigned char)space[5]))
		return false;
	event->arg = (unsigned)strtoul(space + 5, &end, 10);
	event->arg_bytes = -8;
	if (*end == ':')
		event->arg_bytes = (int)strtol(end + 1, &end, 10);
	int bytes = abs(event->arg_bytes);
	return !*end && event->arg >= 1 && event->arg <= ARGS_MAX &&
	       (bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8);
}

static bool is_printable(const char *text)
{
	for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
		if (*c <= ' ' || *c == 0x7f)
			return false;
	}
	return true;
}

/* Divides the text behind the prefix, which is in event->path. */
static bool divide_text(struct event_text *event)
{
	switch (event->type) {
	case EVENT_TRACEPOINT:
		if (!cut_last(event->path, event->name))
			return false;
		move_text(event->group, event->path);
		event->path[0] = '\0';
		return is_identifier(event->group) && is_identifier(event->name);
	case EVENT_KERNEL:
		move_text(event->name, event->path);
		event->path[0] = '\0';
		return is_identifier(event->name);
	case EVENT_USDT:
		if (!cut_last(event->path, event->name) || !cut_last(event->path, event->group))
			return false;
		return event->path[0] == '/' && event->group[0] && event->name[0];
	default:
		return cut_last(event->path, event->name) && event->path[0] == '/' &&
		       event->name[0];
	}
}

int event_text_read(struct event_text *event, const char *text, struct why *why)
{
	*event = (struct event_text){0};
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		size_t prefix = strlen(types[i].prefix);

		if (strncmp(text, types[i].prefix, prefix) != 0)
			continue;
		if (strlen(text) >= sizeof(event->path))
			break;
		move_text(event->path, text + prefix);
		event->type = types[i].type;
		if (cut_arg(event, event->path) && is_printable(event->path) && divide_text(event))
			return 0;
		break;
	}
	why_set(why, EXPECTED);
	return -EINVAL;
}
