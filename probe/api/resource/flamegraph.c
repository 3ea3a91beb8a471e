// SPDX-License-Identifier: GPL-2.0-or-later
#include "api/resource/flamegraph.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "api/status/saved_spec.h"
#include "api/resource/puts.h"
#include "api/status/status.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "java/attach/attach.h"
#include "kind/kind.h"
#include "sched/sched_kind.h"
#include "session/session_events.h"
#include "session/session_params.h"

static const char *probe_name(unsigned probe)
{
	return kind_exists(probe) ? kind_get(probe)->name : NULL;
}

/* An event is named by the params alone: what an earlier body named exists for a while. */
static int find_probe(const struct params *params, const char *name)
{
	int probe = kind_find(name);

	return probe >= 0 && probe < PROBE_SLOT_FIRST ? probe : events_find(params, name);
}

static const struct event_rules event_rules = {
	.clear = events_clear,
	.add = events_add,
	.at = events_at,
	.slots = PROBE_SLOTS_COUNT,
	.settle = events_settle,
	.unnamed = events_unnamed,
};

/* Returns why JFR is refused, or NULL. Recordings are by process, with Java's frames only. */
static const char *refuse_jfr(const struct params *params)
{
	if (params->java_source != JAVA_JFR)
		return NULL;
	if (!attach_has_jfr())
		return "params.java_source jfr is not available: this program was built without a "
		       "JDK";
	if (!params->multi_instance || params->native_stack)
		return "params.java_source jfr needs multi_instance 1 and native_stack 0";
	return NULL;
}

static const char *find_elsewhere(const char *probe)
{
	return sched_kind_find(probe) >= 0 ? ". /sched has a probe of that name" : NULL;
}

const struct rules flamegraph_rules = {
	.feature = "flamegraph",
	.params = flamegraph_params,
	.probes_count = PROBE_COUNT,
	.probe_name = probe_name,
	.probe_find = find_probe,
	.events = &event_rules,
	.elsewhere = find_elsewhere,
	.refuse = refuse_jfr,
};

void flamegraph_refuse(struct answer *answer, unsigned status, const char *message)
{
	log_info("PUT /flamegraph refused: %s", message);
	answer_failed(answer, status, message);
}

bool flamegraph_read(const struct services *services, char *data, size_t bytes, struct spec *spec,
		     struct request_folders *folders, struct answer *answer)
{
	const struct spec *before = session_spec(services->flamegraph);
	struct why why;
	int r = request_parse(data, bytes, &flamegraph_rules, before, &services->bounds, spec,
			      folders, &answer->notes, &why);

	if (r < 0) {
		flamegraph_refuse(answer, r == -EINVAL ? 400 : 503, why.text);
		return false;
	}
	return true;
}

/* Warns if the trigger that is to be waited for can't be. */
static void warn_trigger(const struct services *services, struct notes *notes)
{
	struct trigger_status status;

	session_trigger(services->flamegraph, &status);
	if (strcmp(status.state, "failed") == 0 || strcmp(status.state, "unsupported") == 0)
		notes_warn(notes, "params.trigger can't fire now: %.200s", status.reason);
}

void flamegraph_apply(const struct services *services, const struct spec *spec,
		      struct answer *answer, void (*ready)(void *arg), void *arg)
{
	struct why why = {0};
	int r = session_apply(services->flamegraph, spec, &why);

	if (r < 0) {
		log_error("PUT /flamegraph can't be done: %s", why.text);
		answer_failed(answer, 503, why.text);
		return;
	}
	log_info("PUT /flamegraph: new config takes effect, state %s",
		 spec->running ? "running" : "stopped");
	warn_trigger(services, &answer->notes);
	answer_log_warnings(answer, "PUT /flamegraph");
	answer_taken(answer);
	if (ready && engine_when_armed(services->engine, ready, arg)) {
		answer->later = answer->status;
		answer->status = 0;
	}
}

void flamegraph_put(const struct services *services, char *data, size_t bytes,
		    struct answer *answer, void (*ready)(void *arg), void *arg)
{
	puts_take(services->puts, services, data, bytes, answer, ready, arg);
}

void flamegraph_get(const struct services *services, struct answer *answer)
{
	engine_refresh(services->engine);
	status_answer(answer, services, &flamegraph_rules, session_spec(services->flamegraph),
		      status_flamegraph);
}

void flamegraph_save(const struct services *services, struct json *json)
{
	saved_spec_write(json, &flamegraph_rules, session_spec(services->flamegraph));
}

uint32_t flamegraph_begins(char *data, size_t bytes)
{
	_cleanup_(spec_done) struct spec spec = {0};
	struct why why;
	int r = spec_read_unbounded(&flamegraph_rules, data, bytes, &spec, &why);

	return r == 0 && spec.running && !spec.params.trigger[0] ? spec.probes : 0;
}

int flamegraph_restore(const struct services *services, const cJSON *saved, bool same_boot,
		       struct why *why)
{
	_cleanup_(spec_done) struct spec spec = {0};
	int r = saved_spec_read(&flamegraph_rules, saved, same_boot, &spec, why);

	return r < 0 ? r : session_apply(services->flamegraph, &spec, why);
}
