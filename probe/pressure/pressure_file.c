// SPDX-License-Identifier: GPL-2.0-or-later
#include "pressure/pressure_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "pressure/pressure_total.h"

#define HOST "/proc/pressure"
/* The windows that the kernel allows without CAP_SYS_RESOURCE are multiples of it (Linux 6.5). */
#define FREE_WINDOW_US 2000000

/* Where the v2 hierarchy of cgroups is, alone or beside those of v1: the places that systemd has.
 */
static const char *const hierarchies[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};

struct pressure_path {
	char folder[PRESSURE_CGROUP_BYTES + 64];
	char file[PRESSURE_CGROUP_BYTES + 96];
};

/* Returns where the v2 hierarchy is; NULL: the host has none. */
static const char *find_hierarchy(void)
{
	struct statfs stat;

	for (size_t i = 0; i < ARRAY_SIZE(hierarchies); i++) {
		if (statfs(hierarchies[i], &stat) == 0 && stat.f_type == CGROUP2_SUPER_MAGIC)
			return hierarchies[i];
	}
	return NULL;
}

/* Returns 0, or -EOPNOTSUPP: cgroups have no pressure here. */
static int make_path(const struct pressure_text *text, struct pressure_path *path, struct why *why)
{
	const char *name = pressure_name(text->on), *hierarchy;

	if (!text->cgroup[0]) {
		snprintf(path->folder, sizeof(path->folder), HOST);
		snprintf(path->file, sizeof(path->file), HOST "/%s", name);
		return 0;
	}
	hierarchy = find_hierarchy();
	if (!hierarchy) {
		why_set(why, "this host has no v2 hierarchy of cgroups, neither at %s nor at %s",
			hierarchies[0], hierarchies[1]);
		return -EOPNOTSUPP;
	}
	snprintf(path->folder, sizeof(path->folder), "%s%s", hierarchy, text->cgroup);
	snprintf(path->file, sizeof(path->file), "%s/%s.pressure", path->folder, name);
	return 0;
}

static int explain_off(struct why *why)
{
	why_set(why,
		"this kernel measures no pressure (PSI): " HOST " isn't there, or says nothing. "
		"It is built without CONFIG_PSI, or psi=1 isn't on its command line");
	return -EOPNOTSUPP;
}

/* Says why a file isn't there. */
static int explain_missing(const struct pressure_text *text, const struct pressure_path *path,
			   struct why *why)
{
	if (access(HOST, F_OK) < 0 || !text->cgroup[0])
		return explain_off(why);
	if (access(path->folder, F_OK) < 0) {
		why_set(why, "there is no cgroup %.900s", text->cgroup);
		return -ENOENT;
	}
	why_set(why, "the cgroup %.800s has no file %s.pressure: its cgroup.pressure is 0",
		text->cgroup, pressure_name(text->on));
	return -ENOENT;
}

int pressure_file_open(const struct pressure_text *text, struct why *why)
{
	struct pressure_path path;
	int r = make_path(text, &path, why);

	if (r < 0)
		return r;
	int fd = open(path.file, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0)
		return fd;
	r = -errno;
	if (r == -ENOENT || r == -ENOTDIR)
		return explain_missing(text, &path, why);
	if (r == -EOPNOTSUPP)
		return explain_off(why);
	why_set(why, "%.900s can't be opened: %s", path.file, strerror(-r));
	return r;
}

/* Says why the kernel's trigger can't be had. */
static void explain_refusal(const struct pressure_text *text, int error, struct why *why)
{
	if (error == -EPERM || error == -EACCES)
		why_set(why, "the kernel's trigger takes CAP_SYS_RESOURCE here");
	else if (error == -EINVAL && text->window_us % FREE_WINDOW_US)
		why_set(why,
			"the kernel's trigger takes CAP_SYS_RESOURCE, but for a window of a "
			"multiple of %d us",
			FREE_WINDOW_US);
	else if (error == -EROFS)
		why_set(why, "the kernel's trigger can't be set: the file is mounted read-only");
	else
		why_set(why, "the kernel's trigger can't be set: %s", strerror(-error));
}

int pressure_file_arm(const struct pressure_text *text, struct why *why)
{
	_cleanup_close_ int fd = -1;
	struct pressure_path path;
	char trigger[64];
	int r = make_path(text, &path, why);

	if (r < 0)
		return r;
	int len = snprintf(trigger, sizeof(trigger), "%s %u %u", text->full ? "full" : "some",
			   text->stall_us, text->window_us);
	fd = open(path.file, O_RDWR | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
	/* With the NUL: the kernel puts one over the last byte. */
	if (fd < 0 || write(fd, trigger, (size_t)len + 1) < 0) {
		r = -errno;
		explain_refusal(text, r, why);
		return r;
	}
	return TAKE_FD(fd);
}

int pressure_file_read(int fd, const struct pressure_text *text, uint64_t *total_us,
		       struct why *why)
{
	char content[512];
	ssize_t n = pread(fd, content, sizeof(content) - 1, 0);
	int r = n < 0 ? -errno : 0;

	if (r == -EOPNOTSUPP)
		return explain_off(why);
	if (r == -ENODEV) {
		why_set(why, "the cgroup %.900s was removed", text->cgroup);
		return r;
	}
	if (r < 0) {
		why_set(why, "the pressure on %s can't be read: %s", pressure_name(text->on),
			strerror(-r));
		return r;
	}
	content[n] = '\0';
	if (pressure_total_read(content, text->full, total_us) == 0)
		return 0;
	why_set(why, "this kernel doesn't measure \"%s\" of %s%s", text->full ? "full" : "some",
		pressure_name(text->on),
		text->on == PRESSURE_ON_CPU ? ", which is there since Linux 5.13" : "");
	return -EOPNOTSUPP;
}
