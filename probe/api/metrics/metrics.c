// SPDX-License-Identifier: GPL-2.0-or-later
/* Prometheus' text format 0.0.4: base units, counters end in _total, labels are bounded. */
#include <stdio.h>
#include <string.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "api/metrics/metrics.h"
#include "api/metrics/metrics_lines.h"
#include "api/status/container_texts.h"
#include "api/status/status_upload.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "loop/reaper.h"
#include "base/utf8.h"
#include "kind/loss_names.h"
#include "kind/kind.h"

void metrics_head(struct buf *out, const char *name, const char *type, const char *help)
{
	buf_printf(out, "# HELP stackprobe_%s %s\n# TYPE stackprobe_%s %s\n", name, help, name,
		   type);
}

void metrics_one(struct buf *out, const char *name, const char *type, const char *help,
		 double value)
{
	metrics_head(out, name, type, help);
	buf_printf(out, "stackprobe_%s %.15g\n", name, value);
}

static void write_lost(struct buf *out, int of, enum loss where, uint64_t lost)
{
	const char *name = of == LOSERS_ALL ? "all" : of == LOSERS_SCHED ? "sched" : "";

	buf_printf(out, "stackprobe_lost_total{probe=\"%s\",where=\"%s\"} %llu\n",
		   of < PROBE_COUNT ? kind_get(of)->name : name, loss_name(where),
		   (unsigned long long)lost);
}

void metrics_label(struct buf *out, const char *text, size_t len)
{
	for (size_t at = 0; at < len;) {
		size_t n = utf8_sequence(text + at, len - at);

		if (n == 1 && (text[at] == '\\' || text[at] == '"'))
			buf_char(out, '\\');
		if (n == 1 && text[at] == '\n')
			buf_str(out, "\\n");
		else if (n)
			buf_add(out, text + at, n);
		else
			buf_str(out, UTF8_REPLACEMENT);
		at += n ? n : 1;
	}
}

static void put_label(struct buf *out, const char *name, const char *text)
{
	if (!text[0])
		return;
	buf_printf(out, ",%s=\"", name);
	metrics_label(out, text, strlen(text));
	buf_char(out, '"');
}

void metrics_container(struct buf *out, const struct container *container)
{
	struct container_labels labels;

	container_labels_of(&labels, container);
	put_label(out, "container", labels.container);
	put_label(out, "pod", labels.pod);
	put_label(out, "namespace", labels.pod_namespace);
}

static void write_samples(struct buf *out, const struct engine_stats *stats)
{
	metrics_head(out, "samples_total", "counter", "Stacks counted, by probe.");
	for (int i = 0; i < PROBE_COUNT; i++)
		buf_printf(out, "stackprobe_samples_total{probe=\"%s\"} %llu\n", kind_get(i)->name,
			   (unsigned long long)stats->samples[i]);
	metrics_head(out, "thinned", "gauge",
		     "The stack of one event in so many is taken (max_overhead); 1: of each.");
	for (int i = 0; i < PROBE_COUNT; i++)
		buf_printf(out, "stackprobe_thinned{probe=\"%s\"} %u\n", kind_get(i)->name,
			   stats->thinned[i]);
	metrics_head(out, "lost_total", "counter",
		     "Samples and events lost, by probe (or all, sched) and place.");
	for (int of = 0; of < LOSERS_COUNT; of++) {
		for (int i = 0; i < LOST_COUNT; i++)
			write_lost(out, of, i, stats->lost[of][i]);
	}
	metrics_head(out, "stack_truncated_total", "counter",
		     "Events whose stacks do not reach their root, by cause.");
	for (int i = TRUNCATED_NOT + 1; i < TRUNCATED_COUNT; i++) {
		uint64_t sum = 0;

		for (int probe = 0; probe < PROBE_COUNT; probe++)
			sum += stats->drain.truncated[probe][i];
		buf_printf(out, "stackprobe_stack_truncated_total{cause=\"%s\"} %llu\n",
			   truncation_name(i), (unsigned long long)sum);
	}
	metrics_one(out, "waits_over_maxblock_total", "counter",
		    "Waits that off-CPU left out, for they were longer than maxblock.",
		    (double)stats->waits_over_maxblock);
	metrics_one(out, "unseen_waits", "gauge",
		    "Threads that waited without a stack when the last window ended.",
		    (double)stats->unseen_waits);
	metrics_one(out, "profile_refused_total", "counter",
		    "Weight that found no room in a profile (it has too many distinct frames).",
		    (double)stats->drain.refused);
	metrics_one(out, "records_refused_total", "counter",
		    "Events in profiles that their records by thread (.jsonl) had no room for.",
		    (double)stats->drain.unrecorded);
	metrics_one(
		out, "kernel_names_readable", "gauge",
		"0: /proc/kallsyms can't be read or hides its addresses (kernel.kptr_restrict).",
		stats->kernel_names_error == 0);
	metrics_one(out, "frames_unnamed_total", "counter", "Frames that got no symbol.",
		    (double)stats->unnamed_frames);
}

static void write_probes(struct buf *out, const struct services *services)
{
	const struct spec *spec = session_spec(services->flamegraph);

	metrics_head(out, "probe_up", "gauge", "1 while a probe that was asked for collects.");
	for (int i = 0; i < PROBE_COUNT; i++) {
		const char *why, *state = session_state(services->flamegraph, i, &why);
		bool asked = spec && (spec->probes & 1u << i);
		bool up = strcmp(state, "running") == 0 || strcmp(state, "arming") == 0;

		buf_printf(out, "stackprobe_probe_up{feature=\"flamegraph\",probe=\"%s\"} %d\n",
			   kind_get(i)->name, asked && up);
	}
	metrics_sched_up(out, services);
}

static void write_cleaned(struct buf *out, const struct cleaner_stats *cleaned)
{
	metrics_one(out, "files_removed_total", "counter",
		    "Files removed because of their age or size.", (double)cleaned->removed);
	metrics_one(out, "files_removed_bytes_total", "counter", "Size of these.",
		    (double)cleaned->removed_bytes);
	metrics_one(out, "files_remove_failed_total", "counter",
		    "Files and folders that could not be removed or read when they had to go.",
		    (double)cleaned->failed);
	metrics_one(out, "files_kept", "gauge",
		    "Files that the last look for old ones left (0 without a limit of bytes).",
		    (double)cleaned->files);
	metrics_one(out, "files_kept_bytes", "gauge", "Size of these.", (double)cleaned->bytes);
}

static void write_failures(struct buf *out, const struct session_stats *files)
{
	metrics_head(out, "files_failed_total", "counter",
		     "Profiles that could not be written, by cause.");
	for (int i = 0; i < FILES_CAUSES; i++)
		buf_printf(out, "stackprobe_files_failed_total{cause=\"%s\"} %llu\n",
			   files_cause_name(i), (unsigned long long)files->files_causes[i]);
	metrics_one(out, "unwritten_samples_total", "counter", "Weight of these profiles.",
		    (double)files->unwritten);
}

static void write_daemon(struct buf *out)
{
	_cleanup_buf_ struct buf statm = BUF_INIT(256);
	struct rusage usage;
	unsigned long long total, resident = 0;

	if (file_read(AT_FDCWD, "/proc/self/statm", &statm) == 0) {
		buf_char(&statm, '\0');
		if (!buf_error(&statm) && sscanf(statm.data, "%llu %llu", &total, &resident) != 2)
			resident = 0;
	}
	getrusage(RUSAGE_SELF, &usage);
	metrics_one(out, "resident_memory_bytes", "gauge", "Resident memory of the daemon.",
		    (double)resident * (double)sysconf(_SC_PAGESIZE));
	metrics_one(out, "cpu_seconds_total", "counter", "CPU time of the daemon, user and system.",
		    (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
			    (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6);
}

static void write_windows(struct buf *out, const struct engine_stats *stats)
{
	metrics_head(out, "looks_total", "counter",
		     "Readings of new stacks between windows' ends: one was urgent, or in turn.");
	buf_printf(out, "stackprobe_looks_total{cause=\"woken\"} %llu\n",
		   (unsigned long long)stats->looks.woken);
	buf_printf(out, "stackprobe_looks_total{cause=\"in_turn\"} %llu\n",
		   (unsigned long long)stats->looks.in_turn);
	metrics_one(out, "windows_total", "counter", "Windows read.", (double)stats->drain.windows);
	metrics_one(out, "window_stacks", "gauge", "Distinct stacks in the window read last.",
		    (double)stats->drain.window_stacks);
}

static void write_symbols(struct buf *out, const struct symbol_files_stats *files)
{
	metrics_one(out, "symbol_files", "gauge", "Files with code that are known.",
		    (double)files->files);
	metrics_one(out, "symbol_files_unreadable", "gauge",
		    "Of these, files whose functions can't be read.", (double)files->unreadable);
	metrics_one(out, "symbol_files_held", "gauge", "Files of targets that are held open.",
		    (double)files->held);
	metrics_one(out, "symbol_bytes", "gauge", "Memory of the functions that are known.",
		    (double)files->bytes);
	metrics_one(out, "symbol_readings_total", "counter",
		    "How often a file's functions were read.", (double)files->readings);
	metrics_head(
		out, "symbols_lost_total", "counter",
		"Distinct addresses of a window whose function could not be looked up, by cause.");
	for (int i = 0; i < SYMBOL_LOST_COUNT; i++)
		buf_printf(out, "stackprobe_symbols_lost_total{cause=\"%s\"} %llu\n",
			   symbol_loss_name(i), (unsigned long long)files->lost[i]);
	metrics_head(out, "perf_maps_lost_total", "counter",
		     "Distinct addresses of a window whose perf map could not tell, by cause.");
	for (int i = 0; i < PERFMAP_LOST_COUNT; i++)
		buf_printf(out, "stackprobe_perf_maps_lost_total{cause=\"%s\"} %llu\n",
			   perfmap_loss_name(i), (unsigned long long)files->perfmaps_lost[i]);
}

static void write_containers(struct buf *out, const struct containers_stats *stats,
			     uint64_t searches_failed)
{
	metrics_one(out, "containers", "gauge", "Containers that are known.",
		    (double)stats->containers);
	metrics_one(out, "containers_refused_total", "counter",
		    "Processes of a container that found no room among those known.",
		    (double)stats->refused);
	metrics_one(out, "containers_unnamed_total", "counter",
		    "Containers of which their runtime told nothing.", (double)stats->unnamed);
	metrics_one(out, "containers_given_up_total", "counter",
		    "Readings of containers' names that took too long.", (double)stats->given_up);
	metrics_one(out, "containers_searches_failed_total", "counter",
		    "Searches for processes of containers that were given up or found no memory; "
		    "they are made again.",
		    (double)searches_failed);
}

static void write_refused(struct buf *out, const uint64_t refused[REFUSALS])
{
	static const char *const causes[] = {REFUSAL_LIST(NAMED_NAME)};

	metrics_head(out, "http_refused_total", "counter",
		     "Requests that were not let in, by cause (doc/security.md).");
	for (int i = 0; i < REFUSALS; i++)
		buf_printf(out, "stackprobe_http_refused_total{cause=\"%s\"} %llu\n", causes[i],
			   (unsigned long long)refused[i]);
}

void metrics_write(const struct services *services, const struct caller *caller,
		   struct answer *answer)
{
	bool of_processes = caller->role >= ROLE_READ;
	struct buf *out = &answer->body;
	struct engine_stats stats;
	struct session_stats files;
	struct upload_status upload;

	engine_refresh(services->engine);
	engine_stats(services->engine, &stats);
	session_stats(services->flamegraph, &files);
	answer->status = 200;
	answer->content_type = "text/plain; version=0.0.4; charset=utf-8";
	write_probes(out, services);
	write_samples(out, &stats);
	write_windows(out, &stats);
	metrics_one(out, "cpus", "gauge", "CPUs that are sampled.", (double)stats.cpus);
	metrics_one(out, "targets", "gauge", "Processes that match and live.",
		    (double)stats.targets.alive);
	metrics_one(out, "targets_ended_total", "counter",
		    "Processes (and names of them) that ended.", (double)stats.targets.table.ended);
	metrics_one(out, "targets_refused_total", "counter",
		    "Processes that found no room in a table.",
		    (double)(stats.targets.refused + stats.targets.table.refused));
	metrics_one(out, "jobs_given_up_total", "counter",
		    "Jobs given up because a file system or a process hung, or was too slow.",
		    (double)stats.given_up);
	metrics_one(out, "jobs_refused_total", "counter",
		    "Jobs refused because too many others, of their user or of all, hung.",
		    (double)stats.refused_jobs);
	metrics_one(out, "children_left", "gauge",
		    "Processes of the daemon's own that were to end and haven't yet.",
		    (double)reaper_bury());
	metrics_one(out, "mappings_left_out_total", "counter",
		    "Mappings that have no names: their process has too many, or their paths are "
		    "too long.",
		    (double)stats.targets.mappings_left_out);
	write_containers(out, &stats.containers, stats.targets.searches_failed);
	write_symbols(out, &stats.files);
	metrics_one(out, "files_written_total", "counter", "Profiles written to files.",
		    (double)files.files_written);
	write_failures(out, &files);
	write_cleaned(out, &files.cleaned);
	metrics_one(out, "ondemand_sessions", "gauge", "Sessions on demand that run.",
		    (double)ondemands_count(services->ondemands));
	metrics_one(out, "bpf_runtime_seconds", "gauge",
		    "Run time of the loaded BPF programs (0 while kernel.bpf_stats_enabled is 0).",
		    (double)stats.bpf_time_ns / 1e9);
	metrics_unwind(out, services, &stats, of_processes);
	metrics_memory(out, services, &stats);
	metrics_python(out, services, &stats.codes[CODES_PYTHON]);
	metrics_java(out, services, &stats);
	metrics_sched(out, services);
	session_uploads_status(services->flamegraph, &upload);
	metrics_upload(out, &upload);
	if (of_processes)
		metrics_process(out, services, &stats);
	write_refused(out, services->refused);
	write_daemon(out);
}
