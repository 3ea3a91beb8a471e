// SPDX-License-Identifier: GPL-2.0-or-later
/* Opens a process's perf map as the process sees it, and checks that the map belongs to the
 * process's user and isn't older than the process. */
#include "symbol/perfmap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "proc/foreign.h"
#include "proc/proc.h"

/* File systems' clock stands still between ticks: a file that a process makes at once seems older
 * than the process, by two ticks (8 ms of 4 were measured) and by more where a virtual machine's
 * ticks come late. No pid is used again so soon that another process's map could pass. */
#define FILE_CLOCK_LAG_NS (100 * (int64_t)NS_PER_MS)

static int read_proc(pid_t pid, const char *name, char *to, size_t bytes, size_t *len)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : file_read_up_to(fd, to, bytes, len);
}

/* Reads the process's effective user, and its pid in its own pid namespace. */
static bool read_status(pid_t pid, uid_t *uid, pid_t *inner)
{
	unsigned long effective;
	char text[4096];
	size_t len = 0;

	if (read_proc(pid, "status", text, sizeof(text) - 1, &len) < 0)
		return false;
	text[len] = '\0';
	const char *uids = strstr(text, "\nUid:"), *pids = strstr(text, "\nNSpid:");
	if (!uids || sscanf(uids, "\nUid: %*u %lu", &effective) != 1)
		return false;
	*uid = (uid_t)effective;
	*inner = pid;
	if (pids) {
		size_t line = strcspn(++pids, "\n");

		while (line && pids[line - 1] >= '0' && pids[line - 1] <= '9')
			line--;
		*inner = (pid_t)strtol(pids + line, NULL, 10);
	}
	return *inner > 0;
}

/* Returns when the process started, by file systems' clock, or an earlier time. */
static int64_t since_start(uint64_t start_ticks)
{
	return (int64_t)(clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_BOOTTIME)) - FILE_CLOCK_LAG_NS +
	       (int64_t)start_ticks * ((int64_t)NS_PER_S / sysconf(_SC_CLK_TCK));
}

/* Returns the time of the exec, or a later time, by the wall clock: an id is CLOCK_MONOTONIC, ns.
 */
static int64_t since_id(uint64_t id)
{
	return (int64_t)(clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_MONOTONIC)) + (int64_t)id;
}

static bool is_from_before(int fd, int64_t since)
{
	struct statx stat;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_BTIME | STATX_MTIME, &stat) < 0)
		return true;
	const struct statx_timestamp *made =
		stat.stx_mask & STATX_BTIME ? &stat.stx_btime : &stat.stx_mtime;
	return made->tv_sec * (int64_t)NS_PER_S + made->tv_nsec < since;
}

/* Opens the map; no link below /tmp is followed. */
static int open_own(int root_fd, const char *path, uid_t uid, struct stat *stat)
{
	const struct foreign map = {
		.root_fd = root_fd,
		.path = path,
		.links = FOREIGN_LAST_FILE,
		.rules = {.owners = &uid, .owners_count = 1},
	};
	int fd = foreign_open(&map, stat);

	return fd == -ELOOP || fd == -EINVAL || fd == -ENODEV ? -EPERM : fd;
}

int perfmap_open(const struct perfmap_process *process, struct perfmap_found *found)
{
	struct proc_stat now;
	struct stat stat;
	char path[64];
	pid_t inner;
	uid_t uid;

	snprintf(path, sizeof(path), "/proc/%d/root", (int)process->pid);
	_cleanup_close_ int root_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root_fd < 0 || !read_status(process->pid, &uid, &inner) ||
	    proc_stat(process->pid, &now) < 0 || now.start_ticks != process->start_ticks)
		return -ESRCH;
	uint64_t program = proc_program(process->pid);
	int64_t since = since_start(process->start_ticks);
	if (found->program && program && found->program != program && since_id(process->id) > since)
		since = since_id(process->id);
	snprintf(path, sizeof(path), "tmp/perf-%d.map", (int)inner);
	int fd = open_own(root_fd, path, uid, &stat);
	if (fd < 0)
		return fd;
	*found = (struct perfmap_found){
		.device = stat.st_dev,
		.inode = stat.st_ino,
		.bytes = (uint64_t)stat.st_size,
		.program = program ? program : found->program,
		.is_older = is_from_before(fd, since),
	};
	return fd;
}
