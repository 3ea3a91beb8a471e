// SPDX-License-Identifier: GPL-2.0-or-later
#include "api/resource/state_file.h"

#include <cjson/cJSON.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "api/request/request.h"
#include "api/resource/feature_table.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/log.h"

#define STATE_FILE	"state.json"
#define STATE_BYTES_MAX (4 * REQUEST_BODY_MAX)

/* Reads the boot's id: start times of processes hold in their boot only. */
static void read_boot_id(char id[64])
{
	_cleanup_buf_ struct buf text = BUF_INIT(64);

	id[0] = '\0';
	if (file_read(AT_FDCWD, "/proc/sys/kernel/random/boot_id", &text) < 0)
		return;
	memcpy(id, text.data, text.len < 63 ? text.len : 63);
	id[text.len < 63 ? text.len : 63] = '\0';
	id[strcspn(id, "\n")] = '\0';
}

void state_save(const struct services *services)
{
	_cleanup_buf_ struct buf text = BUF_INIT(SIZE_MAX);
	struct json json = {.out = &text};
	const struct feature *features;
	size_t count = features_table(&features);
	char boot_id[64];

	if (!services->state_dir || !services->state_dir[0])
		return;
	read_boot_id(boot_id);
	json_object(&json, NULL);
	json_text(&json, "boot_id", boot_id);
	json_object(&json, "features");
	for (size_t i = 0; i < count; i++)
		features[i].save(services, &json);
	json_object_end(&json);
	json_object_end(&json);
	int r = buf_error(&text);
	if (r == 0)
		r = file_replace(services->state_dir, STATE_FILE, text.data, text.len);
	if (r < 0)
		log_warn("the configuration can't be saved in %s and is lost at the next stop: %s",
			 services->state_dir, strerror(-r));
}

static void restore_feature(const struct services *services, const struct feature *feature,
			    const cJSON *saved, bool same_boot)
{
	struct why why = {0};
	int r = feature->restore(services, saved, same_boot, &why);

	if (r < 0)
		log_error("the configuration of %s before the stop can't be restored: %s",
			  feature->name, why.text);
	else
		log_info("%s: the configuration before the stop is restored", feature->name);
}

/* What was saved; `root` holds it. */
struct saved_state {
	cJSON *root;
	const cJSON *features;
	bool same_boot;
};

static void saved_done(struct saved_state *saved)
{
	cJSON_Delete(saved->root);
}

/* Reads the file. Returns false if there is none, or none that can be read, which is logged if
 * `says`. */
static bool saved_read(struct saved_state *saved, const char *folder, bool says)
{
	_cleanup_buf_ struct buf text = BUF_INIT(STATE_BYTES_MAX);
	char boot_id[64];

	if (!folder || !folder[0])
		return false;
	int r = file_read_own(folder, STATE_FILE, &text);
	if (r == -ENOENT)
		return false;
	buf_char(&text, '\0');
	if (r == 0)
		r = buf_error(&text);
	saved->root = r == 0 ? cJSON_Parse(text.data) : NULL;
	saved->features = cJSON_GetObjectItemCaseSensitive(saved->root, "features");
	if (!cJSON_IsObject(saved->features)) {
		if (says)
			log_error("%s/" STATE_FILE " can't be read and is ignored: %s", folder,
				  r < 0 ? strerror(-r) : "it is damaged");
		return false;
	}
	read_boot_id(boot_id);
	const char *saved_id =
		cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(saved->root, "boot_id"));
	saved->same_boot = boot_id[0] && saved_id && strcmp(saved_id, boot_id) == 0;
	return true;
}

void state_restore(const struct services *services)
{
	_cleanup_(saved_done) struct saved_state saved = {0};
	const struct feature *features;
	size_t count = features_table(&features);

	if (!saved_read(&saved, services->state_dir, true))
		return;
	for (size_t i = 0; i < count; i++) {
		const cJSON *one =
			cJSON_GetObjectItemCaseSensitive(saved.features, features[i].name);

		if (one)
			restore_feature(services, &features[i], one, saved.same_boot);
	}
}

/* A line of probes.init. */
struct init_line {
	const char *path;
	unsigned number;
	char *name;
	size_t name_len;
	char *body; /* with room for one more byte */
	size_t bytes;
};

/* Calls each(arg, line) for the lines of a file that say something. A file that can't be read is
 * logged if `says`. */
static void each_line(const char *path, bool says,
		      void (*each)(void *arg, const struct init_line *line), void *arg)
{
	_cleanup_buf_ struct buf text = BUF_INIT(STATE_BYTES_MAX);
	struct init_line line = {.path = path, .number = 1};
	int r = file_read(AT_FDCWD, path, &text);

	if (r == -ENOENT)
		return;
	buf_char(&text, '\n'); /* the last line may lack it; each line's end is its extra byte */
	if (r < 0 || buf_error(&text)) {
		if (says)
			log_error("%s can't be read: %s", path, strerror(r < 0 ? -r : ENOMEM));
		return;
	}
	for (char *at = text.data, *end; at < text.data + text.len; at = end + 1, line.number++) {
		end = memchr(at, '\n', (size_t)(text.data + text.len - at));
		while (at < end && isspace((unsigned char)*at))
			at++;
		line.name = line.body = at;
		while (line.body < end && !isspace((unsigned char)*line.body) && *line.body != '{')
			line.body++;
		line.name_len = (size_t)(line.body - line.name);
		line.bytes = (size_t)(end - line.body);
		if (at < end && *at != '#')
			each(arg, &line);
	}
}

static void apply_line(void *arg, const struct init_line *line)
{
	const struct services *services = arg;
	const struct feature *feature = feature_find(line->name, line->name_len);

	if (!feature) {
		log_warn("%s: line %u: no such feature in this version: %.*s", line->path,
			 line->number, (int)(line->name_len < 64 ? line->name_len : 64),
			 line->name);
		return;
	}
	struct answer answer = {.body = BUF_INIT(64 * 1024)};
	feature->put(services, line->body, line->bytes, &answer, NULL, NULL);
	if (answer.status != 200)
		log_error("%s: line %u is refused: %.*s", line->path, line->number,
			  (int)strcspn(answer.body.data, "\n"), answer.body.data);
	buf_done(&answer.body);
}

void state_apply_init(const struct services *services, const char *path)
{
	each_line(path, true, apply_line, (void *)services);
}

/* ---- what both will begin ---- */

static void add_line(void *arg, const struct init_line *line)
{
	uint32_t *probes = arg;
	const struct feature *feature = feature_find(line->name, line->name_len);

	if (feature)
		*probes |= feature->body_begins(line->body, line->bytes);
}

static uint32_t saved_begins(const struct saved_state *saved)
{
	const struct feature *features;
	size_t count = features_table(&features);
	uint32_t probes = 0;

	for (size_t i = 0; i < count; i++) {
		const cJSON *one =
			cJSON_GetObjectItemCaseSensitive(saved->features, features[i].name);
		char *text = one ? cJSON_PrintUnformatted(one) : NULL;

		if (text)
			probes |= features[i].body_begins(text, strlen(text));
		cJSON_free(text);
	}
	return probes;
}

uint32_t state_begins(const struct services *services, const char *init, bool restores)
{
	_cleanup_(saved_done) struct saved_state saved = {0};
	uint32_t probes = 0;

	each_line(init, false, add_line, &probes); /* who applies it says what is wrong */
	if (restores && saved_read(&saved, services->state_dir, false))
		probes |= saved_begins(&saved);
	return probes;
}
