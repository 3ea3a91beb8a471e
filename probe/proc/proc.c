// SPDX-License-Identifier: GPL-2.0-or-later
#include "proc/proc.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
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

/* Fields of proc(5)'s stat behind comm, the first of which is number 3. */
enum stat_field {
	STAT_FLAGS = 9,
	STAT_UTIME = 14,
	STAT_STIME = 15,
	STAT_THREADS = 20,
	STAT_START = 22,
	STAT_RSS = 24
};
#define FLAG_KTHREAD 0x00200000 /* PF_KTHREAD, include/linux/sched.h */

/* Reads the fields behind `at`, the blank before field 3. Returns whether they are all there. */
static bool read_fields(const char *at, struct proc_stat *stat)
{
	uint64_t fields[STAT_RSS + 1] = {0};

	stat->state = at[0] ? at[1] : '\0';
	for (int i = 3; i <= STAT_RSS; i++) {
		if (!at || *at != ' ')
			return false;
		fields[i] = strtoull(at + 1, NULL, 10);
		at = strchr(at + 1, ' ');
	}
	stat->is_kernel = fields[STAT_FLAGS] & FLAG_KTHREAD;
	stat->cpu_ticks = fields[STAT_UTIME] + fields[STAT_STIME];
	stat->threads = fields[STAT_THREADS];
	stat->start_ticks = fields[STAT_START];
	stat->rss_pages = fields[STAT_RSS];
	return true;
}

/* proc(5): `pid (comm) state ppid …`. comm may hold anything, so the last parenthesis counts. */
int proc_stat(pid_t pid, struct proc_stat *stat)
{
	struct proc_stat found = {0};
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
	if (!read_fields(end + 1, &found))
		return -EINVAL;
	memcpy(found.comm, begin + 1, len);
	*stat = found;
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

bool proc_text_moves_clock(const char *text)
{
	const char *monotonic = strstr(text, "monotonic");
	char *end;

	if (!monotonic)
		return false;
	long long seconds = strtoll(monotonic + strlen("monotonic"), &end, 10);
	return seconds != 0 || strtoll(end, NULL, 10) != 0;
}

/* Kernels before 5.6 have no such file. */
bool proc_moves_clock(pid_t pid)
{
	_cleanup_buf_ struct buf text = BUF_INIT(4096);

	if (read_file(pid, "timens_offsets", &text) < 0)
		return false;
	buf_char(&text, '\0');
	return !buf_error(&text) && proc_text_moves_clock(text.data);
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
	struct proc_stat stat = {0};
	int r = proc_stat(pid, &stat);

	return r < 0 ? r == -ESRCH : stat.state == 'Z' || stat.state == 'X';
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

int proc_command(pid_t pid, char *text, size_t bytes, bool *is_cut)
{
	_cleanup_buf_ struct buf line = BUF_INIT(bytes - 1);
	int r = read_file(pid, "cmdline", &line);

	if (r < 0 && r != -ENOSPC)
		return r;
	*is_cut = r == -ENOSPC;
	while (!*is_cut && line.len && !line.data[line.len - 1])
		line.len--;
	for (size_t i = 0; i < line.len; i++)
		text[i] = line.data[i] ? line.data[i] : ' ';
	text[line.len] = '\0';
	return 0;
}

/* Reads the second number of a schedstat file, ns in a queue of a CPU; the first is ns on CPUs, the
 * third how often. All are 0 if the kernel doesn't count them. */
static int read_schedstat(const char *path, uint64_t *wait_ns, uint64_t *times)
{
	_cleanup_buf_ struct buf text = BUF_INIT(STAT_BYTES);
	int r = file_read(AT_FDCWD, path, &text);

	buf_char(&text, '\0');
	if (r < 0 || buf_error(&text))
		return r < 0 ? r : buf_error(&text);
	return sscanf(text.data, "%*u %" SCNu64 " %" SCNu64, wait_ns, times) == 2 ? 0 : -EINVAL;
}

bool proc_counts_waits(void)
{
	uint64_t wait_ns, times;

	return read_schedstat("/proc/thread-self/schedstat", &wait_ns, &times) == 0 && times;
}

/* Calls each(arg, number) for each number in a folder, until each() returns an error. */
static int each_number(const char *path, int (*each)(void *arg, pid_t number), void *arg)
{
	DIR *dir = opendir(path);
	int r = 0;

	if (!dir)
		return -errno;
	for (struct dirent *entry; r == 0 && (entry = readdir(dir));) {
		if (isdigit((unsigned char)entry->d_name[0]))
			r = each(arg, (pid_t)strtol(entry->d_name, NULL, 10));
	}
	closedir(dir);
	return r;
}

struct wait_sum {
	pid_t pid;
	size_t *threads_max;
	uint64_t *wait_ns;
};

static int add_thread(void *arg, pid_t tid)
{
	const struct wait_sum *sum = arg;
	uint64_t wait_ns, times;
	char path[64];

	if (!*sum->threads_max)
		return -E2BIG;
	--*sum->threads_max;
	snprintf(path, sizeof(path), "/proc/%d/task/%d/schedstat", (int)sum->pid, (int)tid);
	if (read_schedstat(path, &wait_ns, &times) == 0) /* else it has ended */
		*sum->wait_ns += wait_ns;
	return 0;
}

int proc_wait_ns(pid_t pid, size_t *threads_max, uint64_t *wait_ns)
{
	struct wait_sum sum = {pid, threads_max, wait_ns};
	char path[32];

	*wait_ns = 0;
	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	int r = each_number(path, add_thread, &sum);
	return r == -ENOENT ? -ESRCH : r;
}

struct every_process {
	void (*each)(void *arg, pid_t pid);
	void *arg;
};

static int give_process(void *arg, pid_t pid)
{
	const struct every_process *every = arg;

	every->each(every->arg, pid);
	return 0;
}

int proc_each(void (*each)(void *arg, pid_t pid), void *arg)
{
	return each_number("/proc", give_process, &(struct every_process){each, arg});
}
