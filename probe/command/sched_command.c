// SPDX-License-Identifier: GPL-2.0-or-later
/* `stackprobe sched PROBE`: one look at the scheduler, without a daemon. */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "api/conf/conf.h"
#include "api/resource/sched_output.h"
#include "api/resource/sched_resource.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/log.h"
#include "command/command.h"
#include "command/core.h"
#include "command/privileges.h"
#include "command/put_words.h"
#include "output/text/near_word.h"
#include "proc/proc.h"
#include "sched/sched.h"
#include "sched/sched_params.h"

#define LOOK_SECONDS 10
#define SECONDS_MAX  86400
#define STEP_MAX     1000000
#define GO_ON	     (-1)
#define OUT_MAX	     ((size_t)256 << 20)

enum { OPTION_NAME = 256, OPTION_UNIT, OPTION_STEP, OPTION_BY, OPTION_MIN, OPTION_JSON };

static const char help[] =
	"Usage: stackprobe sched PROBE [OPTION]...\n"
	"A look at the scheduler: how long tasks wait for a CPU, have it, are away from it.\n"
	"\n"
	"  -d, --duration SECONDS  measure so long (default 10), or until Ctrl-C\n"
	"  -i, --interval SECONDS  measure again and again, each time so long\n"
	"  -n, --count N           that many times\n"
	"  -p, --pid PID[,PID]...  only these processes (default: all tasks)\n"
	"      --name REGEX        only processes with such a name\n"
	"      --by GROUP          a chart for each pid, tid, pidns, cgroup or cpu\n"
	"      --unit us|ms        what times are counted in (default us)\n"
	"      --step N            rows of N units, instead of powers of two\n"
	"      --min-us N          of runqslower, offcpuslower: waits that are longer (default "
	"10000)\n"
	"      --json              JSON instead of charts\n"
	"  -h, --help              say this\n"
	"\n"
	"Probes:";

struct sched_look {
	/* what was asked */
	struct sched_asking asking;
	const char *pids, *name, *group_by;
	uint64_t min_us;
	bool json, has_min;

	struct core core;
	struct sched *sched;
	struct sched_wait *wait;	 /* NULL: it is over */
	struct sched_follower *follower; /* of a probe of events */
	struct loop_watch signals;
	struct loop_timer end;
	int status;
};

static void list_probes(FILE *to)
{
	for (int i = 0; i < SCHED_COUNT; i++)
		fprintf(to, "%s %s", i ? "," : "", sched_kind_get(i)->name);
	fputc('\n', to);
}

static int find_probe(const char *word)
{
	const char *names[SCHED_COUNT];
	int probe = sched_kind_find(word);

	if (probe >= 0)
		return probe;
	for (int i = 0; i < SCHED_COUNT; i++)
		names[i] = sched_kind_get(i)->name;
	const char *meant = near_word(word, names, SCHED_COUNT);
	fprintf(stderr, "stackprobe: no such probe: %s%s%s%s; there are", word,
		meant ? " (is it " : "", meant ? meant : "", meant ? "?)" : "");
	list_probes(stderr);
	return probe;
}

/* Reads a number from 1 (or `min`) to `max`. Returns GO_ON, or an exit status. */
static int read_number(const char *text, uint64_t min, uint64_t max, uint64_t *number)
{
	char *end;

	errno = 0;
	unsigned long long value = strtoull(text, &end, 10);
	if (errno || *text < '0' || *text > '9' || *end || value < min || value > max)
		return usage_error("not a number that fits", text);
	*number = value;
	return GO_ON;
}

static int take_seconds(struct sched_look *look, const char *text, unsigned times)
{
	uint64_t seconds = 0;
	int r = read_number(text, 1, SECONDS_MAX, &seconds);

	if (r == GO_ON) {
		look->asking.seconds = (unsigned)seconds;
		look->asking.times = times;
	}
	return r;
}

static int take_unit(struct sched_look *look, const char *unit)
{
	if (strcmp(unit, "us") != 0 && strcmp(unit, "ms") != 0)
		return usage_error("--unit is us or ms", unit);
	look->asking.scale.unit_us = unit[0] == 'm' ? 1000 : 1;
	return GO_ON;
}

static int take_option(struct sched_look *look, int c, uint64_t *count)
{
	uint64_t number = 0;
	int r = GO_ON;

	switch (c) {
	case 'd':
		return take_seconds(look, optarg, 1);
	case 'i':
		return take_seconds(look, optarg, 0);
	case 'n':
		return read_number(optarg, 1, UINT_MAX, count);
	case 'p':
		if (look->pids)
			return usage_error("more than one -p: name all pids in one", optarg);
		look->pids = optarg;
		return GO_ON;
	case OPTION_NAME:
		look->name = optarg;
		return GO_ON;
	case OPTION_BY:
		look->group_by = optarg;
		return GO_ON;
	case OPTION_UNIT:
		return take_unit(look, optarg);
	case OPTION_STEP:
		r = read_number(optarg, 1, STEP_MAX, &number);
		look->asking.scale.step = (uint32_t)number;
		return r;
	case OPTION_MIN:
		look->has_min = true;
		return read_number(optarg, 0, UINT32_MAX, &look->min_us);
	case OPTION_JSON:
		look->json = true;
		return GO_ON;
	case 'h':
		fputs(help, stdout);
		list_probes(stdout);
		return fflush(stdout) == 0 ? 0 : EXIT_FAILED;
	default:
		return usage_hint(); /* getopt said why */
	}
}

/* Refuses what would have no effect. */
static int check_form(const struct sched_look *look)
{
	enum sched_form form = sched_form(look->asking.probe);

	if (form == SCHED_LENGTHS && (look->pids || look->name || look->group_by))
		return usage_error("runqlen looks at CPUs: -p, --name and --by don't narrow it",
				   NULL);
	if (form == SCHED_EVENTS && look->group_by)
		return usage_error("--by is for histograms", NULL);
	if (form == SCHED_EVENTS && !look->json && !look->asking.times)
		return usage_error("events come as they happen: -i is for charts and --json", NULL);
	if (form != SCHED_EVENTS && look->has_min)
		return usage_error("--min-us is for runqslower and offcpuslower", NULL);
	return GO_ON;
}

static int check_look(struct sched_look *look, uint64_t count, const char *probe)
{
	struct sched_scale *scale = &look->asking.scale;

	if (!probe) {
		fputs("stackprobe: which probe? There are", stderr);
		list_probes(stderr);
		return usage_hint();
	}
	int found = find_probe(probe), r;
	if (found < 0)
		return usage_hint();
	look->asking.probe = (enum sched_probe)found;
	if (count && look->asking.times == 1)
		return usage_error("-n needs -i SECONDS", NULL);
	if (look->pids && !*look->pids)
		return usage_error("-p without a pid", NULL);
	r = check_form(look);
	if (r != GO_ON)
		return r;
	look->asking.times = count ? (unsigned)count : look->asking.times;
	if (!scale->step && scale->unit_us == 1)
		scale->unit_us = 0; /* powers of two of us: as it is counted anyway */
	if (scale->step && !scale->unit_us)
		scale->unit_us = 1;
	if (scale->unit_us && sched_form(look->asking.probe) != SCHED_HIST)
		return usage_error("--unit and --step are for histograms", NULL);
	return GO_ON;
}

static int read_arguments(struct sched_look *look, int argc, char **argv)
{
	static const struct option known[] = {
		{"duration", required_argument, NULL, 'd'},
		{"interval", required_argument, NULL, 'i'},
		{"count", required_argument, NULL, 'n'},
		{"pid", required_argument, NULL, 'p'},
		{"name", required_argument, NULL, OPTION_NAME},
		{"by", required_argument, NULL, OPTION_BY},
		{"unit", required_argument, NULL, OPTION_UNIT},
		{"step", required_argument, NULL, OPTION_STEP},
		{"min-us", required_argument, NULL, OPTION_MIN},
		{"json", no_argument, NULL, OPTION_JSON},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	uint64_t count = 0;
	int r = GO_ON;

	for (int c; r == GO_ON && (c = getopt_long(argc, argv, "d:i:n:p:h", known, NULL)) != -1;)
		r = take_option(look, c, &count);
	if (r == GO_ON && argc - optind > 1)
		r = usage_error("more than one probe", argv[optind + 1]);
	return r == GO_ON ? check_look(look, count, optind < argc ? argv[optind] : NULL) : r;
}

/* ---- the choice, in the words of a PUT ---- */

static void put_body(struct buf *out, const struct sched_look *look)
{
	struct json json = {.out = out};

	json_object(&json, NULL);
	json_object(&json, "cmd");
	json_array(&json, "probe");
	json_text(&json, NULL, sched_kind_get(look->asking.probe)->name);
	json_array_end(&json);
	json_object_end(&json);
	json_object(&json, "snoopers");
	if (look->pids) {
		json_raw(&json, "proc_id", "[");
		buf_str(out, look->pids);
		buf_char(out, ']');
	}
	if (look->name) {
		json_array(&json, "proc_name");
		json_object(&json, NULL);
		json_text(&json, "comm", look->name);
		json_object_end(&json);
		json_array_end(&json);
	}
	json_object_end(&json);
	json_object(&json, "params");
	if (look->group_by)
		json_text(&json, "group_by", look->group_by);
	if (look->has_min)
		json_u64(&json, "min_us", look->min_us);
	json_object_end(&json);
	json_text(&json, "state", "running");
	json_object_end(&json);
}

/* Returns whether the text is numbers with commas between. */
static bool is_list(const char *text)
{
	size_t len = strlen(text);

	return strspn(text, "0123456789,") == len && text[0] != ',' && text[len - 1] != ',' &&
	       !strstr(text, ",,");
}

static int make_spec(const struct sched_look *look, struct spec *spec)
{
	_cleanup_buf_ struct buf body = BUF_INIT(REQUEST_BODY_MAX);

	if (look->pids && !is_list(look->pids))
		return usage_error("not a list of pids", look->pids);
	put_body(&body, look);
	int r = put_words_read(&body, &sched_rules, spec);
	return r == 0 ? GO_ON : r;
}

/* ---- the look ---- */

static void stop_look(struct sched_look *look, const char *why)
{
	if (why) {
		fprintf(stderr, "stackprobe: %s\n", why);
		look->status = EXIT_FAILED;
	}
	loop_stop(look->core.loop);
}

static void print_text(struct sched_look *look, struct buf *out)
{
	if (buf_error(out) || fwrite(out->data, 1, out->len, stdout) != out->len ||
	    fflush(stdout) != 0)
		stop_look(look, "standard output can't be written");
}

static void print_data(void *arg, int error, const struct sched_data *data)
{
	_cleanup_buf_ struct buf out = BUF_INIT(OUT_MAX);
	struct sched_look *look = arg;

	if (error < 0) {
		look->wait = NULL;
		stop_look(look, error == -ECANCELED ? NULL : "its counts can't be read");
		return;
	}
	if (look->json)
		sched_json(&out, data);
	else
		sched_text(&out, data);
	print_text(look, &out);
	if (look->asking.times && --look->asking.times == 0) {
		look->wait = NULL;
		stop_look(look, NULL);
	}
}

static void print_events(void *arg)
{
	_cleanup_buf_ struct buf out = BUF_INIT(OUT_MAX);
	struct sched_look *look = arg;
	struct slow_entry entry;
	uint64_t missed;

	while (sched_follower_next(look->follower, &entry, &missed) > 0) {
		if (missed)
			buf_printf(&out, "# %llu are missing here\n", (unsigned long long)missed);
		sched_text_slow(&out, &entry);
	}
	if (out.len)
		print_text(look, &out);
}

/* Ends a look at events: prints those that are under way. */
static void end_events(struct sched_look *look)
{
	struct counters counters;

	if (!look->follower)
		return;
	tracer_read_slow(engine_tracer(look->core.engine));
	print_events(look);
	tracer_counters(engine_tracer(look->core.engine), &counters);
	if (counters.slow_lost)
		fprintf(stderr, "stackprobe: %llu events came faster than they were read\n",
			(unsigned long long)counters.slow_lost);
}

static void time_is_over(void *arg)
{
	end_events(arg);
	stop_look(arg, NULL);
}

static void on_signal(void *arg)
{
	struct sched_look *look = arg;
	struct signalfd_siginfo info;

	if (read(look->signals.fd, &info, sizeof(info)) != sizeof(info))
		return;
	if (look->wait)
		sched_wait_finish(TAKE_PTR(look->wait)); /* what there is by now */
	end_events(look);
	stop_look(look, NULL);
}

static int watch_signals(struct sched_look *look)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	look->signals = (struct loop_watch){
		.fd = signalfd(-1, &set, SFD_CLOEXEC), .ready = on_signal, .arg = look};
	look->signals.name = "sched";
	return look->signals.fd < 0 ? -errno : loop_watch(look->core.loop, &look->signals);
}

/* Prints events as they come, until the time is over. */
static int follow_events(struct sched_look *look, struct why *why)
{
	_cleanup_buf_ struct buf head = BUF_INIT(4096);
	int r = sched_follow(look->sched, look->asking.probe, print_events, look, &look->follower);

	if (r < 0) {
		why_set(why, "its events can't be followed: %s", strerror(-r));
		return r;
	}
	sched_text_slow_head(&head, look->asking.probe);
	print_text(look, &head);
	look->end = (struct loop_timer){.expired = time_is_over, .arg = look, .name = "sched"};
	if (look->asking.times)
		loop_timer_set(look->core.loop, &look->end,
			       loop_now_ns() + look->asking.seconds * NS_PER_S);
	return 0;
}

static int begin_look(struct sched_look *look, const struct spec *spec, struct why *why)
{
	struct sched_setup setup = {.loop = look->core.loop, .engine = look->core.engine};
	int r = watch_signals(look);

	setup.defaults = spec->params.sched;
	if (r == 0 && !proc_pids_are_the_hosts()) {
		why_set(why, "pids here are not the host's (a container needs the host's pid "
			     "namespace: --pid=host)");
		return -ENOTSUP;
	}
	if (r == 0)
		r = sched_new(&look->sched, &setup);
	if (r < 0) {
		why_set(why, "it can't begin: %s", strerror(-r));
		return r;
	}
	r = sched_apply(look->sched, spec, why);
	if (r < 0)
		return r;
	if (sched_form(look->asking.probe) == SCHED_EVENTS && !look->json)
		return follow_events(look, why);
	look->asking.done = print_data;
	look->asking.arg = look;
	return sched_wait(look->sched, &look->asking, &look->wait, why);
}

static void run_look(struct sched_look *look, const struct spec *spec)
{
	struct conf conf;
	struct why why = {"it can't begin"};
	int r = conf_init(&conf); /* for the sizes */

	if (r == 0)
		r = core_init(&look->core, &conf.sizes);
	conf_done(&conf);
	if (r == 0)
		r = begin_look(look, spec, &why);
	if (r == 0)
		r = loop_run(look->core.loop);
	if (r < 0) {
		fprintf(stderr, "stackprobe: %s\n", why.text);
		look->status = EXIT_FAILED;
	}
	core_quiet(&look->core);
	if (look->follower)
		sched_unfollow(look->follower);
	if (look->sched)
		sched_cancel_waits(look->sched);
	sched_free(look->sched);
	if (look->signals.fd > 0)
		close(look->signals.fd);
	core_done(&look->core);
}

int sched_command(int argc, char **argv)
{
	struct sched_look look = {.asking = {.seconds = LOOK_SECONDS, .times = 1}};
	_cleanup_(spec_done) struct spec spec = {0};
	int r = read_arguments(&look, argc, argv);

	if (r == GO_ON)
		r = make_spec(&look, &spec);
	if (r != GO_ON)
		return r;
	r = privileges_drop(&(struct privileges_wish){0}, NULL);
	if (r < 0) {
		fprintf(stderr, "stackprobe: privileges can't be given up: %s\n", strerror(-r));
		return EXIT_FAILED;
	}
	log_set_level(LOG_WARN);
	run_look(&look, &spec);
	return look.status;
}
