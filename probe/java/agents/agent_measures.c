// SPDX-License-Identifier: GPL-2.0-or-later
#include "java/agents/agents.h"
#include "measure/measure.h"

static const struct measure_label state = {.name = "state"};

#define AT(member) MEASURE_AT(agents_stats, member)

static const struct measure rows[] = {
	{"java_agents", "attached", GAUGE,
	 "Java VMs that were asked for an agent, by what became of it.", AT(attached),
	 .label = &state, .label_is = "attached"},
	{"java_agents", "attaching", GAUGE, NULL, AT(attaching), .label = &state,
	 .label_is = "attaching"},
	{"java_agents", "failed", GAUGE, NULL, AT(failed), .label = &state, .label_is = "failed"},
	{"java_agent_codes", "codes", GAUGE,
	 "Pieces of code that agents have told of and that are known now.", AT(codes)},
	{"java_agent_codes_given", "given", GAUGE,
	 "Pieces of code that were named by what agents have told, of Java VMs that have an agent "
	 "now.",
	 AT(given)},
	{"java_agent_codes_lost", "lost", GAUGE,
	 "Pieces of code told by agents for which there was no room, of Java VMs that have an "
	 "agent now.",
	 AT(lost)},
	{"java_agents_unasked_total", "unasked", COUNTER,
	 "Stacks of Java VMs that weren't asked for an agent, for so many are.", AT(unasked)},
};

const struct measures agent_measures = {"Java: agents", "status.java.agents", MEASURE_ROWS(rows)};
