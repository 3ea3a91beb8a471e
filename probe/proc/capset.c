// SPDX-License-Identifier: GPL-2.0-or-later
#include "proc/capset.h"

#include <errno.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int capset_get(struct capset *set)
{
	struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct data[2] = {0};

	if (syscall(SYS_capget, &header, data) < 0)
		return -errno;
	*set = (struct capset){
		.permitted = data[0].permitted | (uint64_t)data[1].permitted << 32,
		.effective = data[0].effective | (uint64_t)data[1].effective << 32,
		.inheritable = data[0].inheritable | (uint64_t)data[1].inheritable << 32,
	};
	return 0;
}

int capset_put(const struct capset *set)
{
	struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct data[2] = {
		{(uint32_t)set->effective, (uint32_t)set->permitted, (uint32_t)set->inheritable},
		{(uint32_t)(set->effective >> 32), (uint32_t)(set->permitted >> 32),
		 (uint32_t)(set->inheritable >> 32)},
	};

	return syscall(SYS_capset, &header, data) < 0 ? -errno : 0;
}

int capset_clear(void)
{
	static const struct capset none;

	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0)
		return -errno;
	return capset_put(&none);
}
