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

static void free_json(cJSON **json)
{
	cJSON_Delete(*json);
}

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

void state_restore(const struct services *services)
{
	_cleanup_buf_ struct buf text = BUF_INIT(STATE_BYTES_MAX);
	const struct feature *features;
	size_t count = features_table(&features);
	char boot_id[64];

	if (!services->state_dir || !services->state_dir[0])
		return;
	int r = file_read_own(services->state_dir, STATE_FILE, &text);
	if (r == -ENOENT)
		return;
	buf_char(&text, '\0');
	if (r == 0)
		r = buf_error(&text);
	_cleanup_(free_json) cJSON *root = r == 0 ? cJSON_Parse(text.data) : NULL;
	const cJSON *saved = cJSON_GetObjectItemCaseSensitive(root, "features");
	if (!cJSON_IsObject(saved)) {
		log_error("%s/" STATE_FILE " can't be read and is ignored: %s", services->state_dir,
			  r < 0 ? strerror(-r) : "it is damaged");
		return;
	}
	read_boot_id(boot_id);
	const char *saved_id =
		cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(root, "boot_id"));
	bool same_boot = boot_id[0] && saved_id && strcmp(saved_id, boot_id) == 0;
	for (size_t i = 0; i < count; i++) {
		const cJSON *one = cJSON_GetObjectItemCaseSensitive(saved, features[i].name);

		if (one)
			restore_feature(services, &features[i], one, same_boot);
	}
}

/* Applies a line of probes.init, which has room for one more byte. */
static void apply_line(const struct services *services, const char *path, unsigned number,
		       char *line, size_t bytes)
{
	while (bytes && isspace((unsigned char)line[0])) {
		line++;
		bytes--;
	}
	if (!bytes || line[0] == '#')
		return;
	size_t name = 0;
	while (name < bytes && !isspace((unsigned char)line[name]) && line[name] != '{')
		name++;
	const struct feature *feature = feature_find(line, name);
	if (!feature) {
		log_warn("%s: line %u: no such feature in this version: %.*s", path, number,
			 (int)(name < 64 ? name : 64), line);
		return;
	}
	struct answer answer = {.body = BUF_INIT(64 * 1024)};
	feature->put(services, line + name, bytes - name, &answer, NULL, NULL);
	if (answer.status != 200)
		log_error("%s: line %u is refused: %.*s", path, number,
			  (int)strcspn(answer.body.data, "\n"), answer.body.data);
	buf_done(&answer.body);
}

void state_apply_init(const struct services *services, const char *path)
{
	_cleanup_buf_ struct buf text = BUF_INIT(STATE_BYTES_MAX);
	unsigned number = 1;
	int r = file_read(AT_FDCWD, path, &text);

	if (r == -ENOENT)
		return;
	buf_char(&text, '\n'); /* the last line may lack it; each line's end is its extra byte */
	if (r < 0 || buf_error(&text)) {
		log_error("%s can't be read: %s", path, strerror(r < 0 ? -r : ENOMEM));
		return;
	}
	for (char *line = text.data, *end; line < text.data + text.len; line = end + 1, number++) {
		end = memchr(line, '\n', (size_t)(text.data + text.len - line));
		apply_line(services, path, number, line, (size_t)(end - line));
	}
}
