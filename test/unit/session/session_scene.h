/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The configured session and sessions on demand over a scripted tracer, with two processes and a
 * folder for their files. Periods, windows and sessions on demand end when the test says so.
 */
#pragma once

#include "unit/lib/folder.h"
#include "unit/lib/scripted_core.h"
#include "unit/session/long_timers.h"

#include <glob.h>

#include "base/log.h"
#include "session/ondemand.h"
#include "session/session.h"
#include "session/session_params.h"

#define ONCPU  (1U << PROBE_ONCPU)
#define OFFCPU (1U << PROBE_OFFCPU)
#define MEM    (1U << PROBE_MEM)
#define GLIBC  (1U << PROBE_MEM_GLIBC)
#define HOST   "testhost"

struct scene {
	struct scripted_core scripted;
	struct core *core;
	struct folder folder;
	const char *root;
	struct upload_options upload;
	struct process worker, other; /* by these names */
	struct spec spec;	      /* what is applied next */
	struct session *session;
	struct ondemands *ondemands;
	atomic_bool held;  /* bulk worker, by scene_hold() */
	atomic_bool holds; /* it has begun to wait */
	bool closes, closed, is_quiet;
};

static inline void scene_params(struct scene *scene, struct params *params)
{
	params_default(flamegraph_params(), params);
	params->svg_period_s = PERIOD_S;
	params->java_source = JAVA_NATIVE;
	snprintf(params->svg_dir, sizeof(params->svg_dir), "%s/svg", scene->folder.path);
	snprintf(params->flame_dir, sizeof(params->flame_dir), "%s/flame", scene->folder.path);
}

/* Makes an upload's options: no disk, and windows that end when the test says so. */
static inline void scene_upload_options(struct upload_options *options)
{
	assert_int_equal(upload_options_init(options), 0);
	free(options->spool_dir);
	options->spool_dir = strdup("");
	options->spread_s = 0;
	options->period_s = WINDOW_S;
}

static inline void scene_setup(struct scene *scene, struct session_setup *setup)
{
	*setup = (struct session_setup){
		.loop = scene->core->loop,
		.engine = scene->core->engine,
		.files = {scene->core->bulk, scene->core->foreign, {&scene->root, 1}, HOST},
		.upload = &scene->upload,
	};
}

static inline void scene_begin_session(struct scene *scene)
{
	struct session_setup setup;
	struct why why = {0};

	scene_setup(scene, &setup);
	assert_int_equal(session_new(&scene->session, &setup, &why), 0);
}

static inline int scene_begin(void **state)
{
	struct scene *scene = calloc(1, sizeof(*scene));
	struct params params;

	if (!__real_loop_timer_set) {
		print_message("not linked with --wrap=loop_timer_set\n");
		free(scene);
		return -1;
	}
	assert_non_null(scene);
	log_set_level(LOG_ERROR);
	memset(long_timers, 0, sizeof(long_timers));
	memset(scripted_errors, 0, sizeof(scripted_errors));
	scene->core = &scene->scripted.core;
	folder_make(&scene->folder);
	scene->root = scene->folder.path;
	process_begin(&scene->worker, "worker");
	process_begin(&scene->other, "other");
	scripted_core_begin(&scene->scripted);
	scene_upload_options(&scene->upload);
	scene_params(scene, &params);
	assert_int_equal(spec_init(&scene->spec, &params), 0);
	assert_int_equal(snoopers_add_id(scene->spec.snoopers, scene->worker.pid), 0);
	assert_int_equal(snoopers_add_id(scene->spec.snoopers, scene->other.pid), 0);
	scene->spec.probes = ONCPU;
	scene->spec.running = true;
	scene_begin_session(scene);
	struct ondemand_setup setup = {scene->core->loop, scene->core->engine, scene->core->bulk,
				       HOST};
	assert_int_equal(ondemands_new(&scene->ondemands, &setup), 0);
	*state = scene;
	return 0;
}

/* ---- the loop ---- */

static inline void scene_stop_loop(void *arg)
{
	loop_stop(arg);
}

/* Runs the loop for a moment. */
static inline void scene_turn(struct scene *scene)
{
	struct loop_timer timer = {.expired = scene_stop_loop, .arg = scene->core->loop};

	loop_timer_set(scene->core->loop, &timer, loop_now_ns() + SCRIPTED_LOOK_NS);
	assert_int_equal(loop_run(scene->core->loop), 0);
	loop_timer_cancel(scene->core->loop, &timer);
}

/* Lets it work until that is so. */
#define run_until(scene, what)                                                                     \
	do {                                                                                       \
		uint64_t until_ns_ = loop_now_ns() + SCRIPTED_PATIENCE_NS;                         \
		while (!(what) && loop_now_ns() < until_ns_)                                       \
			scene_turn(scene);                                                         \
		if (!(what))                                                                       \
			fail_msg("in vain: %s", #what);                                            \
	} while (0)

static inline void scene_note_closed(void *arg)
{
	struct scene *scene = arg;

	scene->closed = true;
}

/* Begins to close the session; scene->closed says when that is done. */
static inline void scene_close(struct scene *scene)
{
	scene->closes = true;
	session_close(scene->session, scene_note_closed, scene);
}

/* Ends all jobs: from here on none is done any more. */
static inline void scene_quiet(struct scene *scene)
{
	scene->is_quiet = true;
	core_quiet(scene->core);
}

/* Ends it as the daemon ends: closes the session, unless the test has made all quiet. */
static inline int scene_end(void **state)
{
	struct scene *scene = *state;

	scene->held = false;
	memset(scripted_errors, 0, sizeof(scripted_errors));
	if (!scene->closes && !scene->is_quiet)
		scene_close(scene);
	if (!scene->is_quiet) {
		run_until(scene, scene->closed);
		scene_quiet(scene);
	}
	ondemands_free(scene->ondemands);
	session_cancel_fetches(scene->session);
	session_free(scene->session);
	core_done(scene->core);
	process_end(&scene->worker);
	process_end(&scene->other);
	spec_done(&scene->spec);
	upload_options_done(&scene->upload);
	folder_done(&scene->folder);
	free(scene);
	return 0;
}

#define SCENE_TEST(test) cmocka_unit_test_setup_teardown(test, scene_begin, scene_end)

static inline void scene_drain(struct scene *scene)
{
	scripted_core_drain(&scene->scripted);
}

/* A job that lets the bulk worker's later jobs wait. */
struct holding {
	struct job job;
	struct scene *scene;
};

static inline void holding_run(struct job *job)
{
	struct scene *scene = ((struct holding *)job)->scene;

	scene->holds = true;
	while (scene->held)
		usleep(200);
	scene->holds = false;
}

static inline void holding_done(struct job *job, bool finished)
{
	(void)job, (void)finished;
}

static inline void holding_free(struct job *job)
{
	free(job);
}

/* From here on nothing is named, rendered or added up, until scene_release(). */
static inline void scene_hold(struct scene *scene)
{
	struct holding *holding = calloc(1, sizeof(*holding));

	assert_non_null(holding);
	holding->job = (struct job){
		.run = holding_run, .done = holding_done, .free = holding_free, .unlimited = true};
	holding->scene = scene;
	scene->held = true;
	worker_submit(scene->core->bulk, &holding->job);
	run_until(scene, scene->holds);
}

static inline void scene_release(struct scene *scene)
{
	scene->held = false;
}

/* ---- what is sampled ---- */

/* Has the kernel's side count a stack of two addresses of a process. */
static inline void sample_once(const struct process *process, const char *comm, enum probe probe,
			       uint64_t weight)
{
	uint64_t words[2] = {(uint64_t)FRAME_NATIVE << FRAME_KIND_SHIFT | 0x1000,
			     (uint64_t)FRAME_NATIVE_RETURN << FRAME_KIND_SHIFT | 0x2000};
	struct target_value value = {0};

	assert_int_equal(tracer_target_get(scripted, process->pid, &value), 0);
	struct stack stack = {
		.key = {.hash = 1, .tgid = (uint32_t)process->pid, .probe = probe},
		.target_id = value.id,
		.time_ns = loop_now_ns(),
		.words_count = 2,
	};
	struct count_key key = {.stack = stack.key, .tid = stack.key.tgid, .cpu = CPU_ANY};
	struct stack_count count = {.weight = weight, .samples = 1, .events = 1};

	snprintf(stack.comm, sizeof(stack.comm), "%s", comm);
	scripted_stack(&stack, words);
	scripted_count(&key, &count);
}

static inline void sample_worker(const struct scene *scene, enum probe probe, uint64_t weight)
{
	sample_once(&scene->worker, "worker", probe, weight);
}

static inline void sample_other(const struct scene *scene, enum probe probe, uint64_t weight)
{
	sample_once(&scene->other, "other", probe, weight);
}

/* ---- the configured session ---- */

/* Applies the scene's spec. */
static inline void apply(struct scene *scene)
{
	struct why why = {0};

	if (session_apply(scene->session, &scene->spec, &why) < 0)
		fail_msg("refused: %s", why.text);
}

static inline bool is_sampled(const struct process *process, uint32_t probes)
{
	return (scripted_probes(process->pid) & probes) == probes;
}

/* Applies it, and waits until both processes are sampled. */
static inline void begin_sampling(struct scene *scene, uint32_t probes)
{
	scene->spec.probes = probes;
	apply(scene);
	run_until(scene, is_sampled(&scene->worker, probes) && is_sampled(&scene->other, probes));
}

static inline void apply_stop(struct scene *scene)
{
	scene->spec.running = false;
	apply(scene);
}

static inline const char *state_of(const struct scene *scene, enum probe probe)
{
	const char *why;

	return session_state(scene->session, probe, &why);
}

static inline bool is_state(const struct scene *scene, enum probe probe, const char *expected)
{
	return strcmp(state_of(scene, probe), expected) == 0;
}

static inline void end_period(void)
{
	long_timers_expire(PERIOD_S);
}

/* Returns whether it has stopped, and nothing samples any more. */
static inline bool has_stopped(const struct scene *scene)
{
	return is_state(scene, PROBE_ONCPU, "stopped") && !scripted->started;
}

static inline struct session_stats stats_of(const struct scene *scene)
{
	struct session_stats stats;

	session_stats(scene->session, &stats);
	return stats;
}

/* ---- files ---- */

/* Returns how many files there are by a pattern below the scene's folder. */
static inline size_t files_count(const struct scene *scene, const char *pattern)
{
	char path[256];
	glob_t found = {0};

	snprintf(path, sizeof(path), "%s/%s", scene->folder.path, pattern);
	int r = glob(path, 0, NULL, &found);
	size_t count = r == 0 ? found.gl_pathc : 0;

	globfree(&found);
	return count;
}

/* Returns the contents, one after the other, of the files by a pattern; static. */
static inline const char *files_text(const struct scene *scene, const char *pattern)
{
	static char text[65536];
	char path[256];
	size_t len = 0;
	glob_t found = {0};

	snprintf(path, sizeof(path), "%s/%s", scene->folder.path, pattern);
	if (glob(path, 0, NULL, &found) == 0) {
		for (size_t i = 0; i < found.gl_pathc; i++) {
			FILE *file = fopen(found.gl_pathv[i], "r");

			assert_non_null(file);
			len += fread(text + len, 1, sizeof(text) - 1 - len, file);
			fclose(file);
		}
	}
	text[len] = '\0';
	globfree(&found);
	return text;
}

#define FOLDED_OF(probe) "flame/" probe "/2*/*.folded"
#define SVGS_OF(probe)	 "svg/" probe "/2*/*.svg"

/* Returns the sum of all weights in folded text. */
static inline uint64_t folded_sum(const char *text)
{
	uint64_t sum = 0;

	while (*text) {
		size_t len = strcspn(text, "\n");
		size_t at = len;

		while (at > 0 && text[at - 1] != ' ')
			at--;
		sum += strtoull(text + at, NULL, 10);
		text += len + (text[len] == '\n');
	}
	return sum;
}

/* ---- answers ---- */

/* What somebody who asked for a profile got. */
struct answer {
	unsigned calls;
	int error;
	char *text; /* owned */
};

static inline void answer_note(void *arg, int error, struct buf *content)
{
	struct answer *answer = arg;

	answer->calls++;
	answer->error = error;
	free(answer->text);
	answer->text = content && content->data ? strndup(content->data, content->len) : NULL;
}

static inline void answer_done(struct answer *answer)
{
	free(answer->text);
	*answer = (struct answer){0};
}
#define _cleanup_answer_ _cleanup_(answer_done)
