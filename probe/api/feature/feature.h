/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * THE TABLE of features: a URL, what it can be told, what it answers. A new feature is a new row.
 */
#pragma once

#include <cjson/cJSON.h>
#include <stddef.h>
#include <sys/types.h>

#include "access/role.h"
#include "api/conf/conf.h"
#include "api/feature/fresh.h"
#include "api/request/request.h"
#include "base/buf.h"
#include "output/files/store.h"
#include "session/ondemand.h"
#include "sched/sched.h"
#include "session/session.h"

/* Why requests weren't let in (api/http/admission). */
enum refusal {
	REFUSED_HOST,	     /* the header Host has another's name */
	REFUSED_ORIGIN,	     /* a page of another origin sent it */
	REFUSED_CERTIFICATE, /* the client's isn't accepted */
	REFUSED_TOKEN,	     /* it is none of ours */
	REFUSED_ROLE,	     /* it is too small */
	REFUSED_SHARE,	     /* the client has as many under way as it may */
	REFUSALS
};

/* What features work with; borrowed. */
struct services {
	struct engine *engine;
	struct session *flamegraph;
	struct puts *puts;
	struct ondemands *ondemands;
	struct sched *sched;
	struct bounds bounds;  /* of the conf file that is in force */
	const char *state_dir; /* NULL: nothing is kept for the next start */
	struct fresh *fresh;   /* FRESH_COUNT answers */
	uint64_t *refused;     /* REFUSALS counts, since the start */
};

/* An answer that comes bit by bit, as long as the client listens. On the loop's thread. */
struct stream {
	/* Puts up to `bytes` into `to`; how many. 0: there are none now, wake(arg) is called when
	 * there are; negative: that was all. */
	ssize_t (*read)(struct stream *stream, char *to, size_t bytes);
	/* Nobody reads it any more. */
	void (*free)(struct stream *stream);
	void (*wake)(void *arg); /* the server's, as `arg` is; NULL until it reads */
	void *arg;
};

/* An answer; one that isn't ready yet has status 0. */
struct answer {
	unsigned status;	  /* of HTTP */
	unsigned later;		  /* what the status will be, where only that is waited for */
	const char *content_type; /* static */
	const char *allow;	  /* of a 405; static, else NULL */
	bool wants_token;	  /* of a 401 */
	const char *retry_after;  /* s, of a 429; static, else NULL */
	struct buf body;
	struct stream *stream; /* instead of the body */
	/* While it isn't ready: the client has gone, and it may be given up. NULL: it may not. */
	void (*cancel)(void *arg);
	void *cancel_arg;
};

/* A query of a GET. Numbers: QUERY_NONE or QUERY_NONSENSE where there is none. Texts are borrowed;
 * NULL: not given. */
struct query {
	long long pid, seconds, icicle, follow;
	long long min_age; /* s */
	const char *value, *view;
	bool of_user; /* who asks may do so only of a process that the user may look into */
	struct viewer user;
};
#define QUERY_NONE     (-1) /* not given */
#define QUERY_NONSENSE (-2)

/* What a request takes. */
struct need {
	enum role role; /* that its sender has to have */
	bool own;	/* ROLE_OWN is enough where query.pid is a process of the user's own */
	bool costs;	/* it takes more than a look: a client may have few of them at a time */
	bool begins;	/* a session, which may have BPF programs loaded and attached */
};

struct feature {
	const char *name; /* "flamegraph": of the URL, any case */
	/*
	 * PUT: `data` (changed) of `bytes`, with one byte more room. Fills the answer; where some
	 * of the processes aren't sampled yet (and `ready` isn't NULL) the answer's status is 0 and
	 * `later` has it, and ready(arg) is called when they are. Where it isn't decided yet both
	 * are 0, ready(arg) is called when it is, the body stays borrowed so far, and state_save()
	 * is done by then. Who waits no more takes `arg` back by services_forget().
	 */
	void (*put)(const struct services *services, char *data, size_t bytes,
		    struct answer *answer, void (*ready)(void *arg), void *arg);
	/* GET of the configuration and its status. */
	void (*get)(const struct services *services, struct answer *answer);
	/*
	 * GET of something below it, `oncpu.svg`. Fills the answer, or leaves its status 0 and
	 * calls ready(arg) later, on the loop's thread, when it has filled it.
	 */
	void (*fetch)(const struct services *services, const char *name, const struct query *query,
		      struct answer *answer, void (*ready)(void *arg), void *arg);
	/* What a fetch of `name` takes; of what doesn't exist, anything. */
	void (*need)(const char *name, const struct query *query, struct need *need);
	/* What it was told, as restore() takes it, the caller's to delete; NULL: nothing yet. */
	cJSON *(*saved)(const struct services *services);
	/* After a restart; `same_boot`: pids and start times still hold. Negative errno and a
	 * sentence in `why`. */
	int (*restore)(const struct services *services, const cJSON *saved, bool same_boot,
		       char *why, size_t why_bytes);
};

/* Nobody waits for ready(arg) any more; a PUT that isn't decided isn't taken. */
void services_forget(const struct services *services, const void *arg);

/* All rows; the count. */
size_t features_table(const struct feature **rows);

/* NULL: none has that name. */
const struct feature *feature_find(const char *name, size_t len);

/* {"result": "failed", "message": …} with an HTTP status; the message is escaped. */
void answer_failed(struct answer *answer, unsigned status, const char *message);

/* 200, a PUT was taken. */
void answer_taken(struct answer *answer);

/* What GET and metrics call the unit: all counters there are, in Prometheus' text format; series of
 * single processes only where the caller may read those. */
void metrics_write(const struct services *services, const struct caller *caller,
		   struct answer *answer);
