// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/record/record_probes.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "command/command.h"
#include "command/record/record_view.h"
#include "event/event_check.h"
#include "kind/kind.h"
#include "sched/sched_kind.h"
#include "session/session_events.h"

/* Makes a word from the name of a function, tracepoint or static probe, as far as it may be one. */
static void name_event(char word[EVENT_WORD_BYTES], const char *name)
{
	size_t len = 0;

	for (const char *c = name; *c && len + 1 < EVENT_WORD_BYTES; c++) {
		char lower = (char)tolower((unsigned char)*c);

		word[len++] = isalnum((unsigned char)lower) || lower == '-' ? lower : '_';
	}
	word[len] = '\0';
}

/* Takes an event, NAME=EVENT or EVENT alone (event/event_text.h). */
static int take_event(struct record_options *options, const char *part)
{
	const char *equals = strchr(part, '='), *colon = strchr(part, ':');
	bool named = equals && equals < colon;
	const char *text = named ? equals + 1 : part;
	struct event_text event;
	struct why why, detail = {0};
	char word[EVENT_WORD_BYTES];

	if (event_text_read(&event, text, &why) < 0)
		return usage_error(why.text, part);
	if (named)
		snprintf(word, sizeof(word), "%.*s", (int)(equals - part), part);
	else
		name_event(word, event.name);
	char probe[EVENT_WORD_BYTES + 8];
	snprintf(probe, sizeof(probe), "event:%s", word);
	if (events_find(&options->named, probe) >= 0)
		return usage_error("two events of one name; name one of them, as NAME=EVENT", part);
	if (events_add(&options->named, NULL, word, text, &why) < 0 ||
	    event_check(&event, &why, &detail) < 0) {
		fprintf(stderr, "stackprobe: %s\n", detail.text[0] ? detail.text : why.text);
		return usage_hint();
	}
	events_define(&options->named);
	options->probes |= 1u << events_find(&options->named, probe);
	return GO_ON;
}

int record_probes_take(struct record_options *options, char *part)
{
	int probe = kind_find(part);

	if (probe < 0 && strchr(part, ':'))
		return take_event(options, part);

	if (probe < 0 && sched_kind_find(part) >= 0)
		return usage_error("a probe of the scheduler is for stackprobe sched", part);
	if (probe < 0) {
		_cleanup_buf_ struct buf what = BUF_INIT(256);

		buf_str(&what, "no such probe (there are");
		for (int i = 0; i < PROBE_SLOT_FIRST; i++)
			buf_printf(&what, "%s %s", i ? "," : "", kind_get(i)->name);
		buf_str(&what, ", and events: t:GROUP:TRACEPOINT, u:/PATH:FUNCTION …)");
		buf_char(&what, '\0');
		return usage_error(buf_error(&what) ? "no such probe" : what.data, part);
	}
	options->probes |= 1u << probe;
	return GO_ON;
}
