// SPDX-License-Identifier: GPL-2.0-or-later
/* Writes the number of Python processes, and what is known of their code objects. */
#include "api/metrics/metrics_runtimes.h"
#include "runtime/interpreter.h"

static void count_python_version(void *arg, const struct target *target)
{
	char text[32];

	if (!target_interpreter(target))
		return;
	interpreter_version(target_interpreter(target), text, sizeof(text));
	runtime_versions_count(arg, text, interpreter_is_supported(target_interpreter(target)));
}

void metrics_python(struct buf *out, const struct services *services,
		    const struct code_cache_stats *codes)
{
	static const struct codes_words words = {
		.known = "python_code_objects",
		.bytes = "python_code_bytes",
		.read = "python_code_objects_read_total",
		.lost = "python_code_objects_lost_total",
		.plural = "Code objects",
	};
	struct runtime_versions versions = {.count = 0};

	engine_targets(services->engine, count_python_version, &versions);
	metrics_versions(out, "python_processes",
			 "Processes with a CPython, by its version; of those that aren't supported "
			 "there are native frames.",
			 &versions);
	metrics_codes(out, &words, codes);
	metrics_one(out, "python_code_objects_copied_total", "counter",
		    "Code objects that came as copies made at a sample.", (double)codes->copied);
}
