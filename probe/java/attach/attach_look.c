// SPDX-License-Identifier: GPL-2.0-or-later
#include "java/attach/attach.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "java/attach/attach_state.h"
#include "proc/maps.h"
#include "proc/proc.h"

#define STATUS_BYTES  65536
#define OPTIONS_BYTES (1U << 20) /* of the command line, of the environment */

const char *attach_result_name(enum attach_result result)
{
	static const char *const names[] = {ATTACH_RESULTS(NAMED_NAME)};

	return names[result];
}

/* Sets *value to the text behind `key`; returns false if the key isn't there. */
static bool find_field(const char *text, const char *key, const char **value)
{
	const char *line = strstr(text, key);

	if (line)
		*value = line + strlen(key);
	return line != NULL;
}

bool attach_parse_status(const char *text, struct attach_status *status)
{
	const char *uid, *gid, *pids, *caught, *state;
	char *end;

	if (!find_field(text, "\nUid:\t", &uid) || !find_field(text, "\nGid:\t", &gid) ||
	    !find_field(text, "\nSigCgt:\t", &caught) || !find_field(text, "\nState:\t", &state) ||
	    !find_field(text, "\nNSpid:", &pids))
		return false;
	uid_t real_uid = (uid_t)strtoul(uid, &end, 10); /* the effective one comes next */
	status->uid = (uid_t)strtoul(end, &end, 10);
	gid_t real_gid = (gid_t)strtoul(gid, &end, 10);
	status->gid = (gid_t)strtoul(end, &end, 10);
	status->set_id = real_uid != status->uid || real_gid != status->gid;
	status->inner_pid = 0;
	while (*pids == '\t') {
		status->inner_pid = (pid_t)strtol(pids + 1, &end, 10);
		pids = end;
	}
	status->catches_quit = strtoull(caught, NULL, 16) >> (SIGQUIT - 1) & 1;
	status->stopped = *state == 'T' || *state == 't';
	return status->inner_pid > 0;
}

bool attach_is_disabled(const char *arguments, size_t len)
{
	bool disabled = false;

	for (const char *at = arguments, *end = arguments + len; at < end;) {
		size_t bytes = strnlen(at, (size_t)(end - at));

		/* The last of several counts. */
		if (bytes == strlen("-XX:+DisableAttachMechanism") && memcmp(at, "-XX:", 4) == 0 &&
		    memcmp(at + 5, "DisableAttachMechanism", bytes - 5) == 0)
			disabled = at[4] == '+';
		at += bytes + 1;
	}
	return disabled;
}

bool attach_is_disabled_by(const char *environment, size_t len)
{
	static const char *const names[] = {
		"JAVA_TOOL_OPTIONS=", "_JAVA_OPTIONS=", "JDK_JAVA_OPTIONS="};
	static const char option[] = "-XX:+DisableAttachMechanism";

	for (const char *at = environment, *end = environment + len; at < end;) {
		size_t bytes = strnlen(at, (size_t)(end - at));

		for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
			size_t name = strlen(names[i]);

			if (bytes > name && memcmp(at, names[i], name) == 0 &&
			    memmem(at + name, bytes - name, option, sizeof(option) - 1))
				return true;
		}
		at += bytes + 1;
	}
	return false;
}

static int read_whole(pid_t pid, const char *name, struct buf *out)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	int r = file_read(AT_FDCWD, path, out);
	return r == -ENOENT ? -ESRCH : r;
}

/* Returns whether the VM's attach mechanism is disabled. Options in a file (@file, -XX:Flags)
 * aren't seen: such a VM is asked nevertheless, and prints its threads. */
static bool is_disabled(pid_t pid)
{
	_cleanup_buf_ struct buf arguments = BUF_INIT(OPTIONS_BYTES);
	_cleanup_buf_ struct buf environment = BUF_INIT(OPTIONS_BYTES);

	if (read_whole(pid, "cmdline", &arguments) < 0 ||
	    read_whole(pid, "environ", &environment) < 0)
		return false;
	return attach_is_disabled(arguments.data, arguments.len) ||
	       attach_is_disabled_by(environment.data, environment.len);
}

static bool begins_with(const char *text, const char *begin)
{
	return strncmp(text, begin, strlen(begin)) == 0;
}

/* Returns ATTACH_DONE if the process has mapped HotSpot. OpenJ9 also has a libjvm, in front of its
 * own library; SIGQUIT means something else to OpenJ9. */
static enum attach_result look_for_vm(pid_t pid)
{
	bool found = false, other = false;
	struct maps maps;
	int r = maps_read(pid, 0, &maps);

	if (r < 0)
		return r == -ESRCH ? ATTACH_GONE : ATTACH_SYSTEM;
	for (size_t i = 0; i < maps.count; i++) {
		const char *path = maps.mappings[i].path;
		const char *name = path ? strrchr(path, '/') : NULL;

		found |= name && begins_with(name, "/libjvm.so");
		other |= name && begins_with(name, "/libj9vm");
	}
	maps_done(&maps);
	return found && !other ? ATTACH_DONE : ATTACH_NO_VM;
}

static enum attach_result read_status(pid_t pid, struct attach_status *status)
{
	_cleanup_buf_ struct buf text = BUF_INIT(STATUS_BYTES);
	int r = read_whole(pid, "status", &text);

	if (r == 0)
		buf_char(&text, '\0');
	if (r < 0 || buf_error(&text) || !attach_parse_status(text.data, status))
		return r == -ESRCH ? ATTACH_GONE : ATTACH_SYSTEM;
	return ATTACH_DONE;
}

/* Reads the process's user before and after looking for a VM: in between the process may have
 * become another program, with another user's rights. */
static enum attach_result look_at_program(struct attach_process *process)
{
	uint64_t program = proc_program(process->pid);
	struct attach_status before, status;
	enum attach_result result = read_status(process->pid, &before);

	if (result == ATTACH_DONE)
		result = look_for_vm(process->pid);
	if (result == ATTACH_DONE)
		result = read_status(process->pid, &status);
	if (result == ATTACH_DONE && proc_owners(process->pid, &status.uid, &process->root_uid) < 0)
		result = ATTACH_GONE;
	if (result != ATTACH_DONE)
		return result;
	if (before.uid != status.uid || before.gid != status.gid ||
	    proc_program(process->pid) != program)
		return ATTACH_GONE;
	process->uid = status.uid;
	process->gid = status.gid;
	process->inner_pid = status.inner_pid;
	if (before.set_id || status.set_id)
		return ATTACH_SET_ID;
	if (status.stopped)
		return ATTACH_STOPPED;
	/* SIGQUIT would end a process that doesn't catch it. */
	return status.catches_quit ? ATTACH_DONE : ATTACH_SIGNALS;
}

static int open_folder(pid_t pid, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

enum attach_result attach_look(struct attach_process *process, pid_t pid, uint64_t start_ticks)
{
	struct proc_stat stat;

	*process = (struct attach_process)ATTACH_PROCESS_NONE;
	process->pid = pid;
	/* From here on the pidfd refers to this process, even if the pid is used again. */
	process->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (process->pidfd < 0)
		return errno == ESRCH ? ATTACH_GONE : ATTACH_SYSTEM;
	process->root_fd = open_folder(pid, "root");
	process->cwd_fd = open_folder(pid, "cwd");
	if (proc_stat(pid, &stat) < 0 || stat.start_ticks != start_ticks)
		return ATTACH_GONE;
	if (process->root_fd < 0)
		return ATTACH_SYSTEM;
	enum attach_result result = look_at_program(process);
	if (result == ATTACH_DONE && is_disabled(pid))
		result = ATTACH_DISABLED;
	process->other_clock = proc_moves_clock(pid);
	return result;
}

void attach_process_done(struct attach_process *process)
{
	cleanup_close(&process->pidfd);
	cleanup_close(&process->root_fd);
	cleanup_close(&process->cwd_fd);
	process->pidfd = process->root_fd = process->cwd_fd = -1;
}
