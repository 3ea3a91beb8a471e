// SPDX-License-Identifier: GPL-2.0-or-later
#include "container/podman_api.h"

#include <stdio.h>
#include <string.h>

#include "base/libcurl.h"

#define HEAD_BYTES_MAX (64 << 10)
#define LIMIT_MS       2000

struct podman_answer {
	struct buf body;
	size_t head_bytes;
};

static size_t take_head(char *data, size_t size, size_t count, void *user)
{
	struct podman_answer *answer = user;

	(void)data;
	answer->head_bytes += size * count;
	return answer->head_bytes <= HEAD_BYTES_MAX ? size * count : 0;
}

static size_t take_body(char *data, size_t size, size_t count, void *user)
{
	struct podman_answer *answer = user;

	buf_add(&answer->body, data, size * count);
	return buf_error(&answer->body) ? 0 : size * count;
}

/* Sends a GET to the socket (O_PATH). Returns whether the answer's status is 200. */
static bool ask_podman(int socket_fd, const char *url, struct podman_answer *answer)
{
	char path[64];
	long status = 0;
	CURL *easy = libcurl_load() ? curl_easy_init() : NULL;
	int bad = 0;

	if (!easy)
		return false;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", socket_fd);
	bad |= curl_easy_setopt(easy, CURLOPT_UNIX_SOCKET_PATH, path);
	bad |= curl_easy_setopt(easy, CURLOPT_URL, url);
	bad |= curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http");
	bad |= curl_easy_setopt(easy, CURLOPT_PROXY, ""); /* whatever the environment names */
	bad |= curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
	bad |= curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	bad |= curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)LIMIT_MS);
	bad |= curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, take_head);
	bad |= curl_easy_setopt(easy, CURLOPT_HEADERDATA, answer);
	bad |= curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_body);
	bad |= curl_easy_setopt(easy, CURLOPT_WRITEDATA, answer);
	bool told = !bad && curl_easy_perform(easy) == CURLE_OK &&
		    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status) == CURLE_OK &&
		    status == 200;
	curl_easy_cleanup(easy);
	return told;
}

void podman_api_pod(const struct state_root *root, const char *pod_id, char pod[CONTAINER_NAME_MAX])
{
	struct state_root host = {
		.fd = root->host_fd, .host_fd = root->host_fd, .user = root->user};
	struct podman_answer answer = {.body = BUF_INIT(STATE_USERS_MAX)};
	_cleanup_json_ cJSON *json = NULL;
	char path[64] = "run/podman/podman.sock", url[128];

	if (root->user)
		snprintf(path, sizeof(path), "run/user/%u/podman/podman.sock", root->user);
	_cleanup_close_ int fd = state_socket(&host, path);
	if (fd < 0)
		return;
	snprintf(url, sizeof(url), "http://d/v4.0.0/libpod/pods/%.64s/json", pod_id);
	if (ask_podman(fd, url, &answer) && answer.body.len)
		json = state_parse(answer.body.data, answer.body.len);
	const char *id = state_text(json, "Id");
	if (id && strcmp(id, pod_id) == 0)
		state_take_name(pod, CONTAINER_NAME_MAX, state_text(json, "Name"));
	buf_done(&answer.body);
}
