// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/record/recording.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "api/conf/conf.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "command/command.h"
#include "proc/proc.h"

/* A signal repeated within this time counts once: `timeout` sends a signal to its child and to the
 * whole group. */
#define SAME_WISH_NS (200 * NS_PER_MS)

static void recording_fail(struct recording *recording, const char *what, const char *why)
{
	progress_erase(&recording->progress);
	fprintf(stderr, "stackprobe: %s: %s\n", what, why);
	recording->failure = EXIT_FAILED;
}

/* ---- the end ---- */

/* Called when all files are written, or can't be: ends sampling. */
static void profiles_written(void *arg)
{
	struct recording *recording = arg;

	engine_unsubscribe(recording->core.engine, recording->subscriber);
	recording->subscriber = NULL;
	recording->ending = recording->written = true;
	loop_timer_cancel(recording->core.loop, &recording->tick);
	if (recording->writer.failed)
		recording->failure = EXIT_FAILED;
	if (!recording->workload.pid || recording->workload.ended)
		loop_stop(recording->core.loop);
}

static void prepare_writer(struct recording *recording)
{
	recording->writer = (struct record_writer){
		.options = recording->options,
		.files = recording->files,
		.core = &recording->core,
		.subscriber = recording->subscriber,
		.progress = &recording->progress,
		.peak = recording->options->peak ? &recording->peak : NULL,
		.done = profiles_written,
		.arg = recording,
	};
}

static void end_recording(struct recording *recording)
{
	if (recording->ending)
		return;
	recording->ending = true;
	if (recording->pressure) { /* there is nothing to write */
		recording_fail(recording, "nothing was recorded", "the trigger hasn't fired");
		loop_stop(recording->core.loop);
		return;
	}
	loop_timer_cancel(recording->core.loop, &recording->end);
	loop_timer_cancel(recording->core.loop, &recording->tick);
	progress_erase(&recording->progress);
	peak_end(&recording->peak);
	recording->writer.took_ns = loop_now_ns() - recording->began_ns;
	record_writer_start(&recording->writer);
}

/* ---- what ends a recording ---- */

static void time_is_over(void *arg)
{
	struct recording *recording = arg;

	recording->terminated = recording->workload.pid != 0;
	workload_signal(&recording->workload, SIGTERM);
	end_recording(recording);
}

/*
 * Passes a signal that we got on to the command. A signal from the terminal (SI_KERNEL) has reached
 * the command already; another one is sent to it. The command gets SIGTERM at a second signal, and
 * instead of a SIGINT that it ignores.
 */
static void pass_on(struct recording *recording, const struct signalfd_siginfo *info)
{
	uint64_t now = loop_now_ns();
	int number = (int)info->ssi_signo;

	if (recording->interrupted_ns && now - recording->interrupted_ns < SAME_WISH_NS)
		return;
	if (recording->interrupted_ns ||
	    (number == SIGINT && recording->workload.ignores_int && info->ssi_code != SI_KERNEL))
		workload_signal(&recording->workload, SIGTERM);
	else if (info->ssi_code != SI_KERNEL)
		workload_signal(&recording->workload, number);
	recording->interrupted_ns = now;
}

static void on_signal(void *arg)
{
	struct recording *recording = arg;
	struct signalfd_siginfo info;

	if (read(recording->signals.fd, &info, sizeof(info)) != sizeof(info))
		return;
	pass_on(recording, &info);
	end_recording(recording);
}

static void workload_execed(void *arg)
{
	struct recording *recording = arg;
	int error = workload_exec_error(&recording->workload);

	loop_unwatch(recording->core.loop, &recording->exec);
	recording->execed = true;
	if (!error)
		return;
	recording_fail(recording, recording->options->command[0],
		       error == ENOENT ? "command not found" : strerror(error));
	recording->failure = error == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_RUN;
	recording->ending = true; /* there is nothing to write */
	workload_wait(&recording->workload);
	loop_stop(recording->core.loop);
}

static void workload_ended(void *arg)
{
	struct recording *recording = arg;

	loop_unwatch(recording->core.loop, &recording->workload_end);
	workload_wait(&recording->workload);
	if (!recording->execed) /* the command may have ended because exec failed */
		workload_execed(recording);
	end_recording(recording);
	if (recording->written)
		loop_stop(recording->core.loop);
}

struct living {
	const struct recording *recording;
	size_t count;
};

/* Counts a target, unless it has ended: /proc still has a process that nobody has waited for. */
static void count_living(void *arg, const struct target *target)
{
	struct living *living = arg;
	const struct recording *recording = living->recording;

	for (size_t i = 0; i < recording->watched_count; i++) {
		if (recording->watched[i].pid == target->pid && recording->watched[i].ended)
			return;
	}
	living->count++;
}

static void end_if_alone(struct recording *recording)
{
	struct living living = {.recording = recording};

	if (recording->workload.pid || recording->ending ||
	    record_wishes_choose(&recording->options->wishes))
		return;
	for (size_t i = 0; i < recording->watched_count; i++) {
		if (!recording->watched[i].ended)
			return;
	}
	engine_refresh(recording->core.engine);
	engine_targets(recording->core.engine, count_living, &living);
	if (!living.count)
		end_recording(recording);
}

static void process_ended(void *arg)
{
	struct watched_process *watched = arg;

	loop_unwatch(watched->recording->core.loop, &watched->end);
	watched->ended = true;
	end_if_alone(watched->recording);
}

/* Returns whether a line of progress would stand between blocks on a terminal. */
static bool is_between_blocks(const struct recording *recording)
{
	return recording->options->every_ns && strcmp(recording->options->path, "-") == 0;
}

static void every_second(void *arg)
{
	struct recording *recording = arg;
	uint64_t now = loop_now_ns(), samples = 0, lost = 0;
	struct engine_stats stats;

	engine_stats(recording->core.engine, &stats);
	for (int i = 0; i < PROBE_COUNT; i++)
		samples += stats.samples[i];
	for (int i = 0; i < LOSERS_COUNT * LOST_COUNT; i++) {
		enum loss where = i % LOST_COUNT;

		if (where != LOST_LIFE_FULL && where != LOST_TARGETS_FULL)
			lost += stats.lost[i / LOST_COUNT][where];
	}
	if (!recording->options->quiet && !is_between_blocks(recording))
		progress_draw(&recording->progress, (now - recording->began_ns) / NS_PER_S, samples,
			      lost);
	loop_timer_set(recording->core.loop, &recording->tick, now + NS_PER_S);
	end_if_alone(recording);
}

/* ---- the begin ---- */

static int watch_fd(struct recording *recording, struct loop_watch *watch, int fd,
		    void (*ready)(void *arg), void *arg)
{
	*watch = (struct loop_watch){.fd = fd, .ready = ready, .arg = arg, .name = "record"};
	return fd < 0 ? -errno : loop_watch(recording->core.loop, watch);
}

static int watch_signals(struct recording *recording)
{
	struct sigaction hangup;
	sigset_t set;

	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGQUIT);
	sigaddset(&set, SIGTERM);
	if (sigaction(SIGHUP, NULL, &hangup) == 0 && hangup.sa_handler != SIG_IGN)
		sigaddset(&set, SIGHUP); /* under nohup SIGHUP stays ignored */
	sigprocmask(SIG_BLOCK, &set, NULL);
	return watch_fd(recording, &recording->signals,
			signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK), on_signal, recording);
}

static int watch_processes(struct recording *recording)
{
	const struct record_options *options = recording->options;
	int r = 0;

	recording->watched = calloc(options->ids_count + 1, sizeof(*recording->watched));
	if (!recording->watched)
		return -ENOMEM;
	for (size_t i = 0; r == 0 && i < options->ids_count; i++) {
		struct watched_process *watched = &recording->watched[recording->watched_count++];
		pid_t pid = options->ids[i].pid;
		int fd = (int)syscall(SYS_pidfd_open, pid, 0);

		*watched =
			(struct watched_process){.recording = recording, .pid = pid, .end.fd = -1};
		if (fd < 0 && errno == ESRCH)
			watched->ended = true; /* it has ended just now */
		else
			r = watch_fd(recording, &watched->end, fd, process_ended, watched);
	}
	return r;
}

static int watch_all(struct recording *recording)
{
	struct workload *workload = &recording->workload;
	int r = watch_processes(recording);

	if (r == 0 && workload->pid)
		r = watch_fd(recording, &recording->exec, workload->exec_fd, workload_execed,
			     recording);
	if (r == 0 && workload->pid)
		r = watch_fd(recording, &recording->workload_end, workload->pidfd, workload_ended,
			     recording);
	recording->end =
		(struct loop_timer){.expired = time_is_over, .arg = recording, .name = "record"};
	recording->tick =
		(struct loop_timer){.expired = every_second, .arg = recording, .name = "record"};
	return r;
}

static int set_params(struct engine *engine, const struct record_options *options, struct why *why)
{
	int r = engine_set_period(engine, options->period_ns, why);

	for (int probe = 0; r == 0 && probe < PROBE_COUNT; probe++) {
		if (options->probes & 1u << probe)
			r = engine_set_values(engine, probe, &options->spec.params.probes[probe],
					      why);
	}
	if (options->max_overhead_given)
		engine_set_max_overhead(engine, (unsigned)options->spec.params.max_overhead);
	if (r == 0 && record_wishes_choose(&options->wishes)) {
		r = engine_set_snoopers(engine, FEATURE_FLAMEGRAPH, options->spec.snoopers);
		if (r < 0)
			why_set(why, "the processes can't be found: %s", strerror(-r));
	}
	return r;
}

/* Subscribes: from here on the processes are sampled, a command from its exec on. */
static int arm_processes(struct recording *recording, struct why *why)
{
	const struct record_options *options = recording->options;
	struct engine *engine = recording->core.engine;
	struct process_id own = {.pid = recording->workload.pid};
	struct subscription subscription = {
		.probes = options->probes, .all = true, .detail = options->detail};
	struct proc_stat stat = {0};
	int r = own.pid ? proc_stat(own.pid, &stat) : 0;

	own.start_ticks = stat.start_ticks;
	subscription.chosen = (struct chosen){
		.ids = own.pid ? &own : options->ids,
		.count = own.pid ? 1 : options->ids_count, /* 0: those that snoopers choose */
		.across_exec = true,
		.tids = options->tids,
		.tids_count = options->tids_count,
		.from_exec = own.pid != 0,
	};
	why_set(why, "%s", r < 0 ? "the command's process has gone" : "");
	if (r == 0 && !proc_pids_are_the_hosts()) {
		why_set(why, "pids here are not the host's (a container needs the host's pid "
			     "namespace: --pid=host)");
		r = -ENOTSUP;
	}
	if (r == 0)
		r = set_params(engine, options, why);
	if (r == 0)
		r = engine_subscribe(engine, &subscription, &recording->subscriber, why);
	return r;
}

/* Starts the command and the clock, when all is armed. Returns 0, or -ECHILD if the command's
 * process has ended already. */
static int start_clock(struct recording *recording)
{
	if (recording->workload.pid && workload_release(&recording->workload) < 0) {
		workload_wait(&recording->workload); /* a signal has ended it before its exec */
		return -ECHILD;
	}
	if (recording->ending)
		return 0;
	recording->began_ns = recording->writer.began_ns = loop_now_ns();
	subscriber_begin(recording->subscriber);
	recording->peak.core = &recording->core;
	recording->peak.subscriber = recording->subscriber;
	if (recording->options->peak)
		peak_begin(&recording->peak);
	if (recording->options->duration_ns)
		loop_timer_set(recording->core.loop, &recording->end,
			       recording->began_ns + recording->options->duration_ns);
	if (recording->options->every_ns)
		record_writer_repeat(&recording->writer);
	every_second(recording);
	return 0;
}

static void processes_armed(void *arg)
{
	struct recording *recording = arg;

	if (start_clock(recording) == 0)
		return;
	recording->ending = true; /* there is nothing to write */
	loop_stop(recording->core.loop);
}

static int begin_sampling(struct recording *recording)
{
	struct why why;
	int r = arm_processes(recording, &why);

	if (r < 0) {
		recording_fail(recording, "can't record", why.text);
		return r;
	}
	recording->began_ns = recording->peak.began_ns = loop_now_ns();
	prepare_writer(recording);
	return engine_when_armed(recording->core.engine, processes_armed, recording)
		       ? 0
		       : start_clock(recording);
}

/* ---- the trigger ---- */

static void trigger_fired(void *arg)
{
	struct recording *recording = arg;

	pressure_close(TAKE_PTR(recording->pressure));
	if (!recording->options->quiet)
		fputs("stackprobe: the trigger fired, the recording begins\n", stderr);
	if (begin_sampling(recording) == 0)
		return;
	recording->ending = true; /* there is nothing to write */
	loop_stop(recording->core.loop);
}

static void trigger_ended(void *arg, int error, const struct why *why)
{
	struct recording *recording = arg;

	(void)error;
	recording_fail(recording, "can't wait for the trigger", why->text);
	recording->ending = true;
	loop_stop(recording->core.loop);
}

static int wait_for_trigger(struct recording *recording)
{
	const struct pressure_wish wish = {recording->options->trigger, trigger_fired,
					   trigger_ended, recording};
	char words[PRESSURE_WORDS_BYTES];
	const char *not_kernel;
	struct why why;
	int r = pressure_open(&recording->pressure, recording->core.loop, &wish, &why);

	if (r < 0) {
		recording_fail(recording, "can't wait for the trigger", why.text);
		return r;
	}
	if (recording->options->quiet)
		return 0;
	pressure_text_say(&wish.text, words, sizeof(words));
	fprintf(stderr, "stackprobe: waits for its trigger: %s; Ctrl-C ends that\n", words);
	if (!pressure_is_kernels(recording->pressure, &not_kernel))
		fprintf(stderr, "stackprobe: looks each second, as %s\n", not_kernel);
	return 0;
}

/* ---- all of it ---- */

static int begin_recording(struct recording *recording)
{
	struct conf conf;
	int r = conf_init(&conf); /* for the sizes */

	if (r == 0)
		r = core_init(&recording->core, &conf.sizes);
	conf_done(&conf);
	if (r == 0)
		r = watch_signals(recording);
	if (r == 0)
		r = watch_all(recording);
	if (r < 0) {
		recording_fail(recording, "can't record", strerror(-r));
		return r;
	}
	if (view_is_held(recording->options->view) && recording->options->command)
		engine_keep_ended(recording->core.engine);
	return recording->options->waits ? wait_for_trigger(recording) : begin_sampling(recording);
}

static void tear_down(struct recording *recording)
{
	core_quiet(&recording->core);
	pressure_close(recording->pressure);
	peak_done(&recording->peak);
	record_writer_done(&recording->writer);
	if (recording->subscriber)
		engine_unsubscribe(recording->core.engine, recording->subscriber);
	for (size_t i = 0; i < recording->watched_count; i++) {
		if (recording->watched[i].end.fd >= 0)
			close(recording->watched[i].end.fd);
	}
	free(recording->watched);
	if (recording->signals.fd > 0)
		close(recording->signals.fd);
	core_done(&recording->core);
}

void recording_run(struct recording *recording)
{
	log_set_level(LOG_WARN);
	if (begin_recording(recording) == 0) {
		int r = loop_run(recording->core.loop);

		if (r < 0) {
			recording_fail(recording, "the loop ended", strerror(-r));
			workload_signal(&recording->workload, SIGTERM);
		}
	}
	tear_down(recording);
}
