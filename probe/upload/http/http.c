// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * libcurl's multi interface in our loop: libcurl's sockets are in an epoll instance of their own,
 * which the loop watches as one descriptor; libcurl's timer is a timer of the loop.
 */
#include "upload/http/http.h"

#include <errno.h>
#include <linux/close_range.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "upload/http/http_call.h"

#define EVENTS_AT_ONCE 16
#define IDLE_NS	       (5 * NS_PER_S)

struct http {
	struct loop *loop;
	struct http_call *calls; /* under way */
	CURLM *multi;		 /* NULL: no descriptor is open */
	struct loop_watch watch; /* epoll; -1: none */
	struct loop_timer timer; /* libcurl's */
	struct loop_timer idle;
};

/* ---- the end of a call ---- */

static void unlink_call(struct http *http, struct http_call *call)
{
	struct http_call **at = &http->calls;

	while (*at != call)
		at = &(*at)->next;
	*at = call->next;
	curl_multi_remove_handle(http->multi, call->easy);
	if (!http->calls)
		loop_timer_set(http->loop, &http->idle, loop_now_ns() + IDLE_NS);
}

static void finish_calls(struct http *http)
{
	CURLMsg *message;
	int left;

	/* done() may call http_close_idle(). */
	while (http->multi && (message = curl_multi_info_read(http->multi, &left))) {
		_cleanup_(http_call_freep) struct http_call *call = NULL;
		CURLcode result = message->data.result; /* `message` dies with the handle */
		struct http_answer answer;

		if (message->msg != CURLMSG_DONE)
			continue;
		curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&call);
		http_call_judge(call, result, &answer);
		unlink_call(http, call);
		call->done(call->arg, &answer);
	}
}

/* ---- libcurl's sockets and its timer ---- */

static void on_sockets(void *arg)
{
	struct http *http = arg;
	struct epoll_event events[EVENTS_AT_ONCE];
	int running, count = epoll_wait(http->watch.fd, events, EVENTS_AT_ONCE, 0);

	for (int i = 0; i < count; i++) {
		/* libcurl sees an error or an end when it reads. */
		int ready =
			(events[i].events & (EPOLLIN | EPOLLERR | EPOLLHUP) ? CURL_CSELECT_IN : 0) |
			(events[i].events & EPOLLOUT ? CURL_CSELECT_OUT : 0);

		curl_multi_socket_action(http->multi, events[i].data.fd, ready, &running);
	}
	finish_calls(http);
}

static void on_timer(void *arg)
{
	struct http *http = arg;
	int running;

	curl_multi_socket_action(http->multi, CURL_SOCKET_TIMEOUT, 0, &running);
	finish_calls(http);
}

static int watch_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *socket_arg)
{
	struct http *http = arg;
	struct epoll_event event = {.data.fd = fd};

	(void)easy, (void)socket_arg;
	if (what == CURL_POLL_REMOVE) {
		epoll_ctl(http->watch.fd, EPOLL_CTL_DEL, fd, NULL);
		return 0;
	}
	if (what & CURL_POLL_IN)
		event.events |= EPOLLIN;
	if (what & CURL_POLL_OUT)
		event.events |= EPOLLOUT;
	if (epoll_ctl(http->watch.fd, EPOLL_CTL_MOD, fd, &event) == 0)
		return 0;
	/* If the socket can't be watched, the call times out. */
	return epoll_ctl(http->watch.fd, EPOLL_CTL_ADD, fd, &event) < 0 ? -1 : 0;
}

static int set_timer(CURLM *multi, long timeout_ms, void *arg)
{
	struct http *http = arg;

	(void)multi;
	if (timeout_ms < 0)
		loop_timer_cancel(http->loop, &http->timer);
	else
		loop_timer_set(http->loop, &http->timer,
			       loop_now_ns() + (uint64_t)timeout_ms * NS_PER_MS);
	return 0;
}

static void close_multi(struct http *http)
{
	if (http->multi)
		curl_multi_cleanup(http->multi);
	http->multi = NULL;
	loop_timer_cancel(http->loop, &http->timer);
	loop_timer_cancel(http->loop, &http->idle);
	if (http->watch.fd < 0)
		return;
	loop_unwatch(http->loop, &http->watch);
	close(http->watch.fd);
	http->watch.fd = -1;
}

static int open_multi(struct http *http)
{
	http->watch.fd = epoll_create1(EPOLL_CLOEXEC);
	if (http->watch.fd < 0)
		return -errno;
	int r = loop_watch(http->loop, &http->watch);
	if (r < 0)
		return r;
	http->multi = curl_multi_init();
	if (!http->multi)
		return -ENOMEM;
	/* libcurl 7.88 makes a pair of sockets without CLOEXEC, which programs that we start would
	 * inherit. Before Linux 5.11 (no CLOSE_RANGE_CLOEXEC) they do. */
	close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC);
	CURLMcode bad = CURLM_OK;
	bad |= curl_multi_setopt(http->multi, CURLMOPT_SOCKETFUNCTION, watch_socket);
	bad |= curl_multi_setopt(http->multi, CURLMOPT_SOCKETDATA, http);
	bad |= curl_multi_setopt(http->multi, CURLMOPT_TIMERFUNCTION, set_timer);
	bad |= curl_multi_setopt(http->multi, CURLMOPT_TIMERDATA, http);
	bad |= curl_multi_setopt(http->multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, (long)HTTP_AT_ONCE);
	bad |= curl_multi_setopt(http->multi, CURLMOPT_MAXCONNECTS, (long)HTTP_AT_ONCE);
#if LIBCURL_VERSION_NUM >= 0x081600
	/* Here the resolver's threads belong to the multi handle; http_call.c sets this for older
	 * versions. */
	bad |= curl_multi_setopt(http->multi, CURLMOPT_QUICK_EXIT, 1L);
#endif
	return bad ? -ENOMEM : 0;
}

/* ---- doors ---- */

static void on_idle(void *arg)
{
	http_close_idle(arg);
}

int http_new(struct http **ret, struct loop *loop)
{
	struct http *http = calloc(1, sizeof(*http));

	if (!http)
		return -ENOMEM;
	http->loop = loop;
	http->watch =
		(struct loop_watch){.fd = -1, .ready = on_sockets, .arg = http, .name = "uploads"};
	http->timer = (struct loop_timer){.expired = on_timer, .arg = http, .name = "uploads"};
	http->idle = (struct loop_timer){.expired = on_idle, .arg = http, .name = "uploads"};
	*ret = http;
	return 0;
}

void http_free(struct http *http)
{
	if (!http)
		return;
	while (http->calls)
		http_cancel(http->calls);
	close_multi(http);
	free(http);
}

static int begin_call(struct http *http, struct http_call *call)
{
	int r = http->multi ? 0 : open_multi(http);

	if (r == 0 && curl_multi_add_handle(http->multi, call->easy) != CURLM_OK)
		r = -ENOMEM;
	if (r < 0)
		return r;
	loop_timer_cancel(http->loop, &http->idle);
	call->http = http;
	call->next = http->calls;
	http->calls = call;
	return 0;
}

int http_post(struct http *http, const struct http_post *request, struct http_call **ret)
{
	struct http_call *call;

	if (!libcurl_load())
		return -ENOSYS;
	int r = http_call_new(&call, request);
	if (r < 0)
		return r;
	r = begin_call(http, call);
	if (r < 0) {
		http_call_free(call);
		http_close_idle(http);
		return r;
	}
	if (ret)
		*ret = call;
	return 0;
}

bool http_cancel(struct http_call *call)
{
	bool all_sent = http_call_all_sent(call);

	unlink_call(call->http, call);
	http_call_free(call);
	return all_sent;
}

void http_close_idle(struct http *http)
{
	if (!http->calls)
		close_multi(http);
}
