// SPDX-License-Identifier: GPL-2.0-or-later
#include "proc/proc.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/hash.h"

#define STAT_BYTES    4096
#define MAP_BYTES     65536 /* 340 lines at most */
#define CMDLINE_BYTES (128 * 1024)

static int read_file(pid_t pid, const char *name, struct buf *out)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	int r = file_read(AT_FDCWD, path, out);
	return r == -ENOENT ? -ESRCH : r;
}

/* proc(5): `pid (comm) state ppid …`, start time is field 22. comm may hold anything, so the
 * last parenthesis counts. */
int proc_stat(pid_t pid, struct proc_stat *stat)
{
	_cleanup_buf_ struct buf text = BUF_INIT(STAT_BYTES);
	int r = read_file(pid, "stat", &text);

	if (r == 0)
		buf_char(&text, '\0');
	if (r < 0 || buf_error(&text))
		return r < 0 ? r : buf_error(&text);
	char *begin = strchr(text.data, '('), *end = strrchr(text.data, ')');
	if (!begin || !end || end < begin)
		return -EINVAL;
	size_t len = (size_t)(end - begin) - 1;
	if (len >= sizeof(stat->comm))
		len = sizeof(stat->comm) - 1; /* kernel threads' names may be longer */
	const char *field = end + 1;
	for (int i = 3; i < 22 && field; i++) /* from the blank before field 3 to that before 22 */
		field = strchr(field + 1, ' ');
	if (!field)
		return -EINVAL;
	*stat = (struct proc_stat){0};
	memcpy(stat->comm, begin + 1, len);
	stat->start_ticks = strtoull(field, NULL, 10);
	return 0;
}

/* Finds a line of proc(5)'s status, such as `Tgid:\t123`. The process can't forge one: line ends
 * are escaped in `Name:` before it. */
static int status_line(pid_t pid, const char *key, struct buf *text, char **line)
{
	int r = read_file(pid, "status", text);

	if (r == 0)
		buf_char(text, '\0');
	if (r < 0 || buf_error(text))
		return r < 0 ? r : buf_error(text);
	*line = strstr(text->data, key);
	if (!*line)
		return -EINVAL;
	*line += strlen(key);
	(*line)[strcspn(*line, "\n")] = '\0';
	return 0;
}

static int status_number(pid_t pid, const char *key, pid_t *number)
{
	_cleanup_buf_ struct buf text = BUF_INIT(STAT_BYTES * 4);
	char *line = NULL;
	int r = status_line(pid, key, &text, &line);

	if (r < 0 || !line)
		return r;
	const char *last = strrchr(line, '\t');
	*number = (pid_t)strtol(last ? last : line, NULL, 10);
	return 0;
}

int proc_uid(pid_t pid, uid_t *uid)
{
	_cleanup_buf_ struct buf text = BUF_INIT(STAT_BYTES * 4);
	char *line = NULL;
	int r = status_line(pid, "\nUid:", &text, &line);

	if (r == 0 && line)
		*uid = (uid_t)strtoul(line, NULL, 10); /* real, effective, saved, of files */
	return r;
}

static ino_t mounts_of(pid_t pid)
{
	struct stat stat_;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/ns/mnt", (int)pid);
	return stat(path, &stat_) < 0 ? 0 : stat_.st_ino;
}

uint32_t proc_mounts(pid_t pid)
{
	ino_t its = mounts_of(pid);

	return its == mounts_of(1) ? 0 : (uint32_t)its;
}

int proc_tgid(pid_t tid, pid_t *tgid)
{
	return status_number(tid, "\nTgid:", tgid);
}

/* NSpid lists pids from the reader's namespace down to the process's own, which is the last. */
int proc_ns_pid(pid_t pid, pid_t *ns_pid)
{
	return status_number(pid, "\nNSpid:", ns_pid);
}

static bool is_in_our_users(pid_t pid)
{
	struct stat its, ours;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)pid);
	return stat(path, &its) == 0 && stat("/proc/self/ns/user", &ours) == 0 &&
	       its.st_dev == ours.st_dev && its.st_ino == ours.st_ino;
}

/* Finds who is root in the process's user namespace. user_namespaces(7): lines of `inner outer
 * count`; `outer` is a number of the reader's namespace (or of its parent, if both are in the same:
 * root is 0 then). */
static int namespace_root(pid_t pid, uid_t *root)
{
	_cleanup_buf_ struct buf text = BUF_INIT(MAP_BYTES);
	unsigned long inner, outer, count;

	*root = 0;
	if (is_in_our_users(pid))
		return 0;
	int r = read_file(pid, "uid_map", &text);
	buf_char(&text, '\0');
	if (r < 0 || buf_error(&text))
		return r < 0 ? r : buf_error(&text);
	*root = (uid_t)-1;
	for (const char *line = text.data; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (sscanf(line, "%lu %lu %lu", &inner, &outer, &count) == 3 && inner == 0)
			*root = (uid_t)outer;
	}
	return 0;
}

int proc_owners(pid_t pid, uid_t *user, uid_t *root)
{
	_cleanup_buf_ struct buf text = BUF_INIT(STAT_BYTES * 4);
	unsigned long effective;
	int r = read_file(pid, "status", &text);

	buf_char(&text, '\0');
	if (r < 0 || buf_error(&text))
		return r < 0 ? r : buf_error(&text);
	const char *uids = strstr(text.data, "\nUid:");
	if (!uids || sscanf(uids, "\nUid: %*u %lu", &effective) != 1)
		return -EINVAL;
	*user = (uid_t)effective;
	return namespace_root(pid, root);
}

uint64_t proc_program(pid_t pid)
{
	_cleanup_buf_ struct buf auxv = BUF_INIT(STAT_BYTES);

	if (read_file(pid, "auxv", &auxv) < 0 || !auxv.len)
		return 0;
	return hash_bytes(1, auxv.data, auxv.len) | 1;
}

/* The first pid namespace has a fixed inode: PROC_PID_INIT_INO in the kernel's proc_ns.h (5.10). */
bool proc_pids_are_the_hosts(void)
{
	struct stat space;

	return stat("/proc/self/ns/pid", &space) < 0 || space.st_ino == 0xEFFFFFFCu;
}

int proc_comm(pid_t pid, char comm[PROC_COMM_BYTES])
{
	_cleanup_buf_ struct buf text = BUF_INIT(STAT_BYTES);
	int r = read_file(pid, "comm", &text);

	if (r < 0 || buf_error(&text))
		return r < 0 ? r : buf_error(&text);
	size_t len = text.len ? text.len - 1 : 0; /* without the line end */
	if (len >= PROC_COMM_BYTES)
		len = PROC_COMM_BYTES - 1;
	memcpy(comm, text.data, len);
	comm[len] = '\0';
	return 0;
}

int proc_program_name(pid_t pid, char name[PROC_COMM_BYTES])
{
	char link[32], path[PATH_MAX];

	snprintf(link, sizeof(link), "/proc/%d/exe", (int)pid);
	ssize_t len = readlink(link, path, sizeof(path) - 1);
	if (len < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	path[len] = '\0';
	const char *slash = strrchr(path, '/');
	snprintf(name, PROC_COMM_BYTES, "%.*s", PROC_COMM_BYTES - 1, slash ? slash + 1 : path);
	return 0;
}

uint64_t proc_ticks_of_ns(uint64_t start_boottime_ns)
{
	return start_boottime_ns / (1000000000ULL / (uint64_t)sysconf(_SC_CLK_TCK));
}

static int64_t clock_ms(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

uint64_t proc_epoch_ms_of_ticks(uint64_t start_ticks)
{
	static atomic_int_fast64_t boot_ms; /* since 1970, by the wall clock; 0: not yet */
	int64_t known = atomic_load(&boot_ms);
	int64_t now = clock_ms(CLOCK_REALTIME) - clock_ms(CLOCK_BOOTTIME);

	if (!known || llabs(now - known) > 500)
		atomic_store(&boot_ms, known = now);
	return (uint64_t)known + start_ticks * 1000 / (uint64_t)sysconf(_SC_CLK_TCK);
}

/* Returns whether the process has ended, and its parent may not know yet. */
static bool has_ended(pid_t pid)
{
	_cleanup_buf_ struct buf text = BUF_INIT(STAT_BYTES);
	int r = read_file(pid, "stat", &text);
	const char *state = r < 0 ? NULL : memrchr(text.data, ')', text.len);

	if (!state)
		return r == -ESRCH;
	return memcmp(state, ") Z", 3) == 0 || memcmp(state, ") X", 3) == 0;
}

int proc_cmdline_contains(pid_t pid, const char *needle, bool *found)
{
	_cleanup_buf_ struct buf text = BUF_INIT(CMDLINE_BYTES);
	int r = read_file(pid, "cmdline", &text);

	if (r < 0 && r != -ENOSPC) /* bytes past CMDLINE_BYTES aren't searched */
		return r;
	if (!text.len && has_ended(pid))
		return -ESRCH;
	for (size_t i = 0; i < text.len; i++) {
		if (!text.data[i])
			text.data[i] = ' ';
	}
	*found = memmem(text.data, text.len, needle, strlen(needle)) != NULL;
	return 0;
}

int proc_each(void (*each)(void *arg, pid_t pid), void *arg)
{
	DIR *dir = opendir("/proc");

	if (!dir)
		return -errno;
	for (struct dirent *entry; (entry = readdir(dir));) {
		if (isdigit((unsigned char)entry->d_name[0]))
			each(arg, (pid_t)strtol(entry->d_name, NULL, 10));
	}
	closedir(dir);
	return 0;
}
