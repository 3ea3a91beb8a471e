// SPDX-License-Identifier: GPL-2.0-or-later
#include "api/page/page_answer.h"

#include <errno.h>
#include <string.h>
#include <zlib.h>

#include "api/feature/accept.h"
#include "base/cleanup.h"
#include "kind/kind.h"
#include "page/page_files.h"
#include "profile/view.h"
#include "sched/sched_kind.h"

#define UI "/ui/"

/*
 * What the page may do: its own files and its own origin, nothing else. Its only script that is
 * made from a text is the worker, whose address the policy "stackprobe" gives (Trusted Types).
 */
static const char page_policy[] =
	"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
	"connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'self'; "
	"frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types stackprobe";

/* ---- files ---- */

/* What page.html needs, told before it: else a browser learns of a module from those that import
 * it, in rounds. */
#define LINK(symbol, file, type) "</ui/" #file ">; rel=modulepreload, "
static const char page_links[] = PAGE_MODULES(LINK) "</ui/page.css>; rel=preload; as=style";

/* Adds what is in a packed file. */
static void unpack_file(const struct page_file *file, struct buf *out)
{
	z_stream stream = {.next_in = (Bytef *)file->packed, .avail_in = (uInt)file->bytes};
	char room[16384];
	int r = inflateInit2(&stream, 16 + MAX_WBITS);

	if (r != Z_OK) {
		out->error = -ENOMEM;
		return;
	}
	while (r == Z_OK) {
		stream.next_out = (Bytef *)room;
		stream.avail_out = sizeof(room);
		r = inflate(&stream, Z_NO_FLUSH);
		buf_add(out, room, sizeof(room) - stream.avail_out);
	}
	inflateEnd(&stream);
}

static void answer_file(const struct page_asking *asking, const char *name, struct answer *answer)
{
	struct page_file file;

	if (!page_file_find(name, &file)) {
		answer_failed(answer, 404, "url not found");
		return;
	}
	answer->content_type = file.content_type;
	answer->policy = page_policy;
	answer->varies = "Accept, Accept-Encoding";
	memcpy(answer->etag, file.etag, sizeof(answer->etag));
	if (asking->if_none_match && strstr(asking->if_none_match, file.etag)) {
		answer->status = 304;
		return;
	}
	answer->status = 200;
	answer->is_gzip = accept_has_gzip(asking->accept_encoding);
	if (answer->is_gzip)
		buf_add(&answer->body, file.packed, file.bytes);
	else
		unpack_file(&file, &answer->body);
}

static void answer_page(const struct page_asking *asking, struct answer *answer)
{
	answer_file(asking, "page.html", answer);
	answer->links = page_links;
}

/* ---- what the page has to know ---- */

static bool may_tell(const struct page_asking *asking)
{
	return asking->caller->role > ROLE_METRICS;
}

/* The probes of time on CPUs, and of time off them. */
static const struct kind *clock_probe(void)
{
	return kind_get(kind_of_clock());
}

static const struct kind *waits_probe(void)
{
	return kind_get((enum probe)__builtin_ctz(kinds_at_switch()));
}

/* Adds the views beside a probe's first one. */
static void put_views(struct json *json, enum probe probe, const struct kind *kind)
{
	json_array(json, "views");
	for (int i = VIEW_ALL + 1; i < VIEWS; i++) {
		const struct view_row *view = view_get(probe, (enum view)i);

		if (!view)
			continue;
		json_object(json, NULL);
		json_text(json, "name", view->name);
		json_text(json, "title", view->title);
		json_text(json, "unit", view->count_name ? view->count_name : kind->count_name);
		json_raw(json, "held", view_is_held((enum view)i) ? "true" : "false");
		json_object_end(json);
	}
	json_array_end(json);
}

static void put_probe(struct json *json, enum probe probe, const struct kind *kind)
{
	json_object(json, NULL);
	json_text(json, "name", kind->name);
	json_text(json, "title", kind->title);
	json_text(json, "unit", kind->count_name);
	json_raw(json, "own", kind->for_users ? "true" : "false");
	put_views(json, probe, kind);
	json_object_end(json);
}

static void answer_host(const struct page_asking *asking, struct answer *answer)
{
	struct json json = {.out = &answer->body};

	answer->status = 200;
	answer->content_type = "application/json";
	json_object(&json, NULL);
	json_text(&json, "version", VERSION);
	json_text(&json, "host", may_tell(asking) ? asking->services->host : "");
	json_text(&json, "role", role_name(asking->caller->role));
	json_text(&json, "clock", clock_probe()->name);
	json_text(&json, "waits", waits_probe()->name);
	json_array(&json, "probes");
	for (int i = 0; i < PROBE_COUNT && may_tell(asking); i++) {
		if (kind_exists((enum probe)i))
			put_probe(&json, (enum probe)i, kind_get((enum probe)i));
	}
	json_array_end(&json);
	json_array(&json, "sched");
	for (int i = 0; i < SCHED_COUNT && may_tell(asking); i++)
		json_text(&json, NULL, sched_kind_get((enum sched_probe)i)->name);
	json_array_end(&json);
	json_object_end(&json);
	buf_char(&answer->body, '\n');
}

/* ---- text ---- */

static void add_state(const struct page_asking *asking, struct buf *out)
{
	const struct spec *spec = session_spec(asking->services->flamegraph);

	buf_str(out, "/flamegraph: ");
	if (!spec || !spec->running || !spec->probes) {
		buf_str(out, "stopped\n");
		return;
	}
	for (int i = 0; i < PROBE_COUNT; i++) {
		if (spec->probes & 1u << i)
			buf_printf(out, "%s ", kind_get((enum probe)i)->name);
	}
	buf_str(out, "\n");
}

/* Adds a command: `probe` (NULL: none) stands where `path` ends and `query` begins. */
static void add_call(const struct page_asking *asking, struct buf *out, const char *what,
		     const char *path, const struct kind *probe, const char *query)
{
	buf_printf(out, "# %s\ncurl -f '%s://%s%s%s%s'\n", what, asking->tls ? "https" : "http",
		   asking->host ? asking->host : "localhost", path, probe ? probe->name : "",
		   query);
}

static void answer_text(const struct page_asking *asking, struct answer *answer)
{
	struct buf *out = &answer->body;

	answer->status = 200;
	answer->content_type = "text/plain; charset=utf-8";
	answer->varies = "Accept, Accept-Encoding";
	buf_printf(out, "stackprobe " VERSION "%s%s, your role here: %s\n",
		   may_tell(asking) ? " on " : "", may_tell(asking) ? asking->services->host : "",
		   role_name(asking->caller->role));
	if (asking->caller->role >= ROLE_READ)
		add_state(asking, out);
	buf_str(out, "A browser shows a page here. With curl:\n\n");
	add_call(asking, out, "what runs", "/proc/all.txt?seconds=1&top=20", NULL, "");
	add_call(asking, out, "the same since each one's start, and what is sampled",
		 "/processes?limit=20", NULL, "");
	add_call(asking, out, "the next 10 s of a process, as a picture: >now.svg", "/flamegraph/",
		 clock_probe(), ".svg?pid=PID&seconds=10");
	add_call(asking, out, "the same as text, its 20 heaviest stacks", "/flamegraph/",
		 clock_probe(), ".folded?pid=PID&seconds=10&top=20");
	add_call(asking, out, "what it waits for: >waits.svg", "/flamegraph/", waits_probe(),
		 ".svg?pid=PID&seconds=10");
	add_call(asking, out, "what is profiled", "/flamegraph", NULL, "");
	add_call(asking, out, "how long tasks wait for a CPU", "/sched/runqlat.txt?seconds=5", NULL,
		 "");
	add_call(asking, out, "for Prometheus", "/metrics", NULL, "");
}

void page_answer(const struct page_asking *asking, struct answer *answer)
{
	const char *name =
		strncmp(asking->path, UI, strlen(UI)) == 0 ? asking->path + strlen(UI) : NULL;

	if (!name && strcmp(asking->path, "/") != 0)
		answer_failed(answer, 404, "url not found");
	else if (name && strcmp(name, "host.json") == 0)
		answer_host(asking, answer);
	else if (name)
		answer_file(asking, name, answer);
	else if (accept_has(asking->accept, "text/html"))
		answer_page(asking, answer);
	else
		answer_text(asking, answer);
}
