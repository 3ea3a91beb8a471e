/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a feature is: a URL, what it can be told, what it answers. The features there are:
 * api/resource/feature_table.h.
 */
#pragma once

#include <cjson/cJSON.h>
#include <stddef.h>

#include "access/role.h"
#include "api/conf/conf.h"
#include "api/feature/answer.h"
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
