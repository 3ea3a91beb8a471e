// SPDX-License-Identifier: GPL-2.0-or-later
/* Names of the processes that are sampled now, as history's records have them. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/intern.h"
#include "output/text/escape.h"
#include "session/session_state.h"

#define NAMES_MAX (16u * 1024 * 1024)

struct sampled_names {
	uint32_t probe; /* 1 << enum probe */
	struct intern *names;
	int64_t error;
};

static void add_name(void *arg, const struct target *target)
{
	struct sampled_names *sampled = arg;
	_cleanup_buf_ struct buf name = BUF_INIT(16 * COMM_BYTES);

	if (!(target->match.probes & sampled->probe) || sampled->error < 0)
		return;
	buf_printf(&name, "[%d]", (int)target->pid);
	folded_name(&name, target->comm, strnlen(target->comm, COMM_BYTES));
	sampled->error = buf_error(&name);
	if (sampled->error == 0)
		sampled->error = intern_add(sampled->names, name.data, name.len);
}

struct intern *session_sampled(void *arg, enum probe probe)
{
	const struct session *session = arg;
	struct sampled_names sampled = {.probe = 1u << probe};

	if (intern_new(&sampled.names, NAMES_MAX) < 0)
		return NULL;
	engine_targets(session->setup.engine, add_name, &sampled);
	if (sampled.error >= 0)
		return sampled.names;
	intern_free(sampled.names);
	return NULL;
}
