// SPDX-License-Identifier: GPL-2.0-or-later
/* /proc/PID/cgroup: a group's name is what its owner chose. */
#include "fuzz.h"

#include <string.h>

#include "container/cgroup.h"

static void check_id(const char *id, size_t from, size_t to)
{
	size_t len = strlen(id);

	demand(len == 0 || (len >= from && len <= to && strspn(id, "0123456789abcdef-") == len));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct cgroups cgroups;

	cgroups_parse((const char *)data, bytes, &cgroups);
	check_id(cgroups.place.id, 64, 64);
	check_id(cgroups.place.outer, 64, 64);
	check_id(cgroups.place.pod_uid, 32, 64);
	demand(cgroups.place.id[0] || (!cgroups.place.pod_uid[0] && !cgroups.place.outer[0] &&
				       !cgroups.place.user && !cgroups.place.runtime));
	demand(!cgroups.place.outer[0] || strcmp(cgroups.place.outer, cgroups.place.id) != 0);
	demand(!cgroups.path[0] || (cgroups.has_v2 && cgroups.path[0] == '/'));
	demand(!cgroups.place.id[0] || memmem(data, bytes, cgroups.place.id, 64));
	return 0;
}
