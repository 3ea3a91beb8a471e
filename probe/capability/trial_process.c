// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Trials of reading other processes: of other users' processes if there are any, as these are the
 * hard ones, else of our own user's.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "proc/foreign.h"
#include "proc/maps.h"
#include "proc/proc.h"
#include "capability/trial.h"

#define PF_KTHREAD 0x00200000 /* include/linux/sched.h of the kernel */

#define TRIES_MAX  32

/* The processes to try: `others` if there are any, else `own`. */
struct trial_processes {
	pid_t own[TRIES_MAX], others[TRIES_MAX];
	int own_count, others_count;
};

/* Whether the process has user code, so is no kernel thread and no zombie: proc(5), flags are field
 * 9. */
static bool has_user_half(pid_t pid)
{
	_cleanup_buf_ struct buf text = BUF_INIT(4096);
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	int r = file_read(AT_FDCWD, path, &text);
	buf_char(&text, '\0');
	if (r < 0 || buf_error(&text))
		return false;
	const char *field = strrchr(text.data, ')');
	char state = field ? field[2] : 'Z';
	for (int i = 2; i < 9 && field; i++)
		field = strchr(field + 1, ' ');
	return field && state != 'Z' && !(strtoul(field, NULL, 10) & PF_KTHREAD);
}

static void consider_process(void *arg, pid_t pid)
{
	struct trial_processes *choice = arg;
	char path[64];
	struct stat status;

	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	if (pid == getpid() || stat(path, &status) < 0 || !has_user_half(pid))
		return;
	if (status.st_uid != geteuid() && choice->others_count < TRIES_MAX)
		choice->others[choice->others_count++] = pid;
	else if (status.st_uid == geteuid() && choice->own_count < TRIES_MAX)
		choice->own[choice->own_count++] = pid;
}

struct trial_answers {
	int good, limited, bad;
	pid_t refused; /* the last bad process */
	int error;     /* the errno of the last bad process */
};

static void report_answers(const struct trial_answers *answers, const char *what, const char *limit,
			   const char *whose, struct finding *finding)
{
	int all = answers->good + answers->limited + answers->bad;

	if (all == 0)
		finding_set(finding, FINDING_LIMITED, "there is no other process to try it with");
	else if (answers->bad > all / 2)
		finding_set(finding, FINDING_NO, "%s of %d of %d processes%s can't be read: %s",
			    what, answers->bad, all, whose, error_words(answers->error));
	else if (answers->limited)
		finding_set(finding, FINDING_LIMITED, "%s", limit);
	else if (answers->bad)
		finding_set(finding, FINDING_YES, "%s of %d processes%s; not of process %d: %s",
			    what, answers->good, whose, (int)answers->refused,
			    error_words(answers->error));
	else
		finding_set(finding, FINDING_YES, "%s of %d processes%s", what, all, whose);
}

/* Calls ask() for each process. ask() returns 0, 1 (allowed with a limit), or a negative errno
 * (-ESRCH, -ENOENT: the process has ended). */
static void ask_each(int (*ask)(pid_t pid), const char *what, const char *limit,
		     struct finding *finding)
{
	struct trial_processes choice = {0};
	struct trial_answers answers = {0};
	int r = proc_each(consider_process, &choice);
	bool others = choice.others_count > 0;

	if (r < 0) {
		finding_set(finding, FINDING_NO, "/proc can't be read: %s", error_words(-r));
		return;
	}
	for (int i = 0; i < (others ? choice.others_count : choice.own_count); i++) {
		pid_t pid = others ? choice.others[i] : choice.own[i];
		int answer = ask(pid);

		answers.good += answer == 0;
		answers.limited += answer > 0;
		if (answer >= 0 || answer == -ESRCH || answer == -ENOENT)
			continue;
		answers.bad++;
		answers.error = -answer;
		answers.refused = pid;
	}
	report_answers(&answers, what, limit, others ? " of other users" : "", finding);
}

void trial_visible(enum capability which, struct finding *finding)
{
	/* Process 1 is in each pid namespace; kernel threads are in the first one's /proc only. */
	bool lives = kill(1, 0) == 0 || errno == EPERM;

	(void)which;
	if (access("/proc/self/stat", R_OK) < 0) {
		finding_set(finding, FINDING_NO, "/proc is not mounted");
		snprintf(finding->remedy, sizeof(finding->remedy), "mount -t proc proc /proc");
	} else if (lives && access("/proc/1/stat", R_OK) < 0) {
		finding_set(finding, FINDING_NO, "process 1 lives, but /proc hides it (hidepid)");
	} else {
		finding_set(finding, FINDING_YES, "/proc shows process 1, which is another's");
	}
}

static int ask_maps(pid_t pid)
{
	struct maps maps = {0};
	int r = maps_read(pid, 0, &maps);

	maps_done(&maps);
	return r;
}

void trial_maps(enum capability which, struct finding *finding)
{
	(void)which;
	ask_each(ask_maps, "the mappings", "", finding);
}

/* Opens the file of the first mapping of a regular file: opening other files (devices) may have
 * effects. Returns the descriptor, or a negative errno: -ENOENT if there is no such mapping. */
static int open_mapping(int folder_fd, DIR *folder)
{
	static const struct foreign_rules anybodys;

	for (struct dirent *entry; (entry = readdir(folder));) {
		if (entry->d_name[0] == '.')
			continue;
		_cleanup_close_ int found = openat(folder_fd, entry->d_name, O_PATH | O_CLOEXEC);
		if (found < 0)
			return -errno;
		int fd = foreign_open_found(found, &anybodys, NULL);
		if (fd != -EINVAL && fd != -ENODEV)
			return fd;
	}
	return -ENOENT;
}

/* Opens the file of a mapping. If that isn't allowed, opens the process's root folder instead:
 * returns 1. */
static int ask_mapped(pid_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/map_files", (int)pid);
	DIR *folder = opendir(path);
	if (!folder)
		return -errno;
	int fd = open_mapping(dirfd(folder), folder);
	closedir(folder);
	if (fd >= 0) {
		close(fd);
		return 0;
	}
	if (fd != -EPERM && fd != -EACCES)
		return fd; /* the process is ending */
	snprintf(path, sizeof(path), "/proc/%d/root", (int)pid);
	_cleanup_close_ int root_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return root_fd >= 0 ? 1 : fd;
}

void trial_mapped_file(enum capability which, struct finding *finding)
{
	(void)which;
	ask_each(ask_mapped, "the mapped files",
		 "files can be opened by path only, not once they are deleted or replaced",
		 finding);
	if (!privilege_held(CAP_SYS_PTRACE))
		finding_set_remedy(finding, privilege_held(NUMBER_RESTORE)
						    ? "run as root, or add CAP_SYS_PTRACE"
						    : "run as root, or add CAP_SYS_PTRACE and "
						      "CAP_CHECKPOINT_RESTORE");
}

static int ask_memory(pid_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : 0;
}

void trial_memory(enum capability which, struct finding *finding)
{
	(void)which;
	ask_each(ask_memory, "the memory", "", finding);
}
