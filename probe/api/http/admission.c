// SPDX-License-Identifier: GPL-2.0-or-later
#include "api/http/admission.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "access/passwd.h"
#include "loop/loop.h"
#include "proc/permission.h"

#define MESSAGE_BYTES 640

static bool refuse_call(const struct call *call, enum refusal why, unsigned status,
			const char *message)
{
	call->services->refused[why]++;
	answer_failed(call->answer, status, message);
	return false;
}

static bool check_browser(const struct admission *admission, const struct visitor *visitor,
			  const struct need *need, const struct call *call)
{
	/* A link on another page may lead to something that exists already, but may not begin
	 * anything. */
	bool costs = need->costs || need->role > ROLE_READ;

	if (visitor->peer->is_unix)
		return true; /* no browser uses the socket */
	switch (browser_judge(&visitor->browser, &admission->names, visitor->needs_host, costs)) {
	case BROWSER_MISDIRECTED:
		return refuse_call(
			call, REFUSED_HOST, 421,
			"this host isn't known by the name in the header Host: use its address "
			"or localhost, or list the name in rest_api_server.hosts");
	case BROWSER_FOREIGN:
		return refuse_call(call, REFUSED_ORIGIN, 403,
				   "a page of another origin may not ask for this");
	default:
		return true;
	}
}

static bool find_caller(const struct admission *admission, const struct visitor *visitor,
			struct caller *caller, const struct call *call)
{
	const struct credentials credentials = {
		.peer = visitor->peer,
		.authorization = visitor->authorization,
		.has_certificate = visitor->has_certificate,
	};
	char message[MESSAGE_BYTES];

	if (visitor->bad_certificate) {
		snprintf(message, sizeof(message), "the client's certificate isn't accepted: %s",
			 visitor->bad_certificate);
		return refuse_call(call, REFUSED_CERTIFICATE, 403, message);
	}
	if (access_caller(admission->rules, &credentials, caller) < 0) {
		call->answer->wants_token = true;
		return refuse_call(
			call, REFUSED_TOKEN, 401,
			"the header Authorization has no token of this daemon's: send the line "
			"of a file that rest_api_server.ROLE_token_file names, as Bearer TOKEN, "
			"or no such header");
	}
	return true;
}

/* Checks that the process is the user's own. The message is the same whether there is such a
 * process or not. */
static bool check_own(const struct caller *caller, struct call *call)
{
	struct viewer viewer = {caller->uid, caller->gid};
	char message[MESSAGE_BYTES];

	if (viewer.gid == GID_UNKNOWN)
		viewer.gid = passwd_group(viewer.uid);
	if (permission_to_look((pid_t)call->query.pid, &viewer) == 0) {
		call->query.of_user = true;
		call->query.user = viewer;
		return true;
	}
	snprintf(message, sizeof(message),
		 "user %u may profile only processes with all user ids %u and the user's own group "
		 "that may be traced (dumpable, without capabilities), and %lld is none: "
		 "doc/security.md",
		 (unsigned)caller->uid, (unsigned)caller->uid, call->query.pid);
	return refuse_call(call, REFUSED_ROLE, 403, message);
}

static bool check_role(const struct need *need, const struct caller *caller, struct call *call)
{
	char message[MESSAGE_BYTES];

	if (caller->role >= need->role)
		return true;
	if (need->own && caller->has_uid)
		return check_own(caller, call);
	access_explain(caller, need->role, message, sizeof(message));
	/* A caller without a known user may be let in with a token. */
	call->answer->wants_token =
		caller->role == ROLE_METRICS && !caller->has_uid && !caller->has_credential;
	return refuse_call(call, REFUSED_ROLE, call->answer->wants_token ? 401 : 403, message);
}

static bool check_share(const struct admission *admission, const struct visitor *visitor,
			const struct need *need, const struct caller *caller, struct call *call,
			bool *costly)
{
	*costly = need->costs && caller->role < ROLE_ADMIN;
	if (!*costly)
		return true;
	*costly = client_begin_costly(admission->clients, visitor->client);
	if (!*costly) {
		return refuse_call(
			call, REFUSED_SHARE, 429,
			"as many requests that cost as may be are under way: 2 of a client, "
			"7 of all but administrators. Ask again when one of them has ended");
	}
	if (!need->begins ||
	    client_begin_session(admission->clients, visitor->client, loop_now_ns()))
		return true;
	call->answer->retry_after = "1";
	return refuse_call(
		call, REFUSED_SHARE, 429,
		"sessions were begun too fast: a client may begin 4 at once and then one a "
		"second, all but administrators together 8 and then two a second");
}

bool admission_check(const struct admission *admission, const struct visitor *visitor,
		     struct call *call, struct caller *caller, bool *costly)
{
	struct need need;

	*costly = false;
	*caller = (struct caller){.role = ROLE_METRICS};
	call_need(call, &need);
	if (!check_browser(admission, visitor, &need, call) ||
	    !find_caller(admission, visitor, caller, call))
		return false;
	if (visitor->metrics_only && !call_is_scraped(call)) {
		return refuse_call(call, REFUSED_ROLE, 403,
				   "this address has /metrics and /healthz alone");
	}
	return check_role(&need, caller, call) &&
	       check_share(admission, visitor, &need, caller, call, costly);
}
