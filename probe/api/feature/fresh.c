// SPDX-License-Identifier: GPL-2.0-or-later
#include "api/feature/fresh.h"

#include "api/feature/feature.h"
#include "loop/loop.h"

#define BODY_MAX   (16 << 20)
#define TIMES_MADE 10
#define AGE_MAX_NS NS_PER_S

void fresh_init(struct fresh fresh[FRESH_COUNT])
{
	for (int i = 0; i < FRESH_COUNT; i++)
		fresh[i] = (struct fresh){.body = BUF_INIT(BODY_MAX)};
}

void fresh_done(struct fresh fresh[FRESH_COUNT])
{
	for (int i = 0; i < FRESH_COUNT; i++)
		buf_done(&fresh[i].body);
}

void fresh_forget(struct fresh fresh[FRESH_COUNT])
{
	fresh_done(fresh);
	fresh_init(fresh);
}

bool fresh_give(const struct fresh *fresh, bool old, struct answer *answer)
{
	if (!fresh->body.len || loop_now_ns() >= (old ? fresh->old_until_ns : fresh->until_ns))
		return false;
	answer->status = 200;
	answer->content_type = fresh->content_type;
	buf_add(&answer->body, fresh->body.data, fresh->body.len);
	return true;
}

void fresh_keep(struct fresh *fresh, const struct answer *answer, uint64_t began_ns)
{
	uint64_t now = loop_now_ns(), took = now - began_ns, age = took * TIMES_MADE;

	buf_done(&fresh->body);
	fresh->body = (struct buf)BUF_INIT(BODY_MAX);
	if (answer->status != 200 || buf_error(&answer->body))
		return;
	buf_add(&fresh->body, answer->body.data, answer->body.len);
	if (buf_error(&fresh->body)) {
		buf_done(&fresh->body);
		fresh->body = (struct buf)BUF_INIT(BODY_MAX);
	}
	fresh->content_type = answer->content_type;
	fresh->old_until_ns = now + AGE_MAX_NS;
	fresh->until_ns = took < NS_PER_MS ? now : now + (age < AGE_MAX_NS ? age : AGE_MAX_NS);
}
