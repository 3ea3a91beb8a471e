// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/diagnosis.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

void diagnosis_print(const struct diagnosis *diagnosis, FILE *out, unsigned width)
{
	struct writer writer = {.out = out, .width = width};
	const char *group = "";

	fprintf(out, "stackprobe %s on %s %s (%s), uid %u\n\nprobes\n", VERSION,
		diagnosis->host.sysname, diagnosis->host.release, diagnosis->host.machine,
		(unsigned)geteuid());
	for (int i = 0; i < PROBE_COUNT; i++)
		put_row(&writer, kind_get(i)->name, "", &diagnosis->probes[i]);
	fputs("\nprobes of /sched\n", out);
	for (int i = 0; i < SCHED_COUNT; i++)
		put_row(&writer, sched_kind_get(i)->name, "", &diagnosis->sched[i]);
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

static void add_finding(cJSON *to, const struct finding *finding)
{
	cJSON_AddStringToObject(to, "state", finding_state_name(finding->state));
	cJSON_AddStringToObject(to, "reason", finding->reason);
	cJSON_AddStringToObject(to, "remedy", finding->remedy);
}

static void add_needs(cJSON *to, const struct kind_need *all)
{
	cJSON *needs = cJSON_AddArrayToObject(to, "needs");

	for (int i = 0; i < KIND_NEEDS_MAX && all[i].what; i++)
		cJSON_AddItemToArray(needs, cJSON_CreateString(capability_row(all[i].what)->name));
}

static void add_probe(cJSON *list, const struct diagnosis *diagnosis, enum probe probe)
{
	const struct kind *kind = kind_get(probe);
	cJSON *entry = cJSON_CreateObject();

	cJSON_AddStringToObject(entry, "name", kind->name);
	add_finding(entry, &diagnosis->probes[probe]);
	cJSON_AddBoolToObject(entry, "built", true);
	add_finding(cJSON_AddObjectToObject(entry, "kernel"), &diagnosis->hooks[probe]);
	add_needs(entry, kind->needs);
	cJSON_AddItemToArray(list, entry);
}

static void add_sched_probe(cJSON *list, const struct diagnosis *diagnosis, enum sched_probe probe)
{
	const struct sched_kind *kind = sched_kind_get(probe);
	cJSON *entry = cJSON_CreateObject();

	cJSON_AddStringToObject(entry, "name", kind->name);
	add_finding(entry, &diagnosis->sched[probe]);
	add_needs(entry, kind->needs);
	cJSON_AddItemToArray(list, entry);
}

static void add_capability(cJSON *list, const struct diagnosis *diagnosis, enum capability which)
{
	const struct capability_row *row = capability_row(which);
	cJSON *entry = cJSON_CreateObject();

	cJSON_AddStringToObject(entry, "name", row->name);
	cJSON_AddStringToObject(entry, "group", row->group);
	cJSON_AddStringToObject(entry, "use", row->use);
	add_finding(entry, &diagnosis->capabilities[which]);
	cJSON_AddItemToArray(list, entry);
}

int diagnosis_print_json(const struct diagnosis *diagnosis, FILE *out)
{
	cJSON *root = cJSON_CreateObject();

	cJSON_AddStringToObject(root, "version", VERSION);
	cJSON_AddStringToObject(root, "kernel", diagnosis->host.release);
	cJSON_AddStringToObject(root, "arch", diagnosis->host.machine);
	cJSON_AddNumberToObject(root, "uid", geteuid());
	cJSON_AddBoolToObject(root, "ok", diagnosis->ok);
	cJSON *list = cJSON_AddArrayToObject(root, "probes");
	for (int i = 0; i < PROBE_COUNT; i++)
		add_probe(list, diagnosis, i);
	list = cJSON_AddArrayToObject(root, "sched");
	for (int i = 0; i < SCHED_COUNT; i++)
		add_sched_probe(list, diagnosis, i);
	list = cJSON_AddArrayToObject(root, "capabilities");
	for (int i = CAN_NOTHING + 1; i < CAPABILITY_COUNT; i++)
		add_capability(list, diagnosis, i);
	char *text = cJSON_Print(root);
	cJSON_Delete(root);
	if (!text)
		return -ENOMEM;
	fprintf(out, "%s\n", text);
	cJSON_free(text);
	return 0;
}
