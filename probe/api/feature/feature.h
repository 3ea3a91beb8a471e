/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A feature: a URL, its configuration and its answers. The features there are:
 * api/resource/feature_table.h. Loop thread only.
 */
#pragma once

#include <cjson/cJSON.h>
#include <stddef.h>

#include "bpf/shared/named.h"
#include "access/role.h"
#include "api/conf/conf.h"
#include "api/feature/answer.h"
#include "api/feature/fresh.h"
#include "api/request/request.h"
#include "base/buf.h"
#include "base/json.h"
#include "output/files/store.h"
#include "session/ondemand.h"
#include "costs/accounting.h"
#include "sched/sched.h"
#include "session/session.h"

/* Why requests were refused (api/http/admission). */
#define REFUSAL_LIST(X)                                                                            \
	X(REFUSED_HOST, "host")		      /* the header Host has a foreign name */             \
	X(REFUSED_ORIGIN, "origin")	      /* sent by a page of another origin */               \
	X(REFUSED_CERTIFICATE, "certificate") /* the client's certificate isn't accepted */        \
	X(REFUSED_TOKEN, "token")	      /* the token is unknown */                           \
	X(REFUSED_ROLE, "role")		      /* the role doesn't suffice */                       \
	X(REFUSED_SHARE, "share") /* the client has as many requests under way as it may */
enum refusal { REFUSAL_LIST(NAMED_VALUE) REFUSALS };

struct processes;

/* What features work with; all borrowed. */
struct services {
	struct engine *engine;
	struct session *flamegraph;
	struct history *history;
	struct worker *bulk; /* makes outputs */
	struct puts *puts;
	struct ondemands *ondemands;
	struct sched *sched;
	struct accounting *accounting;
	struct processes *processes;
	struct bounds bounds;	 /* of the conf file in force */
	const char *host;	 /* what pictures and labels call it */
	const char *state_dir;	 /* NULL: nothing is kept for the next start */
	struct fresh *fresh;	 /* FRESH_COUNT answers */
	uint64_t *refused;	 /* REFUSALS counts, since the start */
	int64_t process_metrics; /* processes with series in /metrics; -1: all */
	/*
	 * Probes (struct need.begins) that are being loaded for the start, which features' requests
	 * wait for; 0: it has started.
	 */
	uint32_t starting;
	uint32_t wanted_at_start; /* all that it was told to load then, whatever became of it */
};

/*
 * The query of a GET. Numbers are QUERY_NONE or QUERY_NONSENSE if there is none. Texts are
 * borrowed; NULL: not given.
 */
struct query {
	long long pid, seconds, icicle, follow;
	long long min_age;	 /* s */
	long long header;	 /* 1: folded text begins with the line that tells what it is of */
	long long every, count;	 /* s; how often */
	long long step;		 /* width of a cell of a histogram, units */
	long long top, min, max; /* which stacks, by their values */
	long long limit;	 /* processes of /processes */
	const char *pids;	 /* numbers, with commas between */
	const char *value, *view, *unit, *sort;
	const char *by;	      /* of /proc: the value by which rows are sorted */
	const char *group_by; /* of /proc: what a row stands for */
	/* Ranges of history: times, and whose stacks; of what is compared with it the same. */
	const char *probe, *from, *until, *comm, *container, *thread;
	const char *before_from, *before_until, *before_pid, *before_comm, *before_container;
	const char *widths; /* of a difference: whose they are, "before" or "after" */
	bool of_user;	    /* only a process that `user` may look into is allowed */
	struct viewer user;
};
#define QUERY_NONE     (-1) /* not given */
#define QUERY_NONSENSE (-2)

/* Returns whether a number isn't given, or is 1 to `max`. */
bool query_is_number(long long value, long long max);

/* Returns whether the query is about a range of history. */
bool query_has_range(const struct query *query);

/*
 * Reads a time: seconds since 1970 with up to 9 digits behind the point, or with a minus so many
 * before `now`. Returns whether it is one; *ns is since 1970, like `now`.
 */
bool query_time(const char *text, int64_t now, int64_t *ns);

#define QUERY_SECONDS_MAX 600
/* Returns what is wrong with `seconds`, `every` and `count`, a sentence; NULL: nothing. */
const char *query_check_times(const struct query *query);

/* What a request needs. */
struct need {
	enum role role; /* role that the client needs */
	bool own;	/* ROLE_OWN suffices if query.pid is a process of the user's own */
	bool costs;	/* it is expensive: a client may have few of these at a time */
	/*
	 * Probes (1 << enum probe, WANTED_SCHED) of a session that it begins, whose BPF objects are
	 * loaded before it is dispatched; 0: it begins none.
	 */
	uint32_t begins;
};

struct feature {
	const char *name; /* in the URL, any case: "flamegraph" */
	/*
	 * PUT of a body: `data` of `bytes` bytes, with room for one more, is changed. Fills in the
	 * answer. If some processes aren't sampled yet (and `ready` isn't NULL) answer->status is 0
	 * and answer->later the status, and ready(arg) is called when they are. If it isn't decided
	 * yet both are 0: ready(arg) is called when it is, after state_save(), and the body stays
	 * borrowed until then. A client that waits no more is withdrawn, with its `arg`, by
	 * services_forget().
	 */
	void (*put)(const struct services *services, char *data, size_t bytes,
		    struct answer *answer, void (*ready)(void *arg), void *arg);
	/* GET of the configuration and its status. */
	void (*get)(const struct services *services, struct answer *answer);
	/*
	 * GET of something below it, `oncpu.svg`. Fills in the answer; or leaves its status 0,
	 * fills it in later, and then calls ready(arg), on the loop's thread.
	 */
	void (*fetch)(const struct services *services, const char *name, const struct query *query,
		      struct answer *answer, void (*ready)(void *arg), void *arg);
	/* Fills in what a fetch of `name` needs; of a `name` that doesn't exist, anything. */
	void (*need)(const char *name, const struct query *query, struct need *need);
	/* Adds its configuration under its name, for restore(), if it has one yet. */
	void (*save)(const struct services *services, struct json *json);
	/*
	 * Restores the configuration after a restart. `same_boot`: pids and start times still hold.
	 * Returns 0, or a negative errno and a sentence in `why`.
	 */
	int (*restore)(const struct services *services, const cJSON *saved, bool same_boot,
		       struct why *why);
	uint32_t put_begins; /* of what a PUT needs: struct need.begins */
	/* What a body begins, by itself: struct need.begins; 0 also if it is refused. Changes it.
	 */
	uint32_t (*body_begins)(char *data, size_t bytes);
};
