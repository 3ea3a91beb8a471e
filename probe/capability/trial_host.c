// SPDX-License-Identifier: GPL-2.0-or-later
#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "proc/capset.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "capability/seccomp_check.h"
#include "capability/trial.h"
#include "bpf/shared/sample.h"
#include "symbol/kernel_symbols.h"

/* include/linux/proc_ns.h of the kernel: the inodes of the first namespaces are fixed. */
#define FIRST_USER_NAMESPACE 0xEFFFFFFDU
#define FIRST_PID_NAMESPACE  0xEFFFFFFCU

/* ---- privileges ---- */

bool namespace_is_first(const char *name)
{
	char path[64];
	struct stat stat_;

	snprintf(path, sizeof(path), "/proc/self/ns/%s", name);
	if (stat(path, &stat_) < 0)
		return true; /* the kernel has no such namespaces */
	return stat_.st_ino ==
	       (strcmp(name, "user") == 0 ? FIRST_USER_NAMESPACE : FIRST_PID_NAMESPACE);
}

static bool is_effective(int number)
{
	struct capset set;

	return capset_get(&set) == 0 && set.effective >> number & 1;
}

/* CAP_SYS_ADMIN includes the capabilities that were once a part of it. */
bool privilege_held(int number)
{
	bool part = number == NUMBER_BPF || number == NUMBER_PERFMON || number == NUMBER_RESTORE;

	return namespace_is_first("user") &&
	       (is_effective(number) || (part && is_effective(CAP_SYS_ADMIN)));
}

void privileges_remedy(struct finding *finding)
{
	bool bpf = privilege_held(NUMBER_BPF), perfmon = privilege_held(NUMBER_PERFMON);

	if (!bpf && !perfmon)
		finding_set_remedy(finding, "run as root, or add CAP_BPF and CAP_PERFMON");
	else if (!bpf || !perfmon)
		finding_set_remedy(finding, bpf ? "run as root, or add CAP_PERFMON"
						: "run as root, or add CAP_BPF");
	else if (seccomp_calls())
		finding_set_remedy(finding, FILTERED_REMEDY);
	else if (!privilege_held(CAP_SYS_ADMIN))
		finding_set_remedy(finding, "run as root, or add CAP_SYS_ADMIN");
	else if (geteuid() != 0)
		finding_set_remedy(finding, "run as root");
}

void trial_privilege(enum capability which, struct finding *finding)
{
	static const int numbers[CAPABILITY_COUNT] = {
		[CAN_BPF] = NUMBER_BPF,
		[CAN_PERFMON] = NUMBER_PERFMON,
		[CAN_PTRACE] = CAP_SYS_PTRACE,
		[CAN_READ_FILES] = CAP_DAC_READ_SEARCH,
		[CAN_RESTORE] = NUMBER_RESTORE,
		[CAN_SYSLOG] = CAP_SYSLOG,
		[CAN_RAISE_LIMITS] = CAP_SYS_RESOURCE,
	};
	int number = numbers[which];
	/* CAP_DAC_OVERRIDE includes CAP_DAC_READ_SEARCH. */
	bool stands_in = which == CAN_READ_FILES && privilege_held(CAP_DAC_OVERRIDE);

	if (privilege_held(number) || stands_in)
		finding_set(finding, FINDING_YES, "%s",
			    is_effective(number) ? "in force"
			    : stands_in		 ? "in force as CAP_DAC_OVERRIDE"
						 : "in force as CAP_SYS_ADMIN");
	else if (!namespace_is_first("user") && is_effective(number))
		finding_set(finding, FINDING_NO, "in force in a user namespace of ours only");
	else
		finding_set(finding, FINDING_NO, "not in force (uid %u)", (unsigned)geteuid());
}

/* A seccomp filter may refuse what the capabilities allow. */
void trial_seccomp(enum capability which, struct finding *finding)
{
	struct seccomp_filter filtered;

	(void)which;
	seccomp_find(&filtered);
	const char *calls = seccomp_names(&filtered);
	if (calls)
		finding_set(finding, FINDING_NO, "a filter of system calls refuses %s", calls);
	else if (filtered.unclear)
		finding_set(finding, FINDING_LIMITED,
			    "there is a filter of system calls: without CAP_BPF it can't be told "
			    "whether it refuses bpf()");
	else
		finding_set(finding, FINDING_YES,
			    filtered.filter ? "a filter of system calls lets bpf() and "
					      "perf_event_open() pass"
					    : "no filter of system calls");
}

void trial_namespace(enum capability which, struct finding *finding)
{
	const char *name = which == CAN_SEE_PIDS ? "pid" : "user";

	if (namespace_is_first(name))
		finding_set(finding, FINDING_YES, "the host's %s namespace", name);
	else if (which == CAN_SEE_PIDS)
		finding_set(finding, FINDING_NO,
			    "a pid namespace of its own: programs see other pids than /proc has");
	else
		finding_set(finding, FINDING_NO,
			    "a user namespace of its own: privileges don't count for the kernel");
}

/* ---- settings ---- */

static long read_setting(const char *name)
{
	_cleanup_buf_ struct buf text = BUF_INIT(64);
	char path[96];

	snprintf(path, sizeof(path), "/proc/sys/kernel/%s", name);
	int r = file_read(AT_FDCWD, path, &text);
	buf_char(&text, '\0');
	if (r < 0 || buf_error(&text))
		return LONG_MIN;
	return strtol(text.data, NULL, 10);
}

/* These settings matter only to processes without the capability. */
void trial_setting(enum capability which, struct finding *finding)
{
	bool bpf = which == CAN_UNPRIVILEGED_BPF;
	const char *name = bpf ? "unprivileged_bpf_disabled" : "perf_event_paranoid";
	int number = bpf ? NUMBER_BPF : NUMBER_PERFMON;
	long value = read_setting(name);

	if (value == LONG_MIN)
		finding_set(finding, FINDING_LIMITED, "kernel.%s can't be read", name);
	else if (privilege_held(number))
		finding_set(finding, FINDING_YES, "kernel.%s is %ld, which %s stands above", name,
			    value, bpf ? "CAP_BPF" : "CAP_PERFMON");
	else /* even if the setting is off, tracing needs the capability */
		finding_set(finding, FINDING_NO, "kernel.%s is %ld, and %s is not in force", name,
			    value, bpf ? "CAP_BPF" : "CAP_PERFMON");
}

/* ---- the kernel ---- */

/* The file has "none [integrity] confidentiality": the word in brackets is in force. */
void trial_lockdown(enum capability which, struct finding *finding)
{
	static const char path[] = "/sys/kernel/security/lockdown";
	_cleanup_buf_ struct buf text = BUF_INIT(256);
	int r = file_read(AT_FDCWD, path, &text);

	(void)which;
	buf_char(&text, '\0');
	if (r < 0 || buf_error(&text)) {
		finding_set(finding, FINDING_LIMITED, "%s can't be read: %s", path,
			    error_words(r < 0 ? -r : -buf_error(&text)));
		finding_set_remedy(finding, r == -ENOENT
						    ? "look at kernel_memory; or mount -t "
						      "securityfs securityfs /sys/kernel/security"
						    : "look at kernel_memory");
		return;
	}
	const char *mode = strchr(text.data, '[');
	mode = mode ? mode + 1 : text.data;
	bool all = strncmp(mode, "confidentiality", 15) == 0;
	finding_set(finding, all ? FINDING_NO : FINDING_YES, "lockdown is %.*s",
		    (int)strcspn(mode, "]\n"), mode);
}

/* Says why addresses are hidden and what helps, by the rules of the kernel's
 * kallsyms_show_value(). */
static void names_are_hidden(struct finding *finding)
{
	long restrict_ = read_setting("kptr_restrict");

	finding_set(finding, FINDING_NO, "/proc/kallsyms shows no addresses (kptr_restrict is %ld)",
		    restrict_);
	if (restrict_ > 1)
		finding_set_remedy(finding, privilege_held(CAP_SYSLOG)
						    ? "sysctl kernel.kptr_restrict=1"
						    : "sysctl kernel.kptr_restrict=1, and "
						      "add CAP_SYSLOG");
	else if (!privilege_held(CAP_SYSLOG))
		finding_set_remedy(finding, "run as root, or add CAP_SYSLOG");
}

void trial_kernel_names(enum capability which, struct finding *finding)
{
	struct kernel_symbols *symbols;
	int r = kernel_symbols_new(&symbols);

	(void)which;
	if (r == 0) {
		kernel_symbols_read(symbols);
		r = kernel_symbols_error(symbols);
		kernel_symbols_free(symbols);
	}
	if (r == 0)
		finding_set(finding, FINDING_YES, "/proc/kallsyms was read");
	else if (r == -EACCES)
		names_are_hidden(finding);
	else
		finding_set(finding, FINDING_NO, "/proc/kallsyms can't be read: %s",
			    error_words(-r));
}

void trial_kernel_depth(enum capability which, struct finding *finding)
{
	long depth = read_setting("perf_event_max_stack");

	(void)which;
	if (depth == LONG_MIN)
		finding_set(finding, FINDING_LIMITED, "kernel.perf_event_max_stack can't be read");
	else if (depth < KERNEL_FRAMES_MAX)
		finding_set(finding, FINDING_LIMITED, "kernel stacks are cut at %ld frames", depth);
	else
		finding_set(finding, FINDING_YES, "kernel stacks have up to %d frames",
			    KERNEL_FRAMES_MAX);
}

static void statistics_are_refused(struct finding *finding, int error)
{
	const char *calls = error == EPERM ? seccomp_calls() : NULL;

	finding_set(finding, FINDING_NO, "can't be switched on: %s", error_words(error));
	if (calls && strncmp(calls, "bpf", 3) == 0 && privilege_held(CAP_SYS_ADMIN))
		finding_set_remedy(finding, FILTERED_REMEDY);
}

/* Statistics are on while the descriptor is open: here only for a moment. */
void trial_statistics(enum capability which, struct finding *finding)
{
	_cleanup_close_ int fd = bpf_enable_stats(BPF_STATS_RUN_TIME);

	(void)which;
	if (fd >= 0)
		finding_set(finding, FINDING_YES, "can be switched on for the time of a profile");
	else
		statistics_are_refused(finding, errno);
}
