// SPDX-License-Identifier: GPL-2.0-or-later
/* The data folder in the target's /tmp. The child has the target's user, so it can do nothing that
 * the target couldn't do. Still no link is followed: not even the target's own files are written.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <poll.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bpf/shared/probe.h"
#include "base/cleanup.h"
#include "jvm_agent/format.h"
#include "java/attach/attach_state.h"

#define TRIES	    5 /* to write the file, beside other readers */
#define FOLDER_MODE 0700
#define AGENT_MODE  0700
#define POLL_MS	    20

static bool dialogue_fail(struct attach_dialogue *mine, enum attach_result result, int error)
{
	mine->answer.result = result;
	mine->answer.error = error;
	return false;
}

void attach_name(char name[ATTACH_NAME_BYTES], const char *prefix, uint64_t number)
{
	char digits[24];
	size_t count = 0, len = strlen(prefix);

	do {
		digits[count++] = (char)('0' + number % 10);
		number /= 10;
	} while (number);
	if (len + count >= ATTACH_NAME_BYTES)
		len = 0;
	memcpy(name, prefix, len);
	while (count)
		name[len++] = digits[--count];
	name[len] = '\0';
}

bool attach_is_jfr(enum attach_task task)
{
	return task == ATTACH_JFR_START || task == ATTACH_JFR_DUMP || task == ATTACH_JFR_STOP;
}

bool attach_has_jfr(void)
{
	return &jfr_agent_image[0] < &jfr_agent_image_end[0];
}

/* Sets [*at, *end) to the bytes of the task's agent. */
static void image_of(enum attach_task task, const char **at, const char **end)
{
	bool jfr = attach_is_jfr(task);

	*at = jfr ? jfr_agent_image : jvm_agent_image;
	*end = jfr ? jfr_agent_image_end : jvm_agent_image_end;
}

void attach_agent_name(char name[ATTACH_NAME_BYTES], enum attach_task task)
{
	uint64_t sum = 14695981039346656037ULL;
	const char *at, *end;

	for (image_of(task, &at, &end); at < end; at++)
		sum = (sum ^ (uint8_t)*at) * 1099511628211ULL;
	attach_name(name, attach_is_jfr(task) ? "stackprobe-jfr-" : "stackprobe-agent-", sum);
	if (attach_is_jfr(task))
		memcpy(name + strlen(name), ".jar", sizeof(".jar"));
	else
		memcpy(name + strlen(name), ".so", sizeof(".so"));
}

/* Returns whether other users can't replace a folder that the target's user has in `tmp`: else they
 * could do so while the VM loads the agent from that folder. */
static bool is_safe(const struct attach_process *process, const struct stat *tmp)
{
	if (tmp->st_uid != 0 && tmp->st_uid != process->uid && tmp->st_uid != process->root_uid)
		return false;
	return !(tmp->st_mode & (S_IWGRP | S_IWOTH)) || tmp->st_mode & S_ISVTX;
}

/* Opens the target's /tmp, which may be a link that stays in the target's root. */
bool attach_open_tmp(struct attach_dialogue *mine)
{
	struct open_how how = {
		.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};

	struct stat stat;

	mine->tmp_fd = (int)syscall(SYS_openat2, mine->process.root_fd, "tmp", &how, sizeof(how));
	if (mine->tmp_fd < 0 || fstat(mine->tmp_fd, &stat) < 0)
		return dialogue_fail(mine, ATTACH_FOLDER, errno);
	return is_safe(&mine->process, &stat) || dialogue_fail(mine, ATTACH_FOLDER, EPERM);
}

/* Creates and opens the data folder. An old folder is taken if it is the target's own and others
 * may not write to it. */
static bool open_folder(struct attach_dialogue *mine, const char *name)
{
	struct stat stat;

	if (mkdirat(mine->tmp_fd, name, FOLDER_MODE) < 0 && errno != EEXIST)
		return dialogue_fail(mine, ATTACH_FOLDER, errno);
	mine->folder_fd =
		openat(mine->tmp_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (mine->folder_fd < 0 && errno == ENOENT)
		return true; /* somebody removed it just now */
	if (mine->folder_fd < 0 || fstat(mine->folder_fd, &stat) < 0)
		return dialogue_fail(mine, ATTACH_FOLDER, errno);
	if (stat.st_uid != mine->process.uid || (stat.st_mode & (S_IWGRP | S_IWOTH)))
		return dialogue_fail(mine, ATTACH_FOLDER, EPERM);
	mine->answer.folder_device = stat.st_dev;
	mine->answer.folder_inode = stat.st_ino;
	return true;
}

/* Takes the shared lock, which tells the agent that there is a reader (jvm_agent/journal.h).
 * Returns false if the folder is locked or was replaced: another reader that stops, or an agent
 * that looks for readers, holds the lock for a moment, and a reader that stops removes the folder.
 */
static bool lock_folder(const struct attach_dialogue *mine, const char *name)
{
	struct stat stat;

	return mine->folder_fd >= 0 && flock(mine->folder_fd, LOCK_SH | LOCK_NB) == 0 &&
	       fstatat(mine->tmp_fd, name, &stat, AT_SYMLINK_NOFOLLOW) == 0 &&
	       stat.st_dev == mine->answer.folder_device &&
	       stat.st_ino == mine->answer.folder_inode;
}

bool attach_make_folder(struct attach_dialogue *mine)
{
	char name[ATTACH_NAME_BYTES];

	attach_name(name, "java-data-", (uint64_t)mine->process.inner_pid);
	for (;;) {
		if (!open_folder(mine, name))
			return false;
		if (lock_folder(mine, name))
			return true;
		cleanup_close(&mine->folder_fd);
		mine->folder_fd = -1;
		if (!attach_left_ms(mine))
			return dialogue_fail(mine, ATTACH_FOLDER, EAGAIN);
		poll(NULL, 0, POLL_MS);
	}
}

bool attach_write_agent(struct attach_dialogue *mine)
{
	const char *at, *end;
	char name[ATTACH_NAME_BYTES];

	image_of(mine->order.task, &at, &end);
	attach_agent_name(name, mine->order.task);
	int fd = -1;

	for (int tries = 0; tries < TRIES && fd < 0; tries++) {
		unlinkat(mine->folder_fd, name, 0); /* left from before, or another reader's */
		fd = openat(mine->folder_fd, name,
			    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, AGENT_MODE);
		if (fd < 0 && errno != EEXIST)
			break;
	}
	if (fd < 0)
		return dialogue_fail(mine, ATTACH_FILE, errno);
	while (at < end) {
		ssize_t n = write(fd, at, (size_t)(end - at));

		int error = n < 0 ? errno : ENOSPC;

		if (n < 0 && error == EINTR)
			continue;
		if (n <= 0) {
			close(fd);
			return dialogue_fail(mine, ATTACH_FILE, error);
		}
		at += n;
	}
	struct stat stat;

	mine->agent_inode = fstat(fd, &stat) == 0 ? stat.st_ino : 0;
	return close(fd) == 0 || dialogue_fail(mine, ATTACH_FILE, errno);
}

bool attach_has_agent(const struct attach_dialogue *mine)
{
	char name[ATTACH_NAME_BYTES];
	struct stat stat;

	attach_agent_name(name, mine->order.task);
	return fstatat(mine->folder_fd, name, &stat, AT_SYMLINK_NOFOLLOW) == 0 &&
	       stat.st_ino == mine->agent_inode;
}

void attach_remove_agent(const struct attach_dialogue *mine)
{
	char name[ATTACH_NAME_BYTES];

	attach_agent_name(name, mine->order.task);
	unlinkat(mine->folder_fd, name, 0);
}

#define STACKS_NAME(number, name) "stacks-" #name ".txt",

/* Removes our files in the folder, and the folder, unless others' files are in it. */
void attach_remove_folder(const struct attach_dialogue *mine)
{
	static const char *const names[] = {JAVA_SYMBOLS_NAME, JFR_STATE_NAME, "window.jfr",
					    PROBE_LIST(STACKS_NAME)};
	static const enum attach_task agents[] = {ATTACH_START, ATTACH_JFR_START};
	char name[ATTACH_NAME_BYTES];

	for (size_t i = 0; i < ARRAY_SIZE(agents); i++) {
		attach_agent_name(name, agents[i]);
		unlinkat(mine->folder_fd, name, 0);
	}
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		unlinkat(mine->folder_fd, names[i], 0);
		memcpy(name, names[i], strlen(names[i]) + 1);
		memcpy(name + strlen(name), ".new", sizeof(".new"));
		unlinkat(mine->folder_fd, name, 0);
	}
	attach_name(name, "java-data-", (uint64_t)mine->process.inner_pid);
	unlinkat(mine->tmp_fd, name, AT_REMOVEDIR);
}
