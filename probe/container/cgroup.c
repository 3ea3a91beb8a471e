// SPDX-License-Identifier: GPL-2.0-or-later
#include "container/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/file.h"

#define ID_DIGITS      64
#define HOST_CGROUP_NS 0xEFFFFFFBu /* include/linux/proc_ns.h: PROC_CGROUP_INIT_INO */
#define FILE_BYTES_MAX (64 << 10)  /* a path has less than 4,096, and there are some 15 lines */

struct text_part {
	const char *at;
	size_t len;
};

/* What is known from the parts of a path that have been read so far. */
struct way {
	struct container_place place;
	struct container_place before; /* `place` before the last part, if this was a bare id */
	bool bare, was_bare;	       /* this part is a bare id; the last part was one */
	char pod[CONTAINER_ID_BYTES];  /* the pod of the container that comes next */
	struct text_part last;	       /* the part before */
	uid_t user;
};

static bool text_is(struct text_part text, const char *word)
{
	return text.len == strlen(word) && !memcmp(text.at, word, text.len);
}

static bool text_begins(struct text_part text, const char *word)
{
	size_t len = strlen(word);

	return text.len >= len && !memcmp(text.at, word, len);
}

/* Cuts `end` off the text. Returns false if the text doesn't end so. */
static bool text_cut(struct text_part *text, const char *end)
{
	size_t len = strlen(end);

	if (text->len < len || memcmp(text->at + text->len - len, end, len) != 0)
		return false;
	text->len -= len;
	return true;
}

/* Takes the text up to `c` out of *rest, and the `c`; all of *rest if it has no `c`. */
static struct text_part text_next(struct text_part *rest, char c)
{
	const char *end = rest->len ? memchr(rest->at, c, rest->len) : NULL;
	struct text_part text = {rest->at, end ? (size_t)(end - rest->at) : rest->len};
	size_t taken = text.len + (end != NULL);

	rest->at += taken;
	rest->len -= taken;
	return text;
}

static bool all_hex(const char *at, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!((at[i] >= '0' && at[i] <= '9') || (at[i] >= 'a' && at[i] <= 'f')))
			return false;
	return true;
}

static void set_id(char id[CONTAINER_ID_BYTES], const char *digits, size_t len)
{
	memset(id, 0, CONTAINER_ID_BYTES);
	memcpy(id, digits, len);
}

/* Reads a pod's UID: 8-4-4-4-12 digits, in slices with '_' for '-'; a static pod's may be 32
 * digits.
 */
static bool uid_read(struct text_part text, char uid[CONTAINER_ID_BYTES])
{
	static const uint8_t hyphens[] = {8, 13, 18, 23};
	char out[CONTAINER_ID_BYTES] = {0};

	if (text.len == 32 && all_hex(text.at, 32)) {
		set_id(uid, text.at, 32);
		return true;
	}
	if (text.len != 36)
		return false;
	memcpy(out, text.at, 36);
	for (size_t i = 0; i < sizeof(hyphens); i++) {
		char *at = &out[hyphens[i]];

		if (*at != '-' && *at != '_')
			return false;
		*at = '0';
	}
	if (!all_hex(out, 36))
		return false;
	for (size_t i = 0; i < sizeof(hyphens); i++)
		out[hyphens[i]] = '-';
	memcpy(uid, out, CONTAINER_ID_BYTES);
	return true;
}

/* Reads a slice's name without ".slice": user-1000, kubepods-burstable-pod<uid>,
 * machine-libpod_pod_<id> */
static void read_slice(struct way *way, struct text_part slice)
{
	static const char podman[] = "libpod_pod_";
	const size_t podman_len = sizeof(podman) - 1 + ID_DIGITS;

	if (text_begins(slice, "user-") && !way->place.id[0]) {
		uint64_t user = 0;
		size_t i;

		for (i = 5; i < slice.len && slice.at[i] >= '0' && slice.at[i] <= '9' && i < 15;
		     i++)
			user = user * 10 + (uint64_t)(slice.at[i] - '0');
		if (i == slice.len && i > 5 && user < UINT32_MAX)
			way->user = (uid_t)user;
	}
	if (slice.len >= podman_len &&
	    !memcmp(slice.at + slice.len - podman_len, podman, sizeof(podman) - 1) &&
	    all_hex(slice.at + slice.len - ID_DIGITS, ID_DIGITS))
		set_id(way->pod, slice.at + slice.len - ID_DIGITS, ID_DIGITS);
	for (size_t len = 32; len <= 36; len += 4)
		if (slice.len >= len + 4 && !memcmp(slice.at + slice.len - len - 4, "-pod", 4) &&
		    uid_read((struct text_part){slice.at + slice.len - len, len}, way->pod))
			return;
}

static void enter_container(struct way *way, enum container_runtime runtime, const char *id)
{
	struct container_place *place = &way->place;

	if (place->id[0] && !place->outer[0] && memcmp(place->id, id, ID_DIGITS) != 0)
		set_id(place->outer, place->id, ID_DIGITS);
	if (!memcmp(place->outer, id, ID_DIGITS)) /* a cgroup of the same id inside the container */
		memset(place->outer, 0, sizeof(place->outer));
	place->runtime = runtime;
	set_id(place->id, id, ID_DIGITS);
	memcpy(place->pod_uid, way->pod, sizeof(place->pod_uid));
	memset(way->pod, 0, sizeof(way->pod));
}

/* Enters a container whose part is a bare id: only the part before may tell the runtime. */
static void enter_bare(struct way *way, const char *id)
{
	if (text_is(way->last, "libpod_parent")) {
		set_id(way->pod, id, ID_DIGITS);
		return;
	}
	way->before = way->place;
	way->bare = true;
	enter_container(way,
			text_is(way->last, "docker") ? CONTAINER_DOCKER
			: text_is(way->last, "default") || text_is(way->last, "k8s.io")
				? CONTAINER_CONTAINERD
				: CONTAINER_OTHER,
			id);
}

/* Enters a container whose part is a runtime's name and an id. */
static void enter_named(struct way *way, struct text_part name, const char *id)
{
	static const struct {
		const char *name;
		enum container_runtime runtime;
	} names[] = {
		{"docker", CONTAINER_DOCKER},
		{"libpod", CONTAINER_PODMAN},
		{"libpod-payload", CONTAINER_PODMAN}, /* --cgroups=split, as of Quadlet */
		{"nerdctl", CONTAINER_CONTAINERD},
		{"cri-containerd", CONTAINER_CONTAINERD},
		{"crio", CONTAINER_CRIO},
	};
	enum container_runtime runtime = CONTAINER_OTHER;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (text_is(name, names[i].name))
			runtime = names[i].runtime;
	/* Below a folder that --cgroup-parent named, a pod's part is a bare id. */
	if (way->was_bare && text_begins(name, "libpod") && way->place.runtime == CONTAINER_OTHER) {
		memcpy(way->pod, way->place.id, sizeof(way->pod));
		way->place = way->before;
	}
	if (text_cut(&name, "-conmon")) /* conmon supervises the container and is outside of it */
		memset(way->pod, 0, sizeof(way->pod));
	else
		enter_container(way, runtime, id);
}

static void read_part(struct way *way, struct text_part part)
{
	struct text_part id = part, slice, name;

	if (text_cut(&part, ".slice")) {
		read_slice(way, part);
		return;
	}
	if (text_begins(part, "pod") &&
	    uid_read((struct text_part){part.at + 3, part.len - 3}, way->pod))
		return;
	/* slice:name:id is runc's argument for a cgroup made by systemd; here it was used as a path
	 */
	slice = text_next(&id, ':');
	name = text_next(&id, ':');
	if (id.len == ID_DIGITS && all_hex(id.at, id.len) && text_cut(&slice, ".slice")) {
		read_slice(way, slice);
		enter_named(way, name, id.at);
		return;
	}
	text_cut(&part, ".scope");
	if (part.len < ID_DIGITS || !all_hex(part.at + part.len - ID_DIGITS, ID_DIGITS))
		return;
	id = (struct text_part){part.at + part.len - ID_DIGITS, ID_DIGITS};
	part.len -= ID_DIGITS;
	if (part.len == 0)
		enter_bare(way, id.at);
	else if (text_cut(&part, "-"))
		enter_named(way, part, id.at);
}

static void read_path(struct text_part path, struct container_place *ret)
{
	struct way way = {.last = {"", 0}};

	while (path.len) {
		struct text_part part = text_next(&path, '/');

		if (part.len == 0)
			continue;
		way.was_bare = way.bare;
		way.bare = false;
		read_part(&way, part);
		way.last = part;
	}
	*ret = way.place;
	if (ret->id[0])
		ret->user = way.user;
}

/* Returns whether the text is a hierarchy's number: digits. */
static bool is_number(struct text_part text)
{
	for (size_t i = 0; i < text.len; i++)
		if (text.at[i] < '0' || text.at[i] > '9')
			return false;
	return text.len > 0;
}

void cgroups_parse(const char *text, size_t len, struct cgroups *ret)
{
	struct text_part rest = {text, len};
	unsigned best = 3; /* v2's line before systemd's of v1, before the others as they come */

	memset(ret, 0, sizeof(*ret));
	while (rest.len) {
		struct text_part line = text_next(&rest, '\n');
		struct text_part number = text_next(&line, ':');
		struct text_part controllers = text_next(&line, ':');
		bool v2 = text_is(number, "0") && controllers.len == 0;
		unsigned rank = v2 ? 0 : text_is(controllers, "name=systemd") ? 1 : 2;
		struct container_place place;

		if (!is_number(number) || !line.len || line.at[0] != '/' ||
		    memchr(line.at, '\0', line.len))
			continue;
		text_cut(&line, " (deleted)");
		if (v2 && !ret->has_v2) {
			ret->has_v2 = true;
			if (line.len < sizeof(ret->path))
				memcpy(ret->path, line.at, line.len);
		}
		if (rank >= best)
			continue;
		read_path(line, &place);
		if (place.id[0]) {
			ret->place = place;
			best = rank;
		}
	}
}

bool cgroups_are_whole(void)
{
	struct stat ours;

	return stat("/proc/self/ns/cgroup", &ours) < 0 || ours.st_ino == HOST_CGROUP_NS;
}

int cgroups_read(pid_t pid, struct cgroups *ret)
{
	_cleanup_buf_ struct buf text = BUF_INIT(FILE_BYTES_MAX);
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)pid);
	int r = file_read(AT_FDCWD, path, &text);
	if (r < 0)
		return r == -ENOENT ? -ESRCH : r;
	cgroups_parse(text.data, text.len, ret);
	if (!cgroups_are_whole())
		ret->path[0] = '\0';
	return 0;
}
