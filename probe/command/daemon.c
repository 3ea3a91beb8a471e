// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "api/conf.h"
#include "api/server.h"
#include "base/cleanup.h"
#include "command/command.h"
#include "command/core.h"

#define DEFAULT_CONF "/etc/stackprobe/stackprobe.conf"
#define CLOSING_NS   (8 * NS_PER_S)

struct options {
	const char *conf_path; /* NULL: the default, which may be absent */
	const char *listen;
	const char *log_level;
};

struct daemon {
	struct conf conf;
	struct core core;
	struct services services;
	struct server *server;
	struct loop_watch signals;
	struct loop_timer closing;
};

static const char usage[] =
	"Usage: stackprobe [OPTION]...\n"
	"       stackprobe record | render | doctor ...   (each with --help)\n"
	"Flame graphs of the processes that it is told over HTTP.\n"
	"\n"
	"  --config FILE        conf file (default " DEFAULT_CONF ")\n"
	"  --listen ADDR:PORT   where to listen (default 127.0.0.1:9999; port 0: a free one)\n"
	"  --log-level LEVEL    debug, info, warn or error\n"
	"  --version            say which version this is\n"
	"  --help               say this\n";

/* -1: go on; else the exit status. */
static int parse_options(int argc, char **argv, struct options *options)
{
	static const struct option known[] = {
		{"config", required_argument, NULL, 'c'},
		{"listen", required_argument, NULL, 'l'},
		{"log-level", required_argument, NULL, 'L'},
		{"version", no_argument, NULL, 'v'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};

	for (int c; (c = getopt_long(argc, argv, "", known, NULL)) != -1;) {
		switch (c) {
		case 'c':
			options->conf_path = optarg;
			break;
		case 'l':
			options->listen = optarg;
			break;
		case 'L':
			options->log_level = optarg;
			break;
		case 'v':
			puts("stackprobe " VERSION);
			return 0;
		case 'h':
			fputs(usage, stdout);
			return 0;
		default:
			return EXIT_USAGE; /* getopt said why */
		}
	}
	return optind < argc ? usage_error("unknown command", argv[optind]) : -1;
}

static int configure(struct conf *conf, const struct options *options)
{
	char why[600];

	if (conf_init(conf) < 0)
		return EXIT_FAILED;
	if (options->log_level && log_level_parse(options->log_level, &conf->log_level) < 0)
		return usage_error("no such log level", options->log_level);
	if (options->listen && conf_set_listen(conf, options->listen) < 0)
		return usage_error("not an ADDR:PORT", options->listen);
	enum log_level chosen = conf->log_level;
	if (conf_read(conf, options->conf_path ? options->conf_path : DEFAULT_CONF,
		      options->conf_path != NULL, why, sizeof(why)) < 0) {
		log_error("%s", why);
		return EXIT_FAILED;
	}
	if (options->log_level)
		conf->log_level = chosen;
	if (options->listen)
		conf_set_listen(conf, options->listen);
	log_set_level(conf->log_level);
	return -1;
}

static void end_loop(void *arg)
{
	struct daemon *daemon = arg;

	loop_stop(daemon->core.loop);
}

static void closing_takes_too_long(void *arg)
{
	log_error("the last files could not be written in time");
	end_loop(arg);
}

static void on_signal(void *arg)
{
	struct daemon *daemon = arg;
	struct signalfd_siginfo info;

	if (read(daemon->signals.fd, &info, sizeof(info)) != sizeof(info))
		return;
	if (daemon->closing.active)
		return;
	log_info("signal %u: stopping", info.ssi_signo);
	daemon->closing = (struct loop_timer){.expired = closing_takes_too_long, .arg = daemon};
	loop_timer_set(daemon->core.loop, &daemon->closing, loop_now_ns() + CLOSING_NS);
	session_close(daemon->services.flamegraph, end_loop, daemon);
}

static int watch_signals(struct daemon *daemon)
{
	sigset_t set;

	signal(SIGPIPE, SIG_IGN);
	signal(SIGHUP, SIG_IGN); /* will read the conf file again; until then it must not end us */
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_BLOCK, &set, NULL);
	daemon->signals = (struct loop_watch){
		.fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK),
		.ready = on_signal,
		.arg = daemon,
	};
	return daemon->signals.fd < 0 ? -errno : loop_watch(daemon->core.loop, &daemon->signals);
}

static int build(struct daemon *daemon)
{
	struct services *services = &daemon->services;
	struct core *core = &daemon->core;
	int r = core_init(core, &daemon->conf.sizes);

	services->roots = (struct store_roots){(const char *const *)daemon->conf.roots,
					       daemon->conf.roots_count};
	services->engine = core->engine;
	if (r == 0)
		r = watch_signals(daemon);
	if (r < 0)
		return r;
	struct session_setup session = {
		core->loop, core->engine, {core->bulk, core->foreign, services->roots, core->host}};
	struct ondemand_setup ondemand = {core->loop, core->engine, core->bulk, core->host};
	r = session_new(&services->flamegraph, &session);
	return r < 0 ? r : ondemands_new(&services->ondemands, &ondemand);
}

static void tear_down(struct daemon *daemon)
{
	core_quiet(&daemon->core);
	/* Who waits for a profile is answered before the server goes. */
	ondemands_free(daemon->services.ondemands);
	if (daemon->services.flamegraph)
		session_cancel_fetches(daemon->services.flamegraph);
	server_free(daemon->server);
	session_free(daemon->services.flamegraph);
	if (daemon->signals.fd > 0)
		close(daemon->signals.fd);
	core_done(&daemon->core);
	conf_done(&daemon->conf);
}

static int serve(struct daemon *daemon)
{
	char why[256];
	int port = daemon->conf.port;
	int r = build(daemon);

	if (r < 0) {
		log_error("can't start: %s", strerror(-r));
		return EXIT_FAILED;
	}
	if (server_new(&daemon->server, daemon->core.loop, &daemon->services,
		       daemon->conf.bind_addr, &port, why, sizeof(why)) < 0) {
		log_error("%s", why);
		return EXIT_FAILED;
	}
	log_info("stackprobe " VERSION " listening on %s:%d", daemon->conf.bind_addr, port);
	r = loop_run(daemon->core.loop);
	if (r < 0)
		log_error("the loop ended: %s", strerror(-r));
	log_info("stopped");
	return r < 0 ? EXIT_FAILED : 0;
}

int daemon_command(int argc, char **argv)
{
	struct options options = {0};
	struct daemon daemon = {0};
	int r = parse_options(argc, argv, &options);

	if (r >= 0)
		return r;
	r = configure(&daemon.conf, &options);
	if (r < 0)
		r = serve(&daemon);
	tear_down(&daemon);
	return r;
}
