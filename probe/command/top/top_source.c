// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/top/top_source.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "api/conf/rest_options.h"
#include "base/cleanup.h"
#include "command/top/top_column.h"
#include "costs/cost_kind.h"

static bool listens_at(const char *path)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || (size_t)snprintf(name.sun_path, sizeof(name.sun_path), "%s", path) >=
			      sizeof(name.sun_path))
		return false;
	return connect(fd, (struct sockaddr *)&name, sizeof(name)) == 0;
}

int top_source_open(struct top_source *source, const struct top_options *options, struct why *why)
{
	const char *path = options->socket ? options->socket : REST_SOCKET;

	if (options->socket && !listens_at(path)) {
		why_set(why, "no daemon listens at %s: %s", path, strerror(errno));
		return -ECONNREFUSED;
	}
	if (options->alone || !listens_at(path)) {
		int r = private_daemon_start(&source->own, why);

		if (r < 0)
			return r;
		path = source->own.socket;
		snprintf(source->name, sizeof(source->name), "a daemon of its own");
	} else {
		snprintf(source->name, sizeof(source->name), "the daemon at %s", path);
	}
	return client_new(&source->client, path, why);
}

void top_source_close(struct top_source *source)
{
	client_free(TAKE_PTR(source->client));
	private_daemon_stop(&source->own);
}

int top_source_feed(struct top_source *source, const struct top_options *options,
		    const struct client_asking *take)
{
	unsigned rows = options->json ? options->rows : TOP_ROWS_ASKED;
	struct client_asking asking = *take;
	char path[256];

	if (source->feed)
		client_cancel(TAKE_PTR(source->feed));
	snprintf(path, sizeof(path), "/proc/%s.json?every=%u&group_by=%s&by=%s&top=%u%s",
		 cost_kind_get(PROC_ALL)->name, options->seconds, cost_groups[options->group],
		 cost_name(top_columns[options->column].key), rows,
		 options->once ? "&count=1" : "");
	asking.path = path;
	return client_get(source->client, &asking, &source->feed);
}
