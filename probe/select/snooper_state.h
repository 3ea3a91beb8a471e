/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to select/snooper.c (sets; processes by pid and name) and snooper_container.c. */
#pragma once

#include "select/snooper.h"

#define ALL_PROBES UINT32_MAX

struct snoopers {
	atomic_uint refs;
	uint64_t serial;
	struct id_snooper *ids;
	size_t ids_count;
	struct name_snooper *names;
	size_t names_count;
	struct container_snooper *containers;
	size_t containers_count;
	struct snoopers **parts; /* of a union: owners of the entries' texts and patterns */
	size_t parts_count;
};

void container_snooper_done(struct container_snooper *entry);

bool container_snoopers_equal(const struct container_snooper *a, const struct container_snooper *b);
