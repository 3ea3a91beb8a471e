/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A client of HTTP in the same thread as its server: it sends and takes what can be sent and taken
 * now (http_turn()), so that the server's loop runs in between.
 */
#pragma once

#include "unit/lib/unit.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/buf.h"

#define HTTP_ANSWER_MAX (64u << 20)

struct http_client {
	int fd;
	const char *out; /* what is still to be sent; borrowed */
	size_t left;
	struct buf got;
	bool is_head; /* its answer has no body */
	bool ended;   /* the server has closed the connection */
};

/* An answer; its texts lie in the client's buffer. */
struct reply {
	unsigned status;
	const char *head, *body;
	size_t bytes; /* of the body, behind which there is a NUL */
};

static inline void http_open(struct http_client *client, int family, const struct sockaddr *name,
			     socklen_t bytes)
{
	*client = (struct http_client){.got = BUF_INIT(HTTP_ANSWER_MAX)};
	client->fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(client->fd >= 0);
	assert_int_equal(connect(client->fd, name, bytes), 0);
	fcntl(client->fd, F_SETFL, O_NONBLOCK);
}

/* Connects to a Unix socket. */
static inline void http_open_at(struct http_client *client, const char *path)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};

	snprintf(name.sun_path, sizeof(name.sun_path), "%s", path);
	http_open(client, AF_UNIX, (const struct sockaddr *)&name, sizeof(name));
}

/* Connects to a port of 127.0.0.1. */
static inline void http_open_port(struct http_client *client, int port)
{
	struct sockaddr_in name = {.sin_family = AF_INET,
				   .sin_port = htons((uint16_t)port),
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

	http_open(client, AF_INET, (const struct sockaddr *)&name, sizeof(name));
}

static inline void http_close(struct http_client *client)
{
	if (client->fd >= 0)
		close(client->fd);
	buf_done(&client->got);
	client->fd = -1;
}
#define _cleanup_http_ _cleanup_(http_close)

/* Begins to send a request; `text` stays borrowed until it is answered. */
static inline void http_send(struct http_client *client, const char *text)
{
	client->out = text;
	client->left = strlen(text);
	client->got.len = 0;
	client->is_head = strncmp(text, "HEAD ", 5) == 0;
}

/* Sends and takes what can be sent and taken now. */
static inline void http_turn(struct http_client *client)
{
	char part[65536];
	ssize_t n;

	while (client->left &&
	       (n = send(client->fd, client->out, client->left, MSG_NOSIGNAL)) > 0) {
		client->out += n;
		client->left -= (size_t)n;
	}
	while ((n = recv(client->fd, part, sizeof(part), 0)) > 0)
		buf_add(&client->got, part, (size_t)n);
	client->ended |= n == 0 || errno == ECONNRESET;
	char *end = buf_reserve(&client->got, 1);
	assert_non_null(end);
	*end = '\0';
}

/* Whether the whole answer is there: all of its length, or all until the end. */
static inline bool http_is_answered(void *arg)
{
	struct http_client *client = arg;

	http_turn(client);
	const char *text = client->got.data;
	const char *body = strstr(text, "\r\n\r\n"), *length = strstr(text, "Content-Length: ");
	if (!body || client->ended)
		return client->ended;
	if (client->is_head)
		return true;
	size_t bytes = client->got.len - (size_t)(body + 4 - text);
	return length && length < body && bytes >= strtoul(length + 16, NULL, 10);
}

/* Takes an answer apart. */
static inline void http_reply(struct http_client *client, struct reply *reply)
{
	char *body = strstr(client->got.data, "\r\n\r\n");

	if (!body)
		fail_msg("no answer: \"%.100s\"", client->got.data);
	assert_int_equal(strncmp(client->got.data, "HTTP/1.1 ", 9), 0);
	body[2] = '\0';
	*reply = (struct reply){
		.status = (unsigned)strtoul(client->got.data + 9, NULL, 10),
		.head = client->got.data,
		.body = body + 4,
		.bytes = client->got.len - (size_t)(body + 4 - client->got.data),
	};
}
