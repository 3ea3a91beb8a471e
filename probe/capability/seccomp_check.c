// SPDX-License-Identifier: GPL-2.0-or-later
#include "capability/seccomp_check.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "capability/trial.h"

/* Whether this process has a filter: proc(5), `Seccomp:\t2`; without CONFIG_SECCOMP there is no
 * such line. */
static bool has_filter(void)
{
	static const char key[] = "\nSeccomp:";
	_cleanup_buf_ struct buf text = BUF_INIT(64 * 1024);

	if (file_read(AT_FDCWD, "/proc/self/status", &text) < 0)
		return false;
	buf_char(&text, '\0');
	const char *found = buf_error(&text) ? NULL : strstr(text.data, key);
	return found && strtol(found + sizeof(key) - 1, NULL, 10) > 0;
}

/* Whether a filter has answered: EPERM, EACCES, or ENOSYS though the kernel has the call, as the
 * file `setting` exists. */
static bool is_refused(int error, const char *setting)
{
	return error == EPERM || error == EACCES || (error == ENOSYS && access(setting, F_OK) == 0);
}

void seccomp_find(struct seccomp_filter *filtered)
{
	*filtered = (struct seccomp_filter){.filter = has_filter()};
	if (!filtered->filter)
		return;
	/* bpf() with a command that doesn't exist, perf_event_open() with such flags. */
	int error = syscall(SYS_bpf, INT_MAX, NULL, 0) < 0 ? errno : 0;
	filtered->bpf = is_refused(error, "/proc/sys/kernel/unprivileged_bpf_disabled");
	error = syscall(SYS_perf_event_open, NULL, 0, -1, -1, ~0UL) < 0 ? errno : 0;
	filtered->perf = is_refused(error, "/proc/sys/kernel/perf_event_paranoid");
	/* Without CAP_BPF the kernel itself may refuse bpf() before it looks at the command. */
	filtered->unclear = filtered->bpf && !privilege_held(NUMBER_BPF);
	filtered->bpf &= !filtered->unclear;
}

const char *seccomp_names(const struct seccomp_filter *filtered)
{
	if (filtered->bpf && filtered->perf)
		return "bpf() and perf_event_open()";
	return filtered->bpf ? "bpf()" : filtered->perf ? "perf_event_open()" : NULL;
}

const char *seccomp_calls(void)
{
	struct seccomp_filter filtered;

	if (!privilege_held(NUMBER_BPF) || !privilege_held(NUMBER_PERFMON))
		return NULL;
	seccomp_find(&filtered);
	return seccomp_names(&filtered);
}
