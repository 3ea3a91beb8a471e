/* SPDX-License-Identifier: GPL-2.0-only */
/* Who may what: from what is known of a request's sender to a role, and from a refusal to a
 * sentence.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "access/peer.h"
#include "access/role.h"
#include "access/token.h"

/* What the conf file says of it; immutable once made. */
struct access_rules {
	bool open;	   /* everybody is an administrator */
	bool loopback_uid; /* over loopback TCP a user of this host is known */
	bool has_group;	   /* who may PUT on the Unix socket */
	gid_t group;
	struct token tokens[ROLES];
	enum role
		certificate_role; /* of who has a client certificate of the conf file's authority */
};

/* What a request brings along. */
struct credentials {
	const struct peer *peer;
	const char *authorization; /* the header; NULL: none */
	bool has_certificate;	   /* one that was checked */
};

/* Whether whoever has a role by the one has the same by the other. */
bool access_rules_equal(const struct access_rules *a, const struct access_rules *b);

/* What a peer has without showing anything. */
enum role access_of_peer(const struct access_rules *rules, const struct peer *peer);

/* Fills in the caller. -EACCES: there is an Authorization, and it is no token of ours. */
int access_caller(const struct access_rules *rules, const struct credentials *credentials,
		  struct caller *ret);

/* Why a caller's role is too small, and how a larger one is had. */
void access_explain(const struct caller *caller, enum role needed, char *text, size_t bytes);
