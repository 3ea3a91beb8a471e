/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A server for bodies, in threads of the test. What it answers is told by the body itself: its
 * words, one for each time it comes, the last one for ever. "b1 500 drop 200" is b1; it is answered
 * by 500, then its connection is closed without a word, then it is stored. Without words: stored.
 *
 *	NNN	that status; NNNrS: with Retry-After S
 *	drop	closed when the body is there; hang: nothing until the end
 */
#pragma once

#include "unit/lib/unit.h"

#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>

#define UPLOADS_MAX	4096
#define UPLOAD_NAME_MAX 32
#define HEAD_MAX	16384

struct upload {
	char name[UPLOAD_NAME_MAX];
	char answer[16];
};

struct upload_server {
	int fd;
	unsigned port;
	char url[64];
	const char *text;  /* of answers that aren't 200 */
	unsigned delay_ms; /* of each answer */
	bool takes_all;	   /* whatever the words are */
	pthread_t thread;
	pthread_t connections[UPLOADS_MAX];
	unsigned connections_count;
	atomic_bool ended;
	atomic_uint under_way, most;
	pthread_mutex_t lock;
	struct upload uploads[UPLOADS_MAX]; /* in the order in which they came */
	atomic_uint count;
	char head[HEAD_MAX]; /* of the last one */
};

struct upload_connection {
	struct upload_server *server;
	int fd;
};

/* The answer to a body that came `nth` (from 0). */
static inline void upload_choose(const char *body, unsigned nth, struct upload *upload)
{
	size_t len = strcspn(body, " ");
	const char *word = body + len;

	snprintf(upload->name, sizeof(upload->name), "%.*s", (int)len, body);
	strcpy(upload->answer, "200");
	for (unsigned i = 0; *word == ' ' && i <= nth; i++) {
		len = strcspn(++word, " ");
		if (len == 0)
			break;
		snprintf(upload->answer, sizeof(upload->answer), "%.*s", (int)len, word);
		word += len;
	}
}

static inline unsigned upload_times(struct upload_server *server, const char *name,
				    const char *answer)
{
	unsigned times = 0;

	pthread_mutex_lock(&server->lock);
	for (unsigned i = 0; i < server->count; i++)
		times += strcmp(server->uploads[i].name, name) == 0 &&
			 (!answer || strcmp(server->uploads[i].answer, answer) == 0);
	pthread_mutex_unlock(&server->lock);
	return times;
}

static inline struct upload upload_note(struct upload_server *server, const char *head,
					const char *body)
{
	struct upload upload;

	upload_choose(body, 0, &upload);
	upload_choose(body, upload_times(server, upload.name, NULL), &upload);
	if (server->takes_all)
		strcpy(upload.answer, "200");
	pthread_mutex_lock(&server->lock);
	assert_true(server->count < UPLOADS_MAX);
	server->uploads[server->count++] = upload;
	snprintf(server->head, sizeof(server->head), "%s", head);
	pthread_mutex_unlock(&server->lock);
	return upload;
}

/* Reads a request; the body has its NUL. False: the client has gone. */
static inline bool upload_read(int fd, char head[HEAD_MAX], char **body)
{
	size_t len = 0, bytes = 0;
	char *end = NULL;

	while (!end) {
		ssize_t n = read(fd, head + len, HEAD_MAX - 1 - len);
		if (n <= 0)
			return false;
		len += (size_t)n;
		head[len] = '\0';
		end = strstr(head, "\r\n\r\n");
	}
	const char *length = strcasestr(head, "content-length:");
	assert_non_null(length);
	bytes = strtoul(length + 15, NULL, 10);
	*body = calloc(1, bytes + 1);
	assert_non_null(*body);
	size_t have = len - (size_t)(end + 4 - head);
	memcpy(*body, end + 4, have);
	*end = '\0';
	while (have < bytes) {
		ssize_t n = read(fd, *body + have, bytes - have);
		if (n <= 0)
			return false;
		have += (size_t)n;
	}
	return true;
}

/* False: the connection ends. */
static inline bool upload_answer(struct upload_server *server, int fd, const char *answer)
{
	char text[1024];
	unsigned status, wait_s = 0;

	for (unsigned i = 0; i < server->delay_ms && !server->ended; i++)
		usleep(1000);
	while (strcmp(answer, "hang") == 0 && !server->ended)
		usleep(1000);
	if (sscanf(answer, "%ur%u", &status, &wait_s) < 1)
		return false;
	const char *words = status == 200 || !server->text ? "" : server->text;
	char retry[64] = "";
	if (wait_s)
		snprintf(retry, sizeof(retry), "Retry-After: %u\r\n", wait_s);
	int n = snprintf(text, sizeof(text), "HTTP/1.1 %u X\r\nContent-Length: %zu\r\n%s\r\n%s",
			 status, strlen(words), retry, words);
	return send(fd, text, (size_t)n, MSG_NOSIGNAL) == n;
}

static inline void *upload_serve(void *arg)
{
	struct upload_connection connection = *(struct upload_connection *)arg;
	struct upload_server *server = connection.server;
	static _Thread_local char head[HEAD_MAX];
	bool goes_on = true;

	free(arg);
	while (goes_on) {
		char *body = NULL;

		goes_on = upload_read(connection.fd, head, &body);
		if (goes_on) {
			struct upload upload = upload_note(server, head, body);
			unsigned now = atomic_fetch_add(&server->under_way, 1) + 1;
			if (now > server->most)
				server->most = now;
			goes_on = upload_answer(server, connection.fd, upload.answer);
			atomic_fetch_sub(&server->under_way, 1);
		}
		free(body);
	}
	close(connection.fd);
	return NULL;
}

static inline void *upload_accept(void *arg)
{
	struct upload_server *server = arg;

	while (!server->ended) {
		struct pollfd wait = {.fd = server->fd, .events = POLLIN};

		if (poll(&wait, 1, 5) <= 0)
			continue;
		struct upload_connection *connection = malloc(sizeof(*connection));
		*connection = (struct upload_connection){
			server, accept4(server->fd, NULL, NULL, SOCK_CLOEXEC)};
		struct timeval limit = {.tv_sec = 60};
		setsockopt(connection->fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
		assert_true(server->connections_count < UPLOADS_MAX);
		pthread_create(&server->connections[server->connections_count++], NULL,
			       upload_serve, connection);
	}
	return NULL;
}

/* `port`: 0 for any. What came before stays known. */
static inline void upload_listen(struct upload_server *server, unsigned port)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_port = htons((uint16_t)port),
				      .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t len = sizeof(address);
	int one = 1;

	server->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	setsockopt(server->fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	assert_int_equal(bind(server->fd, (struct sockaddr *)&address, len), 0);
	assert_int_equal(listen(server->fd, 64), 0);
	assert_int_equal(getsockname(server->fd, (struct sockaddr *)&address, &len), 0);
	server->port = ntohs(address.sin_port);
	snprintf(server->url, sizeof(server->url), "http://127.0.0.1:%u", server->port);
	server->ended = false;
	server->connections_count = 0;
	assert_int_equal(pthread_create(&server->thread, NULL, upload_accept, server), 0);
}

static inline struct upload_server *upload_begin(void)
{
	struct upload_server *server = calloc(1, sizeof(*server));

	assert_non_null(server);
	pthread_mutex_init(&server->lock, NULL);
	upload_listen(server, 0);
	return server;
}

/* Its clients must have closed their connections, or will. */
static inline void upload_stop(struct upload_server *server)
{
	server->ended = true;
	pthread_join(server->thread, NULL);
	close(server->fd);
	server->fd = -1;
	for (unsigned i = 0; i < server->connections_count; i++)
		pthread_join(server->connections[i], NULL);
}

static inline void upload_end(struct upload_server *server)
{
	if (server->fd >= 0)
		upload_stop(server);
	pthread_mutex_destroy(&server->lock);
	free(server);
}
