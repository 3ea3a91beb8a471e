// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/diagnosis.h"

#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json.h"

#define NAME_COLUMNS  26
#define STATE_COLUMNS 9
#define TEXT_COLUMN   (2 + NAME_COLUMNS + STATE_COLUMNS)

/* ---- for people ---- */

struct writer {
	FILE *out;
	unsigned width, column;
};

/* Prints words from TEXT_COLUMN + indent on, wrapped. */
static void put_words(struct writer *writer, const char *text, unsigned indent)
{
	while (*text) {
		unsigned len = (unsigned)strcspn(text, " ");

		if (writer->column > TEXT_COLUMN + indent &&
		    writer->column + 1 + len > writer->width) {
			fprintf(writer->out, "\n%*s", (int)(TEXT_COLUMN + indent), "");
			writer->column = TEXT_COLUMN + indent;
		} else if (writer->column > TEXT_COLUMN + indent) {
			fputc(' ', writer->out);
			writer->column++;
		}
		fprintf(writer->out, "%.*s", (int)len, text);
		writer->column += len;
		text += len;
		text += strspn(text, " ");
	}
}

static void put_line(struct writer *writer, const char *text, const char *mark)
{
	unsigned indent = (unsigned)strlen(mark);

	fprintf(writer->out, "%s", mark);
	writer->column = TEXT_COLUMN + indent;
	put_words(writer, text, indent);
	fputc('\n', writer->out);
}

static void put_row(struct writer *writer, const char *name, const char *use,
		    const struct finding *finding)
{
	bool is_plain = finding->state == FINDING_YES && use[0];
	char text[512];

	fprintf(writer->out, "  %-*s%-*s", NAME_COLUMNS, name, STATE_COLUMNS,
		finding_state_name(finding->state));
	if (is_plain) /* say the use; the last line says that all was tried */
		snprintf(text, sizeof(text), "%s", use);
	else
		snprintf(text, sizeof(text), "%s%s%s", use, use[0] ? ": " : "", finding->reason);
	put_line(writer, text, "");
	if (!finding->remedy[0])
		return;
	fprintf(writer->out, "%*s", TEXT_COLUMN, "");
	put_line(writer, finding->remedy, "-> ");
}

/* Probes that users define are alike: the first slot stands for them. */
static const char *probe_name(enum probe probe)
{
	return kind_get(probe)->slot ? KIND_OF_USERS : kind_get(probe)->name;
}

void diagnosis_print(const struct diagnosis *diagnosis, FILE *out, unsigned width)
{
	struct writer writer = {.out = out, .width = width};
	const char *group = "";

	fprintf(out, "stackprobe %s on %s %s (%s), uid %u\n\nprobes\n", VERSION,
		diagnosis->host.sysname, diagnosis->host.release, diagnosis->host.machine,
		(unsigned)geteuid());
	for (int i = 0; i <= PROBE_SLOT_FIRST; i++)
		put_row(&writer, probe_name(i), "", &diagnosis->probes[i]);
	fputs("\nprobes of /sched\n", out);
	for (int i = 0; i < SCHED_COUNT; i++)
		put_row(&writer, sched_kind_get(i)->name, "", &diagnosis->sched[i]);
	fputs("\nprobes of /proc\n", out);
	for (int i = 0; i < COST_PROBES; i++)
		put_row(&writer, cost_kind_get(i)->name, "", &diagnosis->proc[i]);
	for (int i = CAN_NOTHING + 1; i < CAPABILITY_COUNT; i++) {
		const struct capability_row *row = capability_row(i);

		if (strcmp(group, row->group) != 0)
			fprintf(out, "\n%s\n", row->group);
		group = row->group;
		put_row(&writer, row->name, row->use, &diagnosis->capabilities[i]);
	}
	fputs("\nEvery line was tried just now.\n", out);
}

/* ---- for programs ---- */

static void add_finding(struct json *json, const struct finding *finding)
{
	json_text(json, "state", finding_state_name(finding->state));
	json_text(json, "reason", finding->reason);
	json_text(json, "remedy", finding->remedy);
}

/* Adds an entry; `kernel` is NULL for a probe of /sched or /proc. */
static void add_probe(struct json *json, const char *name, const struct finding *finding,
		      const struct finding *kernel, const struct kind_need *needs)
{
	json_object(json, NULL);
	json_text(json, "name", name);
	add_finding(json, finding);
	if (kernel) {
		json_raw(json, "built", "true");
		json_object(json, "kernel");
		add_finding(json, kernel);
		json_object_end(json);
	}
	json_array(json, "needs");
	for (int i = 0; i < KIND_NEEDS_MAX && needs[i].what; i++)
		json_text(json, NULL, capability_row(needs[i].what)->name);
	json_array_end(json);
	json_object_end(json);
}

static void add_capability(struct json *json, const struct diagnosis *diagnosis,
			   enum capability which)
{
	const struct capability_row *row = capability_row(which);

	json_object(json, NULL);
	json_text(json, "name", row->name);
	json_text(json, "group", row->group);
	json_text(json, "use", row->use);
	add_finding(json, &diagnosis->capabilities[which]);
	json_object_end(json);
}

int diagnosis_print_json(const struct diagnosis *diagnosis, FILE *out)
{
	_cleanup_buf_ struct buf text = BUF_INIT(SIZE_MAX);
	struct json json = {.out = &text, .indented = true};

	json_object(&json, NULL);
	json_text(&json, "version", VERSION);
	json_text(&json, "kernel", diagnosis->host.release);
	json_text(&json, "arch", diagnosis->host.machine);
	json_u64(&json, "uid", geteuid());
	json_raw(&json, "ok", diagnosis->ok ? "true" : "false");
	json_array(&json, "probes");
	for (int i = 0; i <= PROBE_SLOT_FIRST; i++)
		add_probe(&json, probe_name(i), &diagnosis->probes[i], &diagnosis->hooks[i],
			  kind_get(i)->needs);
	json_array_end(&json);
	json_array(&json, "sched");
	for (int i = 0; i < SCHED_COUNT; i++)
		add_probe(&json, sched_kind_get(i)->name, &diagnosis->sched[i], NULL,
			  sched_kind_needs(i));
	json_array_end(&json);
	json_array(&json, "proc");
	for (int i = 0; i < COST_PROBES; i++)
		add_probe(&json, cost_kind_get(i)->name, &diagnosis->proc[i], NULL,
			  cost_kind_needs());
	json_array_end(&json);
	json_array(&json, "capabilities");
	for (int i = CAN_NOTHING + 1; i < CAPABILITY_COUNT; i++)
		add_capability(&json, diagnosis, i);
	json_array_end(&json);
	json_object_end(&json);
	buf_char(&text, '\n');
	if (buf_error(&text) == 0)
		fwrite(text.data, 1, text.len, out);
	return buf_error(&text);
}
