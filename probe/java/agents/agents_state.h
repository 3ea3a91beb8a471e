/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to java/agents/agents.c, and for its tests. */
#pragma once

#include "java/agents/agents.h"
#include "java/agents/attached.h"
#include "java/files/jvmfile.h"

#define AGENT_FDS 4 /* the folder, also of the file; the folder's parent; the file */

/* The agent of one VM. */
struct agent {
	struct attached_vm attached;
	uint64_t folder_device, folder_inode; /* of `file` */
	struct jvmfile *file;
};

struct agents {
	struct attached_vms vms;
	bool on; /* VMs are asked */
};
