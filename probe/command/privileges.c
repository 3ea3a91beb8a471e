// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/privileges.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proc/capset.h"
#include "base/cleanup.h"
#include "capability/capability.h"

#define BIT(number)    (UINT64_C(1) << (number))
#define SYS_ADMIN      BIT(CAP_SYS_ADMIN)
#define FOLDERS	       (BIT(CAP_DAC_OVERRIDE) | BIT(CAP_FOWNER))
#define TRIAL_LIMIT_MS 8000
#define UNTRIED	       100 /* exit status: no trial was possible; more than can fail */

/* Numbers of capabilities(7) that older headers lack. */
#define NUMBER_PERFMON 38
#define NUMBER_BPF     39
#define NUMBER_RESTORE 40

/* All capabilities that may be kept. A new row here needs one in conf/stackprobe.service,
 * conf/kubernetes and doc/fleet.md, too. */
static const struct {
	uint64_t bit;
	const char *name;
	bool always; /* kept always; else only if choose_capabilities() finds a need */
} kinds[] = {
	{BIT(NUMBER_BPF), "bpf", true},
	{BIT(NUMBER_PERFMON), "perfmon", true},
	{BIT(CAP_SYS_PTRACE), "sys_ptrace", true},
	{BIT(CAP_DAC_READ_SEARCH), "dac_read_search", true},
	{BIT(NUMBER_RESTORE), "checkpoint_restore", true},
	{BIT(CAP_SYSLOG), "syslog", true},
	{BIT(CAP_SYS_NICE), "sys_nice", true},
	{BIT(CAP_SETUID), "setuid", true},
	{BIT(CAP_SETGID), "setgid", true},
	{BIT(CAP_KILL), "kill", true},
	{SYS_ADMIN, "sys_admin", false},
	{BIT(CAP_NET_BIND_SERVICE), "net_bind_service", false},
	{BIT(CAP_DAC_OVERRIDE), "dac_override", false},
	{BIT(CAP_FOWNER), "fowner", false},
};

/* ---- CAP_SYS_ADMIN ---- */

static bool capability_fails(enum capability which)
{
	struct finding finding;

	capability_try(which, &finding);
	return finding.state == FINDING_NO;
}

/* Returns how many of the hooks fail that some kernels refuse without CAP_SYS_ADMIN: the CPU's
 * clock (Debian's kernels while kernel.perf_event_paranoid is 3), and uprobes as perf events, which
 * are used only on kernels without uprobe sessions (before Linux 6.13). */
static int count_failures(void)
{
	return capability_fails(CAN_CPU_CLOCK) +
	       (capability_fails(CAN_UPROBE_SESSION) && capability_fails(CAN_UPROBE));
}

static _Noreturn void run_trials(bool with_admin)
{
	struct capset set;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!with_admin) {
		if (capset_get(&set) < 0)
			_exit(UNTRIED);
		set.permitted &= ~SYS_ADMIN;
		set.effective &= ~SYS_ADMIN;
		if (capset_put(&set) < 0)
			_exit(UNTRIED);
	}
	_exit(count_failures());
}

/* Counts the hooks that fail, in a child, as the kernel cleans up behind a child. Returns the
 * count, or a negative errno: -ETIME if the child hangs; others. */
static int try_hooks(bool with_admin)
{
	pid_t pid = fork();
	int status = 0;

	if (pid < 0)
		return -errno;
	if (pid == 0)
		run_trials(with_admin);
	_cleanup_close_ int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct pollfd ended = {.fd = fd, .events = POLLIN};
	if (fd < 0 || poll(&ended, 1, TRIAL_LIMIT_MS) != 1) {
		kill(pid, SIGKILL);
		return -ETIME; /* a child that hangs in the kernel can't be waited for */
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -ECHILD;
}

/* Returns whether CAP_SYS_ADMIN is needed; true if that can't be found out, as a daemon that can't
 * profile is of no use. */
static bool needs_admin(uint64_t held)
{
	if (!(held & SYS_ADMIN))
		return false;
	int without = try_hooks(false);
	if (without == 0)
		return false;
	return without < 0 || try_hooks(true) < without;
}

/* ---- giving up ---- */

static uint64_t choose_capabilities(const struct privileges_wish *wish, uint64_t held)
{
	uint64_t chosen = 0;

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		chosen |= kinds[i].always ? kinds[i].bit : 0;
	if (wish->low_port)
		chosen |= BIT(CAP_NET_BIND_SERVICE);
	if (wish->others_folder)
		chosen |= FOLDERS;
	if (needs_admin(held))
		chosen |= SYS_ADMIN;
	return chosen & held;
}

/* Empties the bounding set. If that isn't allowed, the set of the container's runtime or of systemd
 * stays; no_new_privs makes it useless. */
static void empty_bounding_set(void)
{
	for (unsigned long number = 0; prctl(PR_CAPBSET_READ, number, 0, 0, 0) >= 0; number++)
		prctl(PR_CAPBSET_DROP, number, 0, 0, 0);
}

/* Whether there is one thread: /proc/self/task has a link for each thread, and two of its own. */
static bool is_alone(void)
{
	struct stat stat_;

	return stat("/proc/self/task", &stat_) < 0 || stat_.st_nlink <= 3;
}

static void raise_locked_memory(void)
{
	struct rlimit all = {RLIM_INFINITY, RLIM_INFINITY};

	/* If this is refused, a PUT fails with a sentence when a map doesn't fit. */
	setrlimit(RLIMIT_MEMLOCK, &all);
}

static void write_names(uint64_t chosen, char *kept)
{
	size_t len = 0;

	kept[0] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (chosen & kinds[i].bit)
			len += (size_t)snprintf(kept + len, PRIVILEGES_TEXT_BYTES - len, "%s%s",
						len ? " " : "", kinds[i].name);
	}
	if (!len)
		memcpy(kept, "none", sizeof("none"));
}

int privileges_drop(const struct privileges_wish *wish, char *kept)
{
	struct capset set;

	if (!is_alone())
		return -EBUSY;
	raise_locked_memory();
	int r = capset_get(&set);
	if (r < 0)
		return r;
	set.permitted = set.effective = choose_capabilities(wish, set.permitted);
	set.inheritable = 0;
	empty_bounding_set(); /* before CAP_SETPCAP, which it needs, is given up */
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0 ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	r = capset_put(&set);
	if (r < 0)
		return r;
	if (kept)
		write_names(set.permitted, kept);
	return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ? -errno : 0;
}

bool privileges_own_folder(int dir_fd)
{
	struct capset set, less;
	struct stat stat_;

	if (capset_get(&set) < 0 || fstat(dir_fd, &stat_) < 0)
		return true;
	less = set;
	less.effective &= ~FOLDERS;
	if (capset_put(&less) < 0)
		return true;
	/* In a sticky folder of another user we can't replace that user's files. */
	bool own = faccessat(dir_fd, ".", W_OK | X_OK, AT_EACCESS) == 0 &&
		   (stat_.st_uid == geteuid() || !(stat_.st_mode & S_ISVTX));
	return capset_put(&set) == 0 && own;
}
