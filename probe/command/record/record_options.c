// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/record/record_options.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "loop/loop.h"
#include "command/command.h"
#include "command/record/record_probes.h"
#include "command/record/record_processes.h"
#include "command/record/record_view.h"
#include "session/session_events.h"
#include "session/settings.h"
#include "kind/kind.h"

#define HZ_MAX		    1000
#define SECONDS_MAX	    1e9
#define EVERY_MAX	    86400 /* s */
#define DEFAULT_PATH	    "stackprobe.svg"
#define OPTION_VIEW	    256
#define OPTION_NATIVE_STACK 257
#define OPTION_FRAME_DETAIL 258
#define OPTION_NAME	    259
#define OPTION_CGROUP	    260
#define OPTION_CONTAINER    261
#define OPTION_SET	    262
#define OPTION_TOP	    263
#define OPTION_COMPARE	    264
#define OPTION_HEADER	    265
#define OPTION_NORMALIZE    266
#define OPTION_TRIGGER	    267
#define OPTION_MIN	    268
#define OPTION_MAX	    269
#define OPTION_TOP_STACKS   270
#define OPTION_SORT	    271
#define OPTION_EVERY	    272

static const char usage[] =
	"Usage: stackprobe record [OPTION]... -p PID[,PID]... | -t TID[,TID]...\n"
	"       stackprobe record [OPTION]... -a | --name REGEX | --container NAME | --cgroup "
	"PATH\n"
	"       stackprobe record [OPTION]... [--] COMMAND [ARGUMENT]...\n"
	"One profile, of processes that run or of a command from its first instruction on.\n"
	"\n"
	"  -p, --pid PID[,PID]...   these processes and what they start meanwhile; may be "
	"repeated\n"
	"  -t, --tid TID[,TID]...   these threads only\n"
	"  -a, --all                all processes of this host\n"
	"      --name REGEX         processes with such a name, also those that come; may be "
	"repeated\n"
	"      --container NAME     processes of a container, by its name or id; may be repeated\n"
	"      --cgroup PATH        processes of a cgroup and of those below it; may be repeated\n"
	"  -e, --event PROBE,...    what is recorded (default %s); or events, NAME=EVENT or "
	"EVENT:\n"
	"                           t:GROUP:TRACEPOINT, k:FUNCTION, u:/PATH:FUNCTION,\n"
	"                           usdt:/PATH:PROVIDER:NAME\n"
	"      --view VIEW          a probe's second value: time, unused, wait; of %s: alloc\n"
	"                           (default); inuse, mmap: what the processes hold at the\n"
	"                           end, theirs or the recording's, of what they got; peak:\n"
	"                           inuse when it was largest, looked at once a second\n"
	"  -d, --duration SECONDS   end after that time, fractions allowed\n"
	"      --every SECONDS      write a profile each so long, from where the one before "
	"ended:\n"
	"                           blocks with a line of time, in .folded, .json, .jsonl or -\n"
	"      --trigger TEXT       begin when tasks are stalled for so long, as in a PUT:\n"
	"                           \"cpu some 300000 2000000\"; not with a command\n"
	"  -F, --frequency HZ       samples a second of each busy CPU, 1 to 1000 (default 100)\n"
	"  -o, --output FILE        .svg, .html, .folded, .json, .jsonl or .pb.gz\n"
	"                           (default " DEFAULT_PATH
	"); an existing file is replaced; - is folded\n"
	"                           text on standard output, where a command's own goes to\n"
	"                           standard error\n"
	"      --header             folded text begins with a line that tells unit, rate and "
	"times\n"
	"      --top N              print the N heaviest functions too, on standard output (a\n"
	"                           command's own goes to standard error); without -o no file "
	"is\n"
	"                           written\n"
	"      --min V, --max V     only stacks whose value is at least V, at most V\n"
	"      --top-stacks N       only the N stacks with the largest values\n"
	"      --sort value|name    the order of .folded and .jsonl: the largest values first, "
	"or\n"
	"                           by name (default, but with --top-stacks)\n"
	"      --compare BEFORE     the picture compares with the folded text BEFORE (see "
	"render)\n"
	"      --normalize          with --compare: scale BEFORE to this profile's total\n"
	"      --set KEY=VALUE      a parameter as in a PUT: minblock=100, max_overhead=1, …\n"
	"      --frame-detail line|name|signature\n"
	"                           Python's and Java's frames by line (default), by function "
	"only,\n"
	"                           or Java's methods with their parameters' types\n"
	"      --native-stack       the Python interpreter's and the Java VM's own frames too\n"
	"  -q, --quiet              neither a progress line nor a last line\n"
	"  -h, --help               say this\n"
	"\n"
	"It ends with the command, or with the last of the processes; after -d; at Ctrl-C, "
	"SIGTERM\n"
	"or SIGHUP. Then the profile is written, and a command that still runs is waited for. It\n"
	"gets SIGTERM after -d, the signal that stackprobe got, and SIGTERM at a second Ctrl-C.\n"
	"The exit status is the command's own, also by signal (0 where the SIGTERM of -d ended "
	"it;\n"
	"126: it can't be run, 127: it isn't found). Without a command 0. No profile: 1.\n";

/* Calls take() for each part of a list between commas; take() may change the part. */
static int each_part(struct record_options *options, const char *list,
		     int (*take)(struct record_options *options, char *part))
{
	_cleanup_free_ char *copy = strdup(list);
	int r = copy ? GO_ON : EXIT_FAILED;
	char *rest = copy;

	while (r == GO_ON && rest)
		r = take(options, strsep(&rest, ","));
	return r;
}

static int take_detail(struct record_options *options, const char *name)
{
	static const char *const details[] = {
		[FRAME_DETAIL_LINE] = "line",
		[FRAME_DETAIL_NAME] = "name",
		[FRAME_DETAIL_SIGNATURE] = "signature",
	};

	for (size_t i = 0; i < ARRAY_SIZE(details); i++) {
		if (strcmp(name, details[i]) == 0) {
			options->detail.frames = (enum frame_detail)i;
			options->detail_given = true;
			return GO_ON;
		}
	}
	return usage_error("no such frame detail (there are line, name, signature)", name);
}

static int take_duration(struct record_options *options, const char *text)
{
	char *end;
	double seconds = strtod(text, &end);

	if (strspn(text, "0123456789.") != strlen(text) || *end || end == text ||
	    !(seconds > 0 && seconds <= SECONDS_MAX))
		return usage_error("not a time in seconds", text);
	options->duration_ns = (uint64_t)ceil(seconds * (double)NS_PER_S);
	return GO_ON;
}

static int take_every(struct record_options *options, const char *text)
{
	char *end;
	long seconds = strtol(text, &end, 10);

	if (!isdigit((unsigned char)*text) || *end || seconds < 1 || seconds > EVERY_MAX)
		return usage_error("--every is not a number of seconds from 1 to 86400", text);
	options->every_ns = (uint64_t)seconds * NS_PER_S;
	return GO_ON;
}

static int take_frequency(struct record_options *options, const char *text)
{
	char *end;
	long hz = strtol(text, &end, 10);

	if (!isdigit((unsigned char)*text) || *end || hz < 1 || hz > HZ_MAX)
		return usage_error("not a frequency from 1 to 1000 Hz", text);
	options->period_ns = NS_PER_S / (uint64_t)hz;
	return GO_ON;
}

static int take_trigger(struct record_options *options, const char *text)
{
	struct why why;

	options->waits = true;
	return pressure_text_read(&options->trigger, text, &why) < 0 ? usage_error(why.text, text)
								     : GO_ON;
}

/* Says the result of record_wishes_…() in the words of this file. */
static int wish_status(int status)
{
	return status ? status : GO_ON;
}

/* Reads a value or a number of stacks. */
static int take_number(const char *text, long long *number)
{
	char *end;

	errno = 0;
	*number = strtoll(text, &end, 10);
	return isdigit((unsigned char)*text) && !*end && !errno
		       ? GO_ON
		       : usage_error("--min, --max and --top-stacks take whole numbers", text);
}

/* Takes an option on which stacks there are, and in which order. */
static int take_stacks(struct stack_wish *wish, int c)
{
	switch (c) {
	case OPTION_MIN:
		return take_number(optarg, &wish->min);
	case OPTION_MAX:
		return take_number(optarg, &wish->max);
	case OPTION_TOP_STACKS:
		if (take_number(optarg, &wish->top) != GO_ON)
			return EXIT_USAGE;
		return wish->top >= 1 && wish->top <= STACK_TOP_MAX
			       ? GO_ON
			       : usage_error("--top-stacks is not a number from 1 to 1000000",
					     optarg);
	case OPTION_SORT:
		wish->sort = optarg;
		return GO_ON;
	default:
		return usage_hint(); /* getopt said why */
	}
}

static int take_option(struct record_options *options, int c)
{
	switch (c) {
	case 'a':
		return wish_status(record_wishes_all(&options->wishes));
	case OPTION_NAME:
		return wish_status(record_wishes_name(&options->wishes, optarg));
	case OPTION_CGROUP:
		return wish_status(record_wishes_cgroup(&options->wishes, optarg));
	case OPTION_CONTAINER:
		return wish_status(record_wishes_container(&options->wishes, optarg));
	case OPTION_SET:
		return wish_status(record_wishes_set(&options->wishes, optarg));
	case OPTION_TOP:
		return wish_status(report_rows(optarg, &options->top));
	case OPTION_COMPARE:
		options->before = optarg;
		return GO_ON;
	case OPTION_NORMALIZE:
		options->normalize = true;
		return GO_ON;
	case OPTION_TRIGGER:
		return take_trigger(options, optarg);
	case OPTION_HEADER:
		options->header = true;
		return GO_ON;
	case 'p':
		return each_part(options, optarg, record_processes_pid);
	case 't':
		return each_part(options, optarg, record_processes_tid);
	case 'e':
		return each_part(options, optarg, record_probes_take);
	case OPTION_EVERY:
		return take_every(options, optarg);
	case OPTION_VIEW:
		return record_view_take(options, optarg);
	case OPTION_FRAME_DETAIL:
		return take_detail(options, optarg);
	case OPTION_NATIVE_STACK:
		options->detail.native_stack = true;
		return GO_ON;
	case 'd':
		return take_duration(options, optarg);
	case 'F':
		return take_frequency(options, optarg);
	case 'o':
		options->path = optarg;
		options->path_given = true;
		return GO_ON;
	case 'q':
		options->quiet = true;
		return GO_ON;
	case 'h':
		printf(usage, kind_get(kind_of_clock())->name, kind_get(kind_of_heap())->name);
		return 0;
	default:
		return take_stacks(&options->stacks_wish, c);
	}
}

/* Returns the output whose extension the file's name has, or NULL. */
static const struct output *output_of(const char *path)
{
	const char *slash = strrchr(path, '/'), *dot = strchr(slash ? slash : path, '.');

	while (dot && !output_find(dot + 1))
		dot = strchr(dot + 1, '.');
	return dot ? output_find(dot + 1) : NULL;
}

static int choose_output(struct record_options *options)
{
	bool standard = strcmp(options->path, "-") == 0;

	if (standard && options->top)
		return usage_error("-o - and --top both want standard output", NULL);
	options->writes_file = options->path_given || !options->top || options->before;
	if (standard && (options->probes & (options->probes - 1)) != 0)
		return usage_error("standard output takes the profile of one probe only", NULL);
	options->output = standard ? output_find("folded") : output_of(options->path);
	options->detail.places = options->output && output_has_places(options->output);
	return options->output
		       ? GO_ON
		       : usage_error("a file's name must end in .svg, .html, .folded, .json, "
				     ".jsonl or .pb.gz (or be -)",
				     options->path);
}

/* Checks that one way of choosing processes is given. */
static int check_chosen(const struct record_options *options)
{
	bool by_wish = record_wishes_choose(&options->wishes);
	int ways = (options->ids_count > 0) + (options->tids_count > 0) +
		   (options->command != NULL) + by_wish;

	if (ways == 0)
		return usage_error("what is to be recorded? -p PID, -t TID, -a, --name, "
				   "--container, --cgroup, or a command",
				   NULL);
	if (ways == 1)
		return GO_ON;
	if (options->tids_count)
		return usage_error("-t goes with no other choice of processes", NULL);
	return by_wish ? usage_error("-a, --name, --container and --cgroup go neither with -p nor "
				     "with a command",
				     NULL)
		       : usage_error("either -p or a command, not both", NULL);
}

/* Takes the parameters over; options of their own count more than --set. */
static int take_wishes(struct record_options *options)
{
	struct stack_detail given = options->detail;
	struct spec *spec = &options->spec;
	int r = record_wishes_spec(&options->wishes, spec);

	if (r)
		return r;
	events_copy(&spec->params, &options->named);
	events_settle(&spec->params);
	params_detail(&spec->params, &options->detail);
	options->detail.places = given.places;
	options->detail.native_stack |= given.native_stack;
	if (options->detail_given)
		options->detail.frames = given.frames;
	if (!options->period_ns)
		options->period_ns = params_period_ns(&spec->params);
	record_wishes_warn(&options->wishes, options->probes);
	options->max_overhead_given = record_wishes_have(&options->wishes, "max_overhead");
	return GO_ON;
}

/* Reads the text at once: later there may be no privilege for it. */
static int take_compare(struct record_options *options)
{
	if ((options->probes & (options->probes - 1)) != 0)
		return usage_error("--compare takes the profile of one probe only", NULL);
	if (!options->output->picture)
		return usage_error("--compare makes a picture: a name that ends in .svg or .html",
				   options->path);
	if (stack_choice_chooses(&options->stacks))
		return usage_error("--compare wants all stacks: not with --min, --max and "
				   "--top-stacks",
				   NULL);
	return input_text_read(options->before, &options->before_text) < 0 ? EXIT_FAILED : GO_ON;
}

/* Finds out which stacks are wanted, when the output is known. */
static int choose_stacks(struct record_options *options)
{
	const char *message =
		stack_choice_make(&options->stacks, &options->stacks_wish, options->output);

	return message ? usage_error(message, NULL) : GO_ON;
}

static int check_every(const struct record_options *options)
{
	if (!options->every_ns)
		return GO_ON;
	if (options->top)
		return usage_error("--every writes profile after profile, --top a table at the "
				   "end: not both",
				   NULL);
	if (view_is_held(options->view))
		return usage_error("--every is not for what is held: --view", options->view_name);
	return output_has_intervals(options->output)
		       ? GO_ON
		       : usage_error("--every is for .folded, .json, .jsonl and -", options->path);
}

static int check_record_options(struct record_options *options)
{
	int r = check_chosen(options);

	if (r != GO_ON)
		return r;
	if (options->waits && options->command)
		return usage_error("a command begins at once: --trigger takes processes that run",
				   NULL);
	r = record_view_choose(options);
	if (r != GO_ON)
		return r;
	if (view_is_held(options->view) && options->tids_count)
		return usage_error("what a process holds is no thread's: --view takes no -t", NULL);
	r = choose_output(options);
	if (r == GO_ON)
		r = choose_stacks(options);
	if (r == GO_ON)
		r = check_every(options);
	if (r == GO_ON && options->header && options->writes_file &&
	    options->output != output_find("folded"))
		r = usage_error("--header is of folded text: a name that ends in .folded, or -",
				options->path);
	if (r == GO_ON && options->normalize && !options->before)
		r = usage_error("--normalize needs --compare BEFORE", NULL);
	if (r == GO_ON && options->before)
		r = take_compare(options);
	return r == GO_ON ? take_wishes(options) : r;
}

int record_options_parse(struct record_options *options, int argc, char **argv)
{
	static const struct option known[] = {
		{"pid", required_argument, NULL, 'p'},
		{"tid", required_argument, NULL, 't'},
		{"all", no_argument, NULL, 'a'},
		{"name", required_argument, NULL, OPTION_NAME},
		{"cgroup", required_argument, NULL, OPTION_CGROUP},
		{"container", required_argument, NULL, OPTION_CONTAINER},
		{"set", required_argument, NULL, OPTION_SET},
		{"top", required_argument, NULL, OPTION_TOP},
		{"compare", required_argument, NULL, OPTION_COMPARE},
		{"normalize", no_argument, NULL, OPTION_NORMALIZE},
		{"header", no_argument, NULL, OPTION_HEADER},
		{"min", required_argument, NULL, OPTION_MIN},
		{"max", required_argument, NULL, OPTION_MAX},
		{"top-stacks", required_argument, NULL, OPTION_TOP_STACKS},
		{"sort", required_argument, NULL, OPTION_SORT},
		{"every", required_argument, NULL, OPTION_EVERY},
		{"trigger", required_argument, NULL, OPTION_TRIGGER},
		{"event", required_argument, NULL, 'e'},
		{"view", required_argument, NULL, OPTION_VIEW},
		{"frame-detail", required_argument, NULL, OPTION_FRAME_DETAIL},
		{"native-stack", no_argument, NULL, OPTION_NATIVE_STACK},
		{"duration", required_argument, NULL, 'd'},
		{"frequency", required_argument, NULL, 'F'},
		{"output", required_argument, NULL, 'o'},
		{"quiet", no_argument, NULL, 'q'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	int r = GO_ON;

	*options = (struct record_options){
		.path = DEFAULT_PATH,
		.stacks_wish = {STACK_WISH_NONE, STACK_WISH_NONE, STACK_WISH_NONE, NULL}};
	/* "+": options behind the command's name belong to the command. */
	for (int c;
	     r == GO_ON && (c = getopt_long(argc, argv, "+p:t:ae:d:F:o:qh", known, NULL)) != -1;)
		r = take_option(options, c);
	if (r != GO_ON)
		return r;
	options->command = optind < argc ? argv + optind : NULL;
	options->probes = options->probes ? options->probes : 1u << kind_of_clock();
	r = check_record_options(options);
	return r == GO_ON ? record_processes_find(options) : r;
}

void record_options_done(struct record_options *options)
{
	free(options->ids);
	free(options->tids);
	record_wishes_done(&options->wishes);
	spec_done(&options->spec);
	input_text_done(&options->before_text);
}

int record_options_path(const struct record_options *options, enum probe probe, char *path,
			size_t bytes)
{
	bool several = (options->probes & (options->probes - 1)) != 0;
	const struct view_row *view = view_get(probe, record_view_of(options, probe));
	size_t all = strlen(options->path), end = several ? strlen(options->output->extension) : 0;
	const char *extension = options->path + all - end;
	int len = several ? snprintf(path, bytes, "%.*s%s.%s", (int)(all - end), options->path,
				     view->folder, extension)
			  : snprintf(path, bytes, "%s", options->path);

	return len >= 0 && (size_t)len < bytes ? 0 : -ENAMETOOLONG;
}
