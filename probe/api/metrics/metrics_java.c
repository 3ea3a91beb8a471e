// SPDX-License-Identifier: GPL-2.0-or-later
/* Writes the number of Java VMs, and what is known of their code. */
#include "api/metrics/metrics_runtimes.h"
#include "runtime/jvm.h"

static void count_java_version(void *arg, const struct target *target)
{
	char text[32];

	if (!target_jvm(target))
		return;
	jvm_version(target_jvm(target), text, sizeof(text));
	runtime_versions_count(arg, text, jvm_is_supported(target_jvm(target)));
}

/* Writes the numbers of VMs by the state of their agent or their recording. */
static void write_states(struct buf *out, const char *name, const char *help,
			 const char *const texts[3], const unsigned counts[3])
{
	metrics_head(out, name, "gauge", help);
	for (int i = 0; i < 3; i++)
		buf_printf(out, "stackprobe_%s{state=\"%s\"} %u\n", name, texts[i], counts[i]);
}

static void write_agents(struct buf *out, const struct services *services)
{
	static const char *const texts[] = {"attached", "attaching", "failed"};
	struct agents_stats stats;

	engine_agents_stats(services->engine, &stats);
	write_states(out, "java_agents",
		     "Java VMs that were asked for an agent, by what became of it.", texts,
		     (const unsigned[]){stats.attached, stats.attaching, stats.failed});
	metrics_one(out, "java_agent_codes", "gauge",
		    "Pieces of code that agents have told of and that are known now.",
		    (double)stats.codes);
	metrics_one(out, "java_agent_codes_given", "gauge",
		    "Pieces that were named from there, of VMs that have an agent now.",
		    (double)stats.given);
	metrics_one(out, "java_agent_codes_lost", "gauge",
		    "Pieces for which there was no room, of VMs that have an agent now.",
		    (double)stats.lost);
	metrics_one(out, "java_agents_unasked_total", "counter",
		    "Stacks of Java VMs that weren't asked for an agent, for so many are.",
		    (double)stats.unasked);
}

static void write_jfr(struct buf *out, const struct services *services)
{
	static const char *const texts[] = {"recording", "starting", "failed"};
	struct jfr_stats stats;

	engine_jfr_stats(services->engine, &stats);
	write_states(out, "java_recordings", "Java VMs that were asked to record (JFR).", texts,
		     (const unsigned[]){stats.recording, stats.starting, stats.failed});
	metrics_one(out, "java_jfr_windows_total", "counter",
		    "Windows of a Java VM whose stacks are those that it recorded.",
		    (double)stats.windows);
	metrics_head(out, "java_jfr_fell_back_total", "counter",
		     "Windows of a Java VM that was to record whose stacks are the kernel's.");
	for (int i = 0; i < JFR_CAUSES; i++)
		buf_printf(out, "stackprobe_java_jfr_fell_back_total{cause=\"%s\"} %llu\n",
			   jfr_cause_name(i), (unsigned long long)stats.fell_back_by[i]);
	metrics_one(out, "java_jfr_lost_samples_total", "counter",
		    "Samples that recording Java VMs could not take.", (double)stats.lost_samples);
	metrics_one(out, "java_jfr_lost_bytes_total", "counter",
		    "Bytes of events for which recording Java VMs had no room.",
		    (double)stats.lost_bytes);
	metrics_one(out, "java_jfr_refused_total", "counter",
		    "Recorded events that found no room in what the VM told.",
		    (double)stats.refused);
	metrics_one(out, "java_jfr_unasked_total", "counter",
		    "Stacks of Java VMs that weren't asked to record, for so many are.",
		    (double)stats.unasked);
}

void metrics_java(struct buf *out, const struct services *services,
		  const struct engine_stats *stats)
{
	static const struct codes_words words = {
		.known = "java_methods",
		.bytes = "java_method_bytes",
		.read = "java_methods_read_total",
		.lost = "java_methods_lost_total",
		.plural = "Java methods and stubs",
	};
	struct runtime_versions versions = {.count = 0};

	engine_targets(services->engine, count_java_version, &versions);
	metrics_versions(out, "java_processes",
			 "Processes with a Java VM (HotSpot), by its version; of those that aren't "
			 "supported there are native frames.",
			 &versions);
	metrics_codes(out, &words, &stats->codes[CODES_JAVA]);
	metrics_one(out, "java_inline_unknown_total", "counter",
		    "Events in whose stack there is a Java method of which it isn't known what of "
		    "it is inlined there: the outermost method is shown.",
		    (double)stats->drain.inline_unknown);
	metrics_one(
		out, "java_untold_total", "counter",
		"Events in whose stack there is code of a Java VM whose tables can't be read, of "
		"which its agent has told nothing: it is [jit].",
		(double)stats->drain.untold);
	write_agents(out, services);
	write_jfr(out, services);
}
