// SPDX-License-Identifier: GPL-2.0-or-later
/* Selects processes by their container or cgroup. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "select/pattern.h"
#include "select/snooper_state.h"

#define DIGITS_MIN	 12
#define CGROUP_BYTES_MAX 4095

void container_snooper_done(struct container_snooper *entry)
{
	free(entry->text);
	free(entry->pod_namespace);
	pattern_free(entry->pattern);
}

/* Copies an id in lower case, without hyphens. */
static int take_id(const char *text, bool hyphens, char id[CONTAINER_ID_BYTES])
{
	size_t count = 0;

	for (; *text; text++) {
		if (*text == '-' && hyphens)
			continue;
		if (!isxdigit((unsigned char)*text) || count == CONTAINER_ID_BYTES - 1)
			return -EINVAL;
		id[count++] = (char)tolower((unsigned char)*text);
	}
	return count < DIGITS_MIN ? -EINVAL : 0;
}

/* "/…/" */
static bool is_pattern(const char *text)
{
	size_t len = strlen(text);

	return len >= 2 && text[0] == '/' && text[len - 1] == '/';
}

static int take_pattern(struct container_snooper *entry, const char *text)
{
	_cleanup_free_ char *inner = strndup(text + 1, strlen(text) - 2);

	if (!inner)
		return -ENOMEM;
	return inner[0] ? pattern_new(&entry->pattern, inner, PATTERN_FOR_NAME) : -EINVAL;
}

/*
 * Checks a path: absolute, without parts that are empty, "." or ".."; a '/' at its end is left out.
 */
static int take_path(struct container_snooper *entry)
{
	char *path = entry->text;
	size_t len = strlen(path);

	if (path[0] != '/')
		return -EINVAL;
	if (len > CGROUP_BYTES_MAX)
		return -E2BIG;
	if (len > 1 && path[len - 1] == '/')
		path[--len] = '\0';
	for (const char *part = path + 1; len > 1 && part;) {
		size_t bytes = strcspn(part, "/");

		if (!bytes || (bytes <= 2 && strspn(part, ".") == bytes))
			return -EINVAL;
		part = part[bytes] ? part + bytes + 1 : NULL;
	}
	return 0;
}

static int take_text(struct container_snooper *entry)
{
	const char *text = entry->text;
	size_t len = strlen(text);

	switch (entry->by) {
	case BY_POD_ID:
		return take_id(text, true, entry->id);
	case BY_CONTAINER_ID:
		return take_id(text, false, entry->id);
	case BY_CGROUP:
		return take_path(entry);
	case BY_CONTAINER_NAME:
	case BY_IMAGE:
		if (is_pattern(text))
			return take_pattern(entry, text);
		if (len >= (entry->by == BY_IMAGE ? CONTAINER_IMAGE_MAX : CONTAINER_NAME_MAX))
			return -E2BIG;
		return !len || text[0] == '/' ||
				       (entry->by == BY_CONTAINER_NAME && strchr(text, '/'))
			       ? -EINVAL
			       : 0;
	default:
		if (len >= CONTAINER_NAME_MAX || strlen(entry->pod_namespace) >= CONTAINER_NAME_MAX)
			return -E2BIG;
		return len ? 0 : -EINVAL;
	}
}

int snoopers_add_container(struct snoopers *snoopers, enum container_by by, const char *text,
			   const char *pod_namespace)
{
	_cleanup_(container_snooper_done) struct container_snooper entry = {
		.by = by,
		.text = strdup(text),
		.pod_namespace = strdup(by == BY_POD && pod_namespace ? pod_namespace : ""),
		.probes = ALL_PROBES,
	};
	int r = entry.text && entry.pod_namespace ? take_text(&entry) : -ENOMEM;

	if (r < 0)
		return r;
	struct container_snooper *entries = reallocarray(
		snoopers->containers, snoopers->containers_count + 1, sizeof(*entries));
	if (!entries)
		return -ENOMEM;
	snoopers->containers = entries;
	entries[snoopers->containers_count++] = entry;
	entry = (struct container_snooper){0};
	return 0;
}

size_t snoopers_containers(const struct snoopers *snoopers,
			   const struct container_snooper **containers)
{
	*containers = snoopers->containers;
	return snoopers->containers_count;
}

bool container_snoopers_equal(const struct container_snooper *a, const struct container_snooper *b)
{
	return a->by == b->by && strcmp(a->text, b->text) == 0 &&
	       strcmp(a->pod_namespace, b->pod_namespace) == 0 && a->probes == b->probes;
}

static bool begins_with(const char *text, const char *start)
{
	return strncmp(text, start, strlen(start)) == 0;
}

/* Matches a pod's id: Podman's pods have ids like containers, Kubernetes' have UIDs. */
static bool pod_id_matches(const char *id, const char *pod_uid)
{
	char digits[CONTAINER_ID_BYTES] = "";
	size_t count = 0;

	for (; *pod_uid && count < sizeof(digits) - 1; pod_uid++) {
		if (*pod_uid != '-')
			digits[count++] = *pod_uid;
	}
	return count == CONTAINER_ID_BYTES - 1 ? begins_with(digits, id) : strcmp(digits, id) == 0;
}

/*
 * Matches a name. One that takes too many steps doesn't match, and costs only itself: else someone
 * who may name a container could keep others from being found.
 */
static bool pattern_matches(const struct container_snooper *entry, const char *name)
{
	return name[0] && pattern_match(entry->pattern, name, PATTERN_FOR_NAME) == 1;
}

/*
 * Returns whether the first `len` bytes of an image's name are `text`, or end with '/' and `text`.
 */
static bool ends_with(const char *image, size_t len, const char *text)
{
	size_t bytes = strlen(text);

	return len >= bytes && memcmp(image + len - bytes, text, bytes) == 0 &&
	       (len == bytes || image[len - bytes - 1] == '/');
}

/* Matches registry:port/path/name:tag@digest; all parts but the name may be left out. */
static bool image_matches(const struct container_snooper *entry, const char *image)
{
	size_t len = strlen(image), undigested = strcspn(image, "@"), name = undigested;

	if (entry->pattern)
		return pattern_matches(entry, image);
	while (name && image[name - 1] != ':' && image[name - 1] != '/')
		name--;
	size_t untagged = name && image[name - 1] == ':' ? name - 1 : undigested;
	return len &&
	       (ends_with(image, len, entry->text) || ends_with(image, undigested, entry->text) ||
		ends_with(image, untagged, entry->text));
}

static bool is_below(const char *cgroup, const char *path)
{
	size_t len = strlen(path);

	if (!path[1])
		return true;
	return strncmp(cgroup, path, len) == 0 && (!cgroup[len] || cgroup[len] == '/');
}

static bool entry_matches(const struct container_snooper *entry, const struct identity *who)
{
	const struct container *container = who->container;

	if (entry->by == BY_CGROUP)
		return who->cgroup && who->cgroup[0] && is_below(who->cgroup, entry->text);
	if (!container)
		return false;
	switch (entry->by) {
	case BY_POD_ID:
		return pod_id_matches(entry->id, container->place.pod_uid);
	case BY_CONTAINER_ID:
		return begins_with(container->place.id, entry->id) ||
		       begins_with(container->place.outer, entry->id);
	case BY_CONTAINER_NAME:
		return entry->pattern ? pattern_matches(entry, container->name)
				      : strcmp(container->name, entry->text) == 0;
	case BY_POD:
		return strcmp(container->pod, entry->text) == 0 &&
		       (!entry->pod_namespace[0] ||
			strcmp(container->pod_namespace, entry->pod_namespace) == 0);
	case BY_IMAGE:
		return image_matches(entry, container->image);
	default:
		return false;
	}
}

/*
 * Returns whether what its runtime knows may make a difference. Some runtimes' cgroups name the
 * pod.
 */
static bool needs_names(const struct container_snooper *entry, const struct container *container)
{
	return entry->by == BY_CONTAINER_NAME || entry->by == BY_POD || entry->by == BY_IMAGE ||
	       (entry->by == BY_POD_ID && !container->place.pod_uid[0]);
}

void snoopers_match_container(const struct snoopers *snoopers, const struct identity *who,
			      struct match *match)
{
	*match = (struct match){0};
	for (size_t i = 0; i < snoopers->containers_count; i++) {
		struct container_snooper *entry = &snoopers->containers[i];

		if (entry_matches(entry, who))
			match->probes |= entry->probes;
		else if (who->container && who->unnamed && needs_names(entry, who->container))
			match->unnamed |= entry->probes;
	}
	match->unnamed &= ~match->probes;
}
