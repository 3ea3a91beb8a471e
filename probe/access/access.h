/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Access control: decides the role of a request's sender, and explains a refusal. Loop thread only.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "access/peer.h"
#include "access/role.h"
#include "access/token.h"

/* The rules of the conf file; immutable once made. */
struct access_rules {
	bool open;	   /* everybody is an administrator */
	bool loopback_uid; /* users of this host are identified over loopback TCP too */
	bool has_group;	   /* members of `group` are administrators on the Unix socket */
	gid_t group;
	struct token tokens[ROLES];
	/* the role for a client certificate of the conf file's authority */
	enum role certificate_role;
};

/* What a request shows. */
struct credentials {
	const struct peer *peer;
	const char *authorization; /* the header; NULL: none */
	bool has_certificate;	   /* the client's certificate was checked and is good */
};

/* Returns whether both rules give everybody the same role. */
bool access_rules_equal(const struct access_rules *a, const struct access_rules *b);

/* Returns the role that a peer has without credentials. */
enum role access_of_peer(const struct access_rules *rules, const struct peer *peer);

/* Fills in the caller. Returns 0, or -EACCES if the request has an Authorization header that is no
 * token of ours. */
int access_caller(const struct access_rules *rules, const struct credentials *credentials,
		  struct caller *ret);

/* Writes into `text` why the caller's role is too small, and how to get a larger one. */
void access_explain(const struct caller *caller, enum role needed, char *text, size_t bytes);
