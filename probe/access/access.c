// SPDX-License-Identifier: GPL-2.0-or-later
#include "access/access.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define BEARER "Bearer "

bool access_rules_equal(const struct access_rules *a, const struct access_rules *b)
{
	for (int i = 0; i < ROLES; i++) {
		if (a->tokens[i].len != b->tokens[i].len ||
		    memcmp(a->tokens[i].text, b->tokens[i].text, a->tokens[i].len) != 0)
			return false;
	}
	return a->open == b->open && a->loopback_uid == b->loopback_uid &&
	       a->has_group == b->has_group && a->group == b->group &&
	       a->certificate_role == b->certificate_role;
}

/* Returns whether the peer's user counts; the rules may have changed since peer_find(). */
static bool has_uid(const struct access_rules *rules, const struct peer *peer)
{
	return peer->has_uid && (peer->is_unix || rules->loopback_uid);
}

enum role access_of_peer(const struct access_rules *rules, const struct peer *peer)
{
	if (rules->open)
		return ROLE_ADMIN;
	if (!has_uid(rules, peer))
		return ROLE_METRICS;
	if (peer->uid == 0 || peer->uid == geteuid() || (rules->has_group && peer->in_group))
		return ROLE_ADMIN;
	return ROLE_OWN;
}

static int take_token(const struct access_rules *rules, const char *authorization,
		      struct caller *caller)
{
	if (strncasecmp(authorization, BEARER, strlen(BEARER)) != 0)
		return -EACCES;
	int role = token_role(rules->tokens, authorization + strlen(BEARER));
	if (role < 0)
		return -EACCES;
	if (role > (int)caller->role)
		caller->role = (enum role)role;
	caller->has_credential = true;
	return 0;
}

int access_caller(const struct access_rules *rules, const struct credentials *credentials,
		  struct caller *ret)
{
	struct caller caller = {
		.role = access_of_peer(rules, credentials->peer),
		.has_uid = has_uid(rules, credentials->peer),
		.uid = credentials->peer->uid,
		.gid = credentials->peer->gid,
		.is_contained = credentials->peer->is_contained,
		.has_credential = credentials->has_certificate,
	};
	int r = 0;

	if (credentials->has_certificate && rules->certificate_role > caller.role)
		caller.role = rules->certificate_role;
	if (credentials->authorization && !rules->open)
		r = take_token(rules, credentials->authorization, &caller);
	if (r == 0)
		*ret = caller;
	return r;
}

void access_explain(const struct caller *caller, enum role needed, char *text, size_t bytes)
{
	char who[128] = "who isn't known has the role metrics";
	bool is_user = caller->has_uid && caller->role <= ROLE_OWN;

	if (is_user)
		snprintf(who, sizeof(who), "user %u has none but own", (unsigned)caller->uid);
	else if (caller->has_credential || caller->role > ROLE_METRICS)
		snprintf(who, sizeof(who), "this request has the role %s", role_name(caller->role));
	else if (caller->is_contained)
		snprintf(who, sizeof(who),
			 "a process of another container or sandbox has no user here, only the "
			 "role metrics");
	snprintf(
		text, bytes,
		"this needs the role %s, and %s. Root of this host has it; else an administrator "
		"can give a token (rest_api_server.%s_token_file, sent as Authorization: Bearer) "
		"or "
		"the group of the Unix socket (rest_api_server.admin_group).%s See doc/security.md",
		role_name(needed), who, role_name(needed),
		is_user ? " Own processes need neither: "
			  "/flamegraph/oncpu.svg?pid=PID&seconds=10."
			: "");
}
