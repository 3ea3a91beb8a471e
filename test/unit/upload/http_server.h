/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An HTTP server in threads of the test, whose every word is scripted. */
#pragma once

#include "unit/lib/unit.h"

#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#define SERVER_CONNECTIONS 64
#define SERVER_HEAD_MAX	   65536

struct http_server;

/* A connection's thread runs it; the connection is closed behind it. */
typedef void server_script(struct http_server *server, int fd);

struct server_connection {
	struct http_server *server;
	pthread_t thread;
	int fd;
};

struct http_server {
	server_script *script;
	const char *words; /* for scripts that say them */
	int fd, over_fd, family;
	unsigned port;
	pthread_t thread;
	struct server_connection connections[SERVER_CONNECTIONS];
	atomic_uint accepted;	     /* connections */
	atomic_uint heads, bodies;   /* that came whole */
	atomic_uint under_way, most; /* connections between head and answer */
	atomic_ulong said;	     /* bytes */
	pthread_mutex_t lock;
	char head[SERVER_HEAD_MAX]; /* the last one */
	uint64_t body_sum;	    /* of the last one that came whole */
};

static inline uint64_t sum_bytes(uint64_t sum, const char *bytes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		sum = (sum ^ (unsigned char)bytes[i]) * UINT64_C(0x100000001b3);
	return sum;
}

/* False: the test is over. */
static inline bool server_wait(struct http_server *server, int fd, short events, int timeout_ms)
{
	struct pollfd fds[] = {{.fd = server->over_fd, .events = POLLIN},
			       {.fd = fd, .events = events}};

	poll(fds, fd < 0 ? 1 : 2, timeout_ms);
	return fds[0].revents == 0;
}

static inline bool server_say_bytes(struct http_server *server, int fd, const char *bytes,
				    size_t count)
{
	while (count) {
		if (!server_wait(server, fd, POLLOUT, -1))
			return false;
		ssize_t n = send(fd, bytes, count, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && errno != EAGAIN)
			return false;
		if (n > 0) {
			server->said += (unsigned long)n;
			bytes += n;
			count -= (size_t)n;
		}
	}
	return true;
}

static inline bool server_say(struct http_server *server, int fd, const char *text)
{
	return server_say_bytes(server, fd, text, strlen(text));
}

/* 0: the client has gone, or the test is over. */
static inline size_t server_read(struct http_server *server, int fd, char *to, size_t room)
{
	if (!server_wait(server, fd, POLLIN, -1))
		return 0;
	ssize_t n = recv(fd, to, room, 0);
	return n > 0 ? (size_t)n : 0;
}

static inline bool server_take_head(struct http_server *server, int fd)
{
	char head[SERVER_HEAD_MAX];
	size_t len = 0;

	while (len < sizeof(head) - 1) {
		if (!server_read(server, fd, head + len, 1))
			return false;
		head[++len] = '\0';
		if (len >= 4 && strcmp(head + len - 4, "\r\n\r\n") == 0) {
			pthread_mutex_lock(&server->lock);
			memcpy(server->head, head, len + 1);
			pthread_mutex_unlock(&server->lock);
			server->heads++;
			return true;
		}
	}
	return false;
}

static inline size_t server_body_bytes(struct http_server *server)
{
	pthread_mutex_lock(&server->lock);
	const char *said = strstr(server->head, "\r\nContent-Length: ");
	size_t bytes = said ? strtoul(said + 18, NULL, 10) : 0;
	pthread_mutex_unlock(&server->lock);
	return bytes;
}

static inline bool server_take_body(struct http_server *server, int fd, size_t bytes)
{
	char part[65536];
	uint64_t sum = 0;

	while (bytes) {
		size_t n =
			server_read(server, fd, part, bytes < sizeof(part) ? bytes : sizeof(part));

		if (!n)
			return false;
		sum = sum_bytes(sum, part, n);
		bytes -= n;
	}
	pthread_mutex_lock(&server->lock);
	server->body_sum = sum;
	pthread_mutex_unlock(&server->lock);
	return true;
}

/* A whole request. Only for one at a time. */
static inline bool server_take(struct http_server *server, int fd)
{
	if (!server_take_head(server, fd) ||
	    !server_take_body(server, fd, server_body_bytes(server)))
		return false;
	server->bodies++;
	return true;
}

static inline void *server_serve(void *arg)
{
	struct server_connection *connection = arg;

	connection->server->script(connection->server, connection->fd);
	close(connection->fd);
	return NULL;
}

static inline void *server_accept(void *arg)
{
	struct http_server *server = arg;

	while (server_wait(server, server->fd, POLLIN, -1)) {
		int fd = accept(server->fd, NULL, NULL);

		if (fd < 0)
			continue;
		if (server->accepted == SERVER_CONNECTIONS)
			abort();
		struct server_connection *connection = &server->connections[server->accepted];
		connection->server = server;
		connection->fd = fd;
		if (pthread_create(&connection->thread, NULL, server_serve, connection) != 0)
			abort();
		server->accepted++;
	}
	return NULL;
}

static inline int server_listen(struct http_server *server)
{
	struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	bool is_v6 = server->family == AF_INET6;
	struct sockaddr *address = is_v6 ? (void *)&v6 : (void *)&v4;
	socklen_t bytes = is_v6 ? sizeof(v6) : sizeof(v4);

	server->fd = socket(server->family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (server->fd < 0 || bind(server->fd, address, bytes) < 0 || listen(server->fd, 64) < 0 ||
	    getsockname(server->fd, address, &bytes) < 0)
		return -errno;
	server->port = ntohs(is_v6 ? v6.sin6_port : v4.sin_port);
	return 0;
}

/* -errno where the family isn't there. */
static inline int server_begin(struct http_server *server, server_script *script, const char *words)
{
	server->script = script;
	server->words = words;
	if (!server->family)
		server->family = AF_INET;
	pthread_mutex_init(&server->lock, NULL);
	int r = server_listen(server);
	if (r < 0) {
		if (server->fd >= 0)
			close(server->fd);
		return r;
	}
	server->over_fd = eventfd(0, EFD_CLOEXEC);
	assert_true(server->over_fd >= 0);
	assert_int_equal(pthread_create(&server->thread, NULL, server_accept, server), 0);
	return 0;
}

static inline void server_end(struct http_server *server)
{
	uint64_t one = 1;

	assert_int_equal(write(server->over_fd, &one, sizeof(one)), sizeof(one));
	pthread_join(server->thread, NULL);
	for (unsigned i = 0; i < server->accepted; i++)
		pthread_join(server->connections[i].thread, NULL);
	close(server->fd);
	close(server->over_fd);
	pthread_mutex_destroy(&server->lock);
}
