// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/self_profile.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "api/conf/conf.h"
#include "command/core.h"
#include "proc/proc.h"
#include "capability/trial.h"
#include "base/clock.h"
#include "kind/kind.h"

#define PERIOD_NS   (1 * NS_PER_MS)
#define BURN_NS	    (100 * NS_PER_MS)
#define PATIENCE_NS (5 * NS_PER_S)
#define NAMED_NS    (30 * NS_PER_S)
#define TURNS	    20000

/* Exported, so that the function has a name even in a stripped program. TURNS turns take about as
 * many us as clock_ns(CLOCK_THREAD_CPUTIME_ID) takes ns. */
void stackprobe_doctor_burns(uint64_t turns);

__attribute__((noinline, used, visibility("default"))) void stackprobe_doctor_burns(uint64_t turns)
{
	for (volatile uint64_t i = 0; i < turns; i++)
		continue;
}

static void burn_cpu(void)
{
	uint64_t end = loop_now_ns() + PATIENCE_NS,
		 until = clock_ns(CLOCK_THREAD_CPUTIME_ID) + BURN_NS;

	while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < until && loop_now_ns() < end)
		stackprobe_doctor_burns(TURNS);
}

struct seen_samples {
	uint64_t samples, named;
};

static bool count_frame(void *arg, const struct tree_frame *node)
{
	static const char name[] = "stackprobe_doctor_burns";
	struct seen_samples *seen = arg;

	if (node->depth == 0)
		seen->samples = node->total;
	if (node->frame.name_len == sizeof(name) - 1 &&
	    memcmp(node->frame.name, name, node->frame.name_len) == 0)
		seen->named += node->total;
	return true;
}

static void judge_profile(const struct profile *profile, struct finding *finding)
{
	static const struct tree_visitor visitor = {.open = count_frame};
	struct seen_samples seen = {0};

	if (tree_walk(profile->tree, TREE_ROOT, &visitor, &seen) < 0)
		finding_set(finding, FINDING_NO, "no memory");
	else if (!seen.samples)
		finding_set(finding, FINDING_NO,
			    "the programs run, but gave no sample of this busy process");
	else
		finding_set(finding, seen.named ? FINDING_YES : FINDING_LIMITED,
			    "%llu samples in 0.1 s of ours, %llu with the name of a function",
			    (unsigned long long)seen.samples, (unsigned long long)seen.named);
}

static void end_loop(void *arg)
{
	loop_stop(arg);
}

struct patience {
	struct loop *loop;
	bool over;
};

static void end_patience(void *arg)
{
	struct patience *patience = arg;

	patience->over = true;
	loop_stop(patience->loop);
}

/* Burns CPU time once this process is armed, then waits until the samples have names. Returns 0, or
 * a negative errno: -ETIME if they have none after NAMED_NS. */
static int collect_samples(struct core *core)
{
	struct patience patience = {.loop = core->loop};
	struct loop_timer late = {.expired = end_patience, .arg = &patience, .name = "doctor"};

	if (engine_when_armed(core->engine, end_loop, core->loop)) {
		int r = loop_run(core->loop);
		if (r < 0)
			return r;
	}
	burn_cpu();
	engine_drain(core->engine, end_loop, core->loop);
	loop_timer_set(core->loop, &late, loop_now_ns() + NAMED_NS);
	int r = loop_run(core->loop);
	loop_timer_cancel(core->loop, &late);
	return r == 0 && patience.over ? -ETIME : r;
}

static int profile_self(struct core *core, struct finding *finding)
{
	struct process_id self = {.pid = getpid()};
	struct subscription subscription = {.probes = 1u << kind_of_clock(), .chosen = {&self, 1}};
	struct subscriber *subscriber = NULL;
	struct engine_stats stats;
	struct proc_stat stat;
	struct why why = {0};
	int r = proc_stat(getpid(), &stat);

	self.start_ticks = r == 0 ? stat.start_ticks : 0;
	if (r == 0)
		r = engine_set_period(core->engine, PERIOD_NS, &why);
	if (r == 0)
		r = engine_subscribe(core->engine, &subscription, &subscriber, &why);
	if (r < 0) {
		finding_set(finding, FINDING_NO, "%s", why.text[0] ? why.text : error_words(-r));
		return r;
	}
	r = collect_samples(core);
	engine_stats(core->engine, &stats);
	core_quiet(core); /* no job uses the tree any more */
	if (r == 0)
		judge_profile(subscriber_profile(subscriber, kind_of_clock()), finding);
	else if (r == -ETIME)
		finding_set(finding, FINDING_NO,
			    "the programs run, but %llu s later their samples have no names yet",
			    (unsigned long long)(NAMED_NS / NS_PER_S));
	return r;
}

void self_profile(struct finding *finding)
{
	struct core core = {0};
	struct conf conf = {0};
	int r = conf_init(&conf);

	*finding = (struct finding){.state = FINDING_NO};
	log_set_level(LOG_ERROR + 1); /* no log: errors are in the finding */
	if (r == 0)
		r = core_init(&core, &conf.sizes);
	if (r == 0)
		r = profile_self(&core, finding);
	else
		core_quiet(&core);
	if (r < 0 && !finding->reason[0])
		finding_set(finding, FINDING_NO, "%s", error_words(-r));
	core_done(&core);
	conf_done(&conf);
}
