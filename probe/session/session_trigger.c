// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The trigger (params.trigger). With one, a session that is to run waits for pressure, and is
 * STOPPED meanwhile; when the pressure comes it collects for one period, and waits again:
 *
 *	waiting --pressure--> its BPF objects are loaded --> sampling --period's end--> waiting
 *	   ^ |
 *	   | +--no such cgroup, or it is removed--> looks for it each AGAIN_NS
 *	   +------------------------------------------+
 *
 * Pressure is looked at only while the session waits.
 */
#include "session/session_state.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"

#define AGAIN_NS (5 * NS_PER_S)

static void look_again(void *arg);

/* Returns the text of the trigger that is wanted; "": none. */
static const char *wanted_trigger(const struct session *session)
{
	const struct spec *wanted = &session->wanted;

	return session->told && wanted->running && wanted->probes ? wanted->params.trigger : "";
}

static void stop_waiting(struct session *session)
{
	struct session_trigger *trigger = &session->trigger;

	loop_timer_cancel(session->setup.loop, &trigger->again);
	pressure_close(TAKE_PTR(trigger->pressure));
}

/* Notes why nothing is waited for; what may pass is looked at again later. */
static void fail_waiting(struct session *session, int error, const struct why *why)
{
	struct session_trigger *trigger = &session->trigger;
	bool is_said = strcmp(trigger->why.text, why->text) == 0;

	stop_waiting(session);
	trigger->error = error;
	trigger->why = *why;
	trigger->how = "";
	if (!is_said)
		log_error("flamegraph can't wait for its trigger: %s", why->text);
	if (error == -EOPNOTSUPP)
		return;
	trigger->again =
		(struct loop_timer){.expired = look_again, .arg = session, .name = "session"};
	loop_timer_set(session->setup.loop, &trigger->again, loop_now_ns() + AGAIN_NS);
}

static void pressure_ended(void *arg, int error, const struct why *why)
{
	struct session *session = arg;
	struct why said = *why; /* it is the pressure's */

	fail_waiting(session, error, &said);
}

static void begin_period(void *arg)
{
	struct session *session = arg;

	session->trigger.loads = false;
	session_begin_fired(session);
}

static void pressure_risen(void *arg)
{
	struct session *session = arg;
	struct session_trigger *trigger = &session->trigger;
	const struct spec *wanted = &session->wanted;

	stop_waiting(session);
	trigger->fired = true;
	session->stats.trigger.fired++;
	session->stats.trigger.last_fired = loop_real_ns();
	log_info("flamegraph: the trigger fired (%s), it samples for %lld s", trigger->text,
		 (long long)wanted->params.svg_period_s);
	session_write_before(session);
	trigger->loads = engine_prepare(session->setup.engine, wanted->probes, wanted->snoopers,
					begin_period, session);
	if (!trigger->loads)
		begin_period(session);
}

static void begin_waiting(struct session *session)
{
	struct session_trigger *trigger = &session->trigger;
	struct pressure_wish wish = {
		.risen = pressure_risen, .ended = pressure_ended, .arg = session};
	const char *not_kernel;
	struct why why = {0};
	int r = pressure_text_read(&wish.text, trigger->text, &why);

	loop_timer_cancel(session->setup.loop, &trigger->again);
	if (r == 0)
		r = pressure_open(&trigger->pressure, session->setup.loop, &wish, &why);
	if (r < 0) {
		trigger->pressure = NULL;
		fail_waiting(session, r, &why);
		return;
	}
	trigger->error = 0;
	trigger->how =
		pressure_is_kernels(trigger->pressure, &not_kernel) ? "kernel" : "each second";
	why_set(&trigger->why, "%s", not_kernel);
	log_info("flamegraph waits for its trigger (%s)%s%s", trigger->text,
		 not_kernel[0] ? ", looking each second: " : "", not_kernel);
}

static void look_again(void *arg)
{
	begin_waiting(arg);
}

void session_settle_trigger(struct session *session, bool fired)
{
	struct session_trigger *trigger = &session->trigger;
	const char *wanted = wanted_trigger(session);

	if (strcmp(trigger->text, wanted) != 0) {
		stop_waiting(session);
		trigger->fired = fired;
		trigger->error = 0;
		trigger->how = "";
		trigger->why.text[0] = '\0';
		memcpy(trigger->text, wanted, strlen(wanted) + 1);
	}
	if (trigger->text[0] && !trigger->fired && !trigger->pressure &&
	    session->phase == SESSION_STOPPED)
		begin_waiting(session);
}

void session_end_trigger(struct session *session)
{
	stop_waiting(session);
	engine_forget(session->setup.engine, session);
}

bool session_waits(const struct session *session)
{
	return session->trigger.text[0] && !session->trigger.fired;
}

uint32_t session_begins(const struct session *session, const struct spec *spec)
{
	const struct session_trigger *trigger = &session->trigger;
	bool samples = !spec->params.trigger[0] ||
		       (trigger->fired && strcmp(trigger->text, spec->params.trigger) == 0);

	return spec->running && samples ? spec->probes : 0;
}

void session_trigger(const struct session *session, struct trigger_status *status)
{
	const struct session_trigger *trigger = &session->trigger;
	struct pressure_text text;
	struct why why;

	*status = (struct trigger_status){.state = "off", .how = "", .reason = ""};
	if (!trigger->text[0])
		return;
	status->how = trigger->how;
	status->reason = trigger->why.text;
	if (trigger->fired)
		status->state = "sampling";
	else if (trigger->error)
		status->state = trigger->error == -EOPNOTSUPP ? "unsupported" : "failed";
	else
		status->state = "waiting";
	if (pressure_text_read(&text, trigger->text, &why) == 0)
		pressure_text_say(&text, status->waits_for, sizeof(status->waits_for));
}
