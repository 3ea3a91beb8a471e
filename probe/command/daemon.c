// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sched/sched_params.h"
#include "api/resource/puts.h"
#include "api/http/server.h"
#include "api/processes/processes_resource.h"
#include "api/resource/state_file.h"
#include "base/cleanup.h"
#include "command/command.h"
#include "command/core.h"
#include "command/daemon_options.h"
#include "command/privileges.h"
#include "container/cgroup.h"
#include "costs/proc_params.h"
#include "journal/event_journal.h"
#include "kind/kind.h"

#define CLOSING_NS (8 * NS_PER_S)

/* A conf that is no longer in force. It is kept until the end, as jobs may still use its
 * folders. */
struct retired {
	struct retired *next;
	struct conf conf;
};

struct daemon {
	struct options options;
	struct conf conf;
	struct retired *retired;
	struct core core;
	struct services services;
	struct server *server;
	struct fresh fresh[FRESH_COUNT];
	uint64_t refused[REFUSALS];
	struct loop_watch signals;
	struct loop_timer closing;
};

static void end_loop(void *arg)
{
	struct daemon *daemon = arg;

	loop_stop(daemon->core.loop);
}

static void closing_takes_too_long(void *arg)
{
	struct daemon *daemon = arg;

	session_abandon(daemon->services.flamegraph);
	end_loop(daemon);
}

/* ---- SIGHUP: reads the conf file again; sessions go on ---- */

static void set_bounds(struct services *services, const struct conf *conf)
{
	services->bounds = (struct bounds){
		.roots = {(const char *const *)conf->roots, conf->roots_count},
		.upload = &conf->upload,
		.without_cgroup_v2 = services->bounds.without_cgroup_v2,
	};
	services->process_metrics = conf->process_metrics;
}

/* Whether the host has no cgroup v2; this doesn't change until the next boot. */
static bool is_without_cgroup_v2(void)
{
	_cleanup_free_ struct cgroups *own = malloc(sizeof(*own));

	return own && cgroups_read(getpid(), own) == 0 && !own->has_v2;
}

static void use_conf(struct daemon *daemon, const struct conf *before)
{
	struct services *services = &daemon->services;
	const struct conf *fresh = &daemon->conf;
	struct why why;

	if (memcmp(&fresh->sizes, &before->sizes, sizeof(fresh->sizes)) != 0)
		log_warn("the sizes of BPF maps change with the next start of stackprobe");
	if (strcmp(fresh->upload.spool_dir, before->upload.spool_dir) != 0 ||
	    fresh->upload.period_s != before->upload.period_s)
		log_warn("upload.spool_dir and upload.period change with the next start of "
			 "stackprobe");
	if (strcmp(fresh->state_dir, before->state_dir) != 0 ||
	    fresh->history.window_s != before->history.window_s ||
	    !fresh->history.limits.bytes != !before->history.limits.bytes)
		log_warn("where history is, whether it is kept, and history.window change with the "
			 "next start of stackprobe");
	log_set_level(fresh->log_level);
	set_bounds(services, fresh);
	services->state_dir = fresh->state_dir;
	session_set_state(services->flamegraph, fresh->state_dir);
	session_set_roots(services->flamegraph, &services->bounds.roots);
	session_set_retention(services->flamegraph, &fresh->retention);
	if (fresh->history.limits.bytes) /* else it ends with the next start */
		history_set_limits(services->history, &fresh->history.limits);
	if (session_set_upload(services->flamegraph, &fresh->upload, &why) < 0)
		log_error("SIGHUP: uploads go on as before: %s", why.text);
	if (engine_set_host_root(daemon->core.engine, fresh->containers_root) < 0)
		log_error("SIGHUP: containers.root stays as it is: no memory");
}

static void reload_conf(struct daemon *daemon)
{
	struct retired *retired = calloc(1, sizeof(*retired));
	struct conf fresh = {0};
	struct why why = {"no memory"};

	if (!retired || options_read_conf(&daemon->options, &fresh, &why) < 0) {
		log_error("SIGHUP: the conf file is not taken, nothing has changed: %s", why.text);
		conf_done(&fresh);
		free(retired);
		return;
	}
	server_reload(daemon->server, &fresh);
	retired->conf = daemon->conf;
	retired->next = daemon->retired;
	daemon->retired = retired;
	daemon->conf = fresh;
	log_info("SIGHUP: the conf file was read again");
	use_conf(daemon, &retired->conf);
}

static void on_signal(void *arg)
{
	struct daemon *daemon = arg;
	struct signalfd_siginfo info;

	if (read(daemon->signals.fd, &info, sizeof(info)) != sizeof(info))
		return;
	if (daemon->closing.active)
		return;
	if (info.ssi_signo == SIGHUP) {
		reload_conf(daemon);
		return;
	}
	log_info("signal %u: stopping", info.ssi_signo);
	journal_note(JOURNAL_DAEMON, "stackprobe " VERSION " ends: signal %u", info.ssi_signo);
	history_cancel(daemon->services.history); /* the last windows don't wait for questions */
	daemon->closing = (struct loop_timer){
		.expired = closing_takes_too_long, .arg = daemon, .name = "daemon"};
	loop_timer_set(daemon->core.loop, &daemon->closing, loop_now_ns() + CLOSING_NS);
	session_close(daemon->services.flamegraph, end_loop, daemon);
}

static int watch_signals(struct daemon *daemon)
{
	sigset_t set;

	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_BLOCK, &set, NULL);
	daemon->signals = (struct loop_watch){
		.fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK),
		.ready = on_signal,
		.arg = daemon,
		.name = "daemon",
	};
	return daemon->signals.fd < 0 ? -errno : loop_watch(daemon->core.loop, &daemon->signals);
}

static int make_sched(struct daemon *daemon)
{
	struct sched_setup setup = {.loop = daemon->core.loop, .engine = daemon->core.engine};
	struct params defaults;

	params_default(sched_params(), &defaults);
	setup.defaults = defaults.sched;
	return sched_new(&daemon->services.sched, &setup);
}

static int make_accounting(struct daemon *daemon)
{
	struct accounting_setup setup = {.loop = daemon->core.loop,
					 .engine = daemon->core.engine,
					 .worker = daemon->core.bulk};
	struct params defaults;

	params_default(proc_params(), &defaults);
	setup.defaults = defaults.proc;
	return accounting_new(&daemon->services.accounting, &setup);
}

static int make_history(struct daemon *daemon)
{
	struct history_setup setup = {daemon->core.loop, daemon->core.bulk, daemon->conf.history,
				      daemon->conf.state_dir};

	return history_new(&daemon->services.history, &setup);
}

static int build_daemon(struct daemon *daemon, struct why *why)
{
	struct services *services = &daemon->services;
	struct core *core = &daemon->core;
	int r = core_init(core, &daemon->conf.sizes);

	why->text[0] = '\0';
	core_be_prompt();
	if (daemon->options.host)
		snprintf(core->host, sizeof(core->host), "%s", daemon->options.host);
	services->bounds.without_cgroup_v2 = is_without_cgroup_v2();
	set_bounds(services, &daemon->conf);
	services->engine = core->engine;
	services->bulk = core->bulk;
	fresh_init(daemon->fresh);
	services->fresh = daemon->fresh;
	services->refused = daemon->refused;
	services->state_dir = daemon->conf.state_dir;
	if (r == 0)
		r = engine_set_host_root(core->engine, daemon->conf.containers_root);
	if (r == 0)
		r = watch_signals(daemon);
	if (r == 0)
		r = make_history(daemon);
	if (r < 0)
		return r;
	struct session_setup session = {
		core->loop,
		core->engine,
		{core->bulk, core->foreign, services->bounds.roots, core->host},
		daemon->conf.retention,
		&daemon->conf.upload,
		daemon->conf.state_dir,
		services->history,
	};
	services->host = core->host;
	struct ondemand_setup ondemand = {core->loop, core->engine, core->bulk, core->host};
	r = session_new(&services->flamegraph, &session, why);
	if (r < 0)
		return r;
	r = puts_new(&services->puts, core->loop);
	why->text[0] = '\0';
	if (r == 0)
		r = ondemands_new(&services->ondemands, &ondemand);
	if (r == 0)
		r = make_sched(daemon);
	if (r == 0)
		r = make_accounting(daemon);
	if (r == 0)
		r = processes_new(&services->processes, core->engine, core->names);
	return r;
}

static void tear_down(struct daemon *daemon)
{
	if (daemon->core.engine)
		engine_forget(daemon->core.engine, daemon);
	puts_stop(daemon->services.puts);
	history_cancel(daemon->services.history);
	history_stop(daemon->services.history);
	core_quiet(&daemon->core);
	/* Requests that wait for a profile are answered before the server is freed. */
	ondemands_free(daemon->services.ondemands);
	if (daemon->services.sched)
		sched_cancel_waits(daemon->services.sched);
	if (daemon->services.accounting)
		accounting_cancel_waits(daemon->services.accounting);
	if (daemon->services.flamegraph)
		session_cancel_fetches(daemon->services.flamegraph);
	server_free(daemon->server);
	fresh_done(daemon->fresh);
	puts_free(daemon->services.puts);
	session_free(daemon->services.flamegraph);
	history_free(daemon->services.history);
	sched_free(daemon->services.sched);
	accounting_free(daemon->services.accounting);
	processes_free(daemon->services.processes);
	if (daemon->signals.fd > 0)
		close(daemon->signals.fd);
	core_done(&daemon->core);
	conf_done(&daemon->conf);
	for (struct retired *retired; (retired = daemon->retired);) {
		daemon->retired = retired->next;
		conf_done(&retired->conf);
		free(retired);
	}
}

/* Starts what the conf file and the saved state ask for. */
static void start_probes(void *arg)
{
	struct daemon *daemon = arg;

	daemon->services.starting = 0;
	if (daemon->closing.active)
		return;
	state_apply_init(&daemon->services, daemon->conf.probes_init);
	if (daemon->conf.restore)
		state_restore(&daemon->services);
}

/* Loads what that needs. Pages are answered meanwhile; requests to features wait. */
static void load_probes(struct daemon *daemon)
{
	const struct conf *conf = &daemon->conf;
	uint32_t probes = state_begins(&daemon->services, conf->probes_init, conf->restore);

	daemon->services.starting = daemon->services.wanted_at_start = probes;
	if (!probes || !engine_prepare(daemon->core.engine, probes, NULL, start_probes, daemon))
		start_probes(daemon);
}

/* Names where the daemon listens. */
static void name_place(const struct daemon *daemon, char *place, size_t bytes)
{
	int port = server_port(daemon->server);

	if (port)
		snprintf(place, bytes, "%s:%d", daemon->conf.bind_addr, port);
	else
		snprintf(place, bytes, "its socket alone");
}

/* Tells somebody who typed `stackprobe` in a terminal what has begun, and how it ends. */
static void greet_user(const struct daemon *daemon)
{
	const struct conf *conf = &daemon->conf;
	char place[CONF_ADDRESS_BYTES + 16];
	uint32_t probes;

	if (!isatty(STDERR_FILENO) || !isatty(STDIN_FILENO))
		return;
	name_place(daemon, place, sizeof(place));
	fprintf(stderr,
		"This is stackprobe's daemon. It listens on %s for PUTs that say what to "
		"profile;\nCtrl-C ends it. 'stackprobe record' makes one profile without it, "
		"'stackprobe --help' has the rest.\n",
		place);
	probes = state_begins(&daemon->services, conf->probes_init, conf->restore);
	if (!probes) {
		fputs("It profiles nothing until it is told.\n", stderr);
		return;
	}
	fputs("It resumes what was configured before:", stderr);
	for (int i = 0; i < PROBE_COUNT; i++) {
		if (probes & 1u << i)
			fprintf(stderr, " %s", kind_get(i)->name);
	}
	if (probes & WANTED_SCHED)
		fputs(" sched", stderr);
	if (probes & WANTED_COSTS)
		fputs(" proc", stderr);
	fputs(". GET /flamegraph shows it.\n", stderr);
}

static bool is_low(int port)
{
	return port > 0 && port < 1024;
}

/* Keeps only the capabilities that profiling needs. Called before build_daemon(), which makes
 * threads. */
static int give_up_privileges(const struct daemon *daemon)
{
	const struct conf *conf = &daemon->conf;
	struct privileges_wish wish = {
		.low_port = is_low(conf->port) || is_low(conf->rest.metrics_port),
	};
	char kept[PRIVILEGES_TEXT_BYTES];
	int r = privileges_drop(&wish, kept);

	if (r < 0)
		log_error("can't start: privileges can't be given up: %s", strerror(-r));
	else
		log_info("capabilities that it keeps: %s", kept);
	return r;
}

static int run_daemon(struct daemon *daemon)
{
	char place[CONF_ADDRESS_BYTES + 16];
	struct why why;

	if (give_up_privileges(daemon) < 0)
		return EXIT_FAILED;
	int r = build_daemon(daemon, &why);
	if (r < 0) {
		log_error("can't start: %s", why.text[0] ? why.text : strerror(-r));
		return EXIT_FAILED;
	}
	r = server_new(&daemon->server, daemon->core.loop, &daemon->services, &daemon->conf, &why);
	if (r < 0) {
		log_error("%s", why.text);
		return EXIT_FAILED;
	}
	greet_user(daemon);
	load_probes(daemon);
	name_place(daemon, place, sizeof(place));
	log_info("stackprobe " VERSION " listening on %s", place);
	journal_note(JOURNAL_DAEMON, "stackprobe " VERSION " began");
	r = loop_run(daemon->core.loop);
	if (r < 0)
		log_error("the loop ended: %s", strerror(-r));
	log_info("stopped");
	return r < 0 ? EXIT_FAILED : 0;
}

/* Whether standard error is the journal's, which adds the times. A terminal may inherit the
 * variable. Source: systemd.exec(5), $JOURNAL_STREAM */
static bool logs_to_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	unsigned long long device, inode;
	struct stat status;

	return stream && sscanf(stream, "%llu:%llu", &device, &inode) == 2 &&
	       fstat(STDERR_FILENO, &status) == 0 && status.st_dev == device &&
	       status.st_ino == inode;
}

int daemon_command(int argc, char **argv)
{
	struct daemon daemon = {0};
	struct why why;
	int r = options_parse(argc, argv, &daemon.options);

	if (r >= 0)
		return r;
	r = 0;
	if (!logs_to_journal())
		log_set_times();
	if (options_read_conf(&daemon.options, &daemon.conf, &why) < 0) {
		log_error("%s", why.text);
		r = EXIT_FAILED;
	}
	log_set_level(daemon.conf.log_level);
	if (r == 0)
		r = run_daemon(&daemon);
	tear_down(&daemon);
	return r;
}
