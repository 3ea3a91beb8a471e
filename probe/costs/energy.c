// SPDX-License-Identifier: GPL-2.0-or-later
#include "costs/energy.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/file.h"

/* Zones of the MSR; "intel-rapl-mmio:…" counts the same packages again. AMD's have this name, too.
 */
#define ZONE_PREFIX "intel-rapl:"
#define PACKAGE	    "package-"

struct zone {
	char folder[64]; /* "intel-rapl:0:1" */
	uint64_t last_uj, range_uj;
	bool is_read; /* last_uj is known */
};

struct energy {
	char root[64];
	struct zone zones[ENERGY_ZONES]; /* as in `counts` */
	struct energy_counts counts;
};

static int read_text(const char *root, const char *folder, const char *file, char *text,
		     size_t bytes)
{
	_cleanup_buf_ struct buf content = BUF_INIT(64);
	char path[160];

	snprintf(path, sizeof(path), "%s/%s/%s", root, folder, file);
	int r = file_read(AT_FDCWD, path, &content);
	if (r < 0)
		return r;
	while (content.len && content.data[content.len - 1] == '\n')
		content.len--;
	snprintf(text, bytes, "%.*s", (int)content.len, content.len ? content.data : "");
	return 0;
}

static int read_number(const char *root, const char *folder, const char *file, uint64_t *number)
{
	char text[32], *end;
	int r = read_text(root, folder, file, text, sizeof(text));

	if (r < 0)
		return r;
	errno = 0;
	*number = strtoull(text, &end, 10);
	return errno || end == text || *end ? -EBADMSG : 0;
}

/* Names a zone: "package-0", and below it "package-0/dram". */
static int name_zone(const char *root, const char *folder, char name[ENERGY_NAME])
{
	char own[ENERGY_NAME / 2], package[ENERGY_NAME / 2], parent[64];
	const char *second = strchr(folder + strlen(ZONE_PREFIX), ':');
	int r = read_text(root, folder, "name", own, sizeof(own));

	if (r == 0 && second) {
		snprintf(parent, sizeof(parent), "%.*s", (int)(second - folder), folder);
		r = read_text(root, parent, "name", package, sizeof(package));
	}
	if (r < 0)
		return r;
	snprintf(name, ENERGY_NAME, "%s%s%s", second ? package : "", second ? "/" : "", own);
	for (char *at = name; *at; at++) { /* it becomes a label */
		if (*at < ' ' || *at >= 0x7f || *at == '"' || *at == '\\')
			*at = '?';
	}
	return 0;
}

static void add_zone(struct energy *energy, const char *folder)
{
	struct energy_counts *counts = &energy->counts;
	struct zone *zone = &energy->zones[counts->count];
	uint64_t uj;

	if (counts->count == ENERGY_ZONES || strlen(folder) >= sizeof(zone->folder) ||
	    name_zone(energy->root, folder, counts->zones[counts->count].name) < 0 ||
	    read_number(energy->root, folder, "energy_uj", &uj) < 0)
		return;
	*zone = (struct zone){0};
	snprintf(zone->folder, sizeof(zone->folder), "%s", folder);
	if (read_number(energy->root, folder, "max_energy_range_uj", &zone->range_uj) < 0)
		zone->range_uj = 0;
	counts->count++;
}

static int compare_entries(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int is_zone(const struct dirent *entry)
{
	return strncmp(entry->d_name, ZONE_PREFIX, strlen(ZONE_PREFIX)) == 0;
}

static int find_zones(struct energy *energy, const char *root)
{
	struct dirent **entries;

	snprintf(energy->root, sizeof(energy->root), "%s", root);
	int count = scandir(root, &entries, is_zone, compare_entries);
	if (count < 0)
		return -errno;
	for (int i = 0; i < count; i++) {
		add_zone(energy, entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
	return energy->counts.count ? 0 : -ENOENT;
}

int energy_open(struct energy **ret, const char *root)
{
	struct energy *energy = calloc(1, sizeof(*energy));

	if (!energy)
		return -ENOMEM;
	int r = find_zones(energy, root);
	if (r < 0)
		energy_close(energy);
	else
		*ret = energy;
	return r;
}

void energy_close(struct energy *energy)
{
	free(energy);
}

static void read_zone(const struct energy *energy, struct zone *zone, uint64_t *sum_uj)
{
	uint64_t now_uj;

	if (read_number(energy->root, zone->folder, "energy_uj", &now_uj) < 0)
		return;
	if (zone->is_read && now_uj >= zone->last_uj)
		*sum_uj += now_uj - zone->last_uj;
	else if (zone->is_read && zone->range_uj >= zone->last_uj)
		*sum_uj += zone->range_uj - zone->last_uj + now_uj; /* it began again at 0 */
	zone->last_uj = now_uj;
	zone->is_read = true;
}

void energy_read(struct energy *energy, uint64_t now_ns)
{
	struct energy_counts *counts = &energy->counts;

	if (counts->time_ns && now_ns < counts->time_ns + ENERGY_EVERY_NS)
		return;
	for (unsigned i = 0; i < counts->count; i++)
		read_zone(energy, &energy->zones[i], &counts->zones[i].uj);
	counts->time_ns = now_ns;
}

const struct energy_counts *energy_counts(const struct energy *energy)
{
	return &energy->counts;
}

void energy_subtract(struct energy_counts *counts, const struct energy_counts *before)
{
	counts->time_ns = before->time_ns && counts->time_ns > before->time_ns
				  ? counts->time_ns - before->time_ns
				  : 0;
	for (unsigned i = 0; i < counts->count && i < before->count; i++)
		counts->zones[i].uj -= before->zones[i].uj;
}

uint64_t energy_of_packages(const struct energy_counts *counts)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < counts->count; i++) {
		const char *name = counts->zones[i].name;

		if (strncmp(name, PACKAGE, strlen(PACKAGE)) == 0 && !strchr(name, '/'))
			sum += counts->zones[i].uj;
	}
	return sum;
}
