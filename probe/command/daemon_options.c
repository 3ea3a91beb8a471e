// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/daemon_options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "command/command.h"
#include "command/core.h"
#include "command/describe.h"

#define DEFAULT_CONF "/etc/stackprobe/stackprobe.conf"

static const char usage[] =
	"Usage: stackprobe [daemon] [OPTION]...   the daemon: flame graphs of the processes that\n"
	"                                         it is told over HTTP\n"
	"       stackprobe record ...             one profile, without the daemon\n"
	"       stackprobe render ...             folded text to a picture, or the difference of "
	"two\n"
	"       stackprobe report ...             folded text to a table of functions\n"
	"       stackprobe sched ...              one look at the scheduler, without the daemon\n"
	"       stackprobe top ...                what processes cost, as they run\n"
	"       stackprobe doctor                 what runs on this host, and why others don't\n"
	"Each has --help. Options of the daemon:\n"
	"\n"
	"  --config FILE        conf file (default " DEFAULT_CONF ")\n"
	"  --listen ADDR:PORT   where to listen (default 127.0.0.1:9999; port 0: a free one)\n"
	"  --metrics-listen ADDR:PORT\n"
	"                       a second address, for /metrics and /healthz alone\n"
	"  --log-level LEVEL    debug, info, warn or error\n"
	"  --host NAME          what labels and pictures call this host (default: its name)\n"
	"  --describe SUBJECT   probes, params, sched_params, proc_params, metrics: list them,\n"
	"                       as Markdown\n"
	"  --version            say which version this is\n"
	"  -h, --help           say this\n";

/* Checks the values of options before the conf file is read. Returns -1, or EXIT_USAGE. */
static int check_options(const struct options *options)
{
	struct conf conf = {0};
	enum log_level level;

	if (options->log_level && log_level_parse(options->log_level, &level) < 0)
		return usage_error("no such log level", options->log_level);
	if (options->listen && conf_set_listen(&conf, options->listen) < 0)
		return usage_error("not an ADDR:PORT", options->listen);
	if (options->metrics_listen && conf_set_metrics_listen(&conf, options->metrics_listen) < 0)
		return usage_error("not an ADDR:PORT", options->metrics_listen);
	if (options->host && (!options->host[0] || strlen(options->host) >= HOST_NAME_BYTES))
		return usage_error("not a host's name", options->host);
	return -1;
}

int options_parse(int argc, char **argv, struct options *options)
{
	static const struct option known[] = {
		{"config", required_argument, NULL, 'c'},
		{"listen", required_argument, NULL, 'l'},
		{"metrics-listen", required_argument, NULL, 'm'},
		{"log-level", required_argument, NULL, 'L'},
		{"host", required_argument, NULL, 'H'},
		{"describe", required_argument, NULL, 'd'},
		{"version", no_argument, NULL, 'v'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};

	for (int c; (c = getopt_long(argc, argv, "h", known, NULL)) != -1;) {
		switch (c) {
		case 'c':
			options->conf_path = optarg;
			break;
		case 'l':
			options->listen = optarg;
			break;
		case 'm':
			options->metrics_listen = optarg;
			break;
		case 'L':
			options->log_level = optarg;
			break;
		case 'H':
			options->host = optarg;
			break;
		case 'd':
			return describe(optarg);
		case 'v':
			puts("stackprobe " VERSION);
			return 0;
		case 'h':
			fputs(usage, stdout);
			return 0;
		default:
			return usage_hint(); /* getopt said why */
		}
	}
	return optind < argc ? usage_error("the daemon takes options alone", argv[optind])
			     : check_options(options);
}

int options_read_conf(const struct options *options, struct conf *conf, struct why *why)
{
	const char *path = options->conf_path ? options->conf_path : DEFAULT_CONF;

	why_set(why, "no memory");
	int r = conf_init(conf);
	if (r == 0)
		r = conf_read(conf, path, options->conf_path != NULL, why);
	if (r == 0 && options->log_level)
		r = log_level_parse(options->log_level, &conf->log_level);
	if (r == 0 && options->listen)
		r = conf_set_listen(conf, options->listen);
	if (r == 0 && options->metrics_listen)
		r = conf_set_metrics_listen(conf, options->metrics_listen);
	return r;
}
