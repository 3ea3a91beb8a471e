// SPDX-License-Identifier: GPL-2.0-only
/* Which Java VMs are there, and what is known of their code. */
#include "api/metrics_runtimes.h"
#include "profile/jvm.h"

static void count(void *arg, const struct target *target)
{
	char text[32];

	if (!target->jvm)
		return;
	jvm_version(target->jvm, text, sizeof(text));
	runtime_versions_count(arg, text, jvm_is_supported(target->jvm));
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

	engine_targets(services->engine, count, &versions);
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
}
