// SPDX-License-Identifier: GPL-2.0-or-later
/* Code of running Java VMs: the frames at each place that the VM itself tells of. */
#include "unit/java/code/jvms.h"

#include "bpf/shared/sample.h"
#include "java/code/jvmcode_struct.h"
#include "java/code/jvmnames.h"

#define AGENT	    "build/test/programs/told.so"
#define LINE_BYTES  (1 << 20)
#define RECORDS_MAX 65536

/* What the VM told of a compiled method. */
struct record {
	uint64_t address;
	char *text; /* its lines, the first one from the class on */
};

struct tested {
	struct python_process process;
	struct process_memory memory;
	struct jvm_layout layout;
	struct record *records;
	size_t count;
	unsigned int codes, gone, places, frames, lines, inlined, wrong, everywhere;
};

static void add_record(struct tested *tested, uint64_t address, const char *text)
{
	for (size_t i = tested->count; i-- > 0;) {
		if (tested->records[i].address == address) {
			free(tested->records[i].text);
			tested->records[i].text = strdup(text);
			return;
		}
	}
	assert_true(tested->count < RECORDS_MAX);
	tested->records[tested->count++] = (struct record){address, strdup(text)};
}

static void read_records(struct tested *tested, const char *path)
{
	_cleanup_free_ char *line = malloc(LINE_BYTES);
	char *text = NULL;
	size_t bytes = 0;
	uint64_t address = 0;
	FILE *file = fopen(path, "re"), *record = NULL;

	assert_non_null(file);
	while (fgets(line, LINE_BYTES, file)) {
		int begin = 0;

		if (line[0] == 'N' && !record) {
			assert_int_equal(sscanf(line, "N %lx %n", &address, &begin), 1);
			record = open_memstream(&text, &bytes);
		}
		if (record && line[0] != 'E')
			fputs(line + begin, record);
		if (record && line[0] == 'E') {
			fclose(record);
			record = NULL;
			add_record(tested, address, text);
			free(text);
		}
	}
	if (record) {
		fclose(record);
		free(text);
	}
	fclose(file);
}

/* The VM's `Ljava/lang/String; length ()I` as a frame has it. */
static bool is_method(const struct jvm_frame *frame, const char *class_name, const char *method,
		      const char *signature)
{
	struct jvmname text, readable;

	assert_int_equal(
		jvmname_decode(&text, (const uint8_t *)class_name + 1, strlen(class_name) - 2), 0);
	jvmname_class(&text);
	if (text.len != frame->class_len || memcmp(text.text, frame->class_name, text.len) != 0)
		return false;
	jvmname_decode(&text, (const uint8_t *)method, strlen(method));
	if (text.len != frame->method_len || memcmp(text.text, frame->method, text.len) != 0)
		return false;
	jvmname_decode(&text, (const uint8_t *)signature, strlen(signature));
	assert_int_equal(jvmname_signature(&readable, &text), 0);
	return readable.len == frame->signature_len &&
	       memcmp(readable.text, frame->signature, readable.len) == 0;
}

static void print_frames(const struct jvm_frame *frames, size_t count)
{
	for (size_t i = 0; i < count; i++)
		print_message("    %.*s.%.*s%.*s:%u\n", (int)frames[i].class_len,
			      frames[i].class_name, (int)frames[i].method_len, frames[i].method,
			      (int)frames[i].signature_len, frames[i].signature, frames[i].line);
}

/* `P OFFSET | CLASS METHOD SIGNATURE LINE | …` */
static void check_place(struct tested *tested, const struct jvmcode *code, uint64_t address,
			uint64_t detail, char *line)
{
	struct jvm_frame frames[JVM_FRAMES_MAX];
	char *rest = NULL, *words, *at;
	bool unsure, right;
	size_t i = 0;

	at = strtok_r(line, "|", &rest);
	uint64_t pc = address + strtoul(at + 2, NULL, 10);
	size_t count = jvmcode_frames(code, (uint64_t)FRAME_JAVA_RETURN << FRAME_KIND_SHIFT | pc,
				      detail, frames, &unsure);
	right = !unsure;
	for (at = strtok_r(NULL, "|", &rest); at && right; at = strtok_r(NULL, "|", &rest), i++) {
		const char *class_name = strtok_r(at, " ", &words);
		const char *method = strtok_r(NULL, " ", &words);
		const char *signature = strtok_r(NULL, " ", &words);
		unsigned long number = strtoul(strtok_r(NULL, " ", &words), NULL, 10);

		right = i < count && is_method(&frames[i], class_name, method, signature) &&
			frames[i].line == number &&
			frames[i].kind == (i + 1 < count ? JVM_INLINED : JVM_COMPILED);
		tested->lines += number != 0;
	}
	tested->places++;
	tested->frames += (unsigned int)count;
	tested->inlined += (unsigned int)count - 1;
	if (right && i == count)
		return;
	if (tested->wrong++ < 10) {
		print_message("  wrong at %zu of %zu%s: %s\n", i, count, unsure ? " unsure" : "",
			      at);
		print_frames(frames, count);
	}
}

static bool is_outermost(const struct jvmcode *code, uint64_t address, char *line)
{
	struct jvm_frame frames[JVM_FRAMES_MAX];
	char *words;
	bool unsure;

	size_t count = jvmcode_frames(code, (uint64_t)FRAME_JAVA << FRAME_KIND_SHIFT | address, 0,
				      frames, &unsure);
	const char *class_name = strtok_r(line, " ", &words);
	const char *method = strtok_r(NULL, " ", &words);
	return is_method(&frames[count - 1], class_name, method, strtok_r(NULL, " ", &words));
}

static void check_record(struct tested *tested, const struct record *record)
{
	const uint64_t kind = (uint64_t)FRAME_JAVA_RETURN << FRAME_KIND_SHIFT;
	struct jvm_reader reader = {&tested->layout, &tested->memory, 1 << 20};
	struct jvmblob blob;
	struct jvmcode *code;
	char *rest = NULL, *line = strtok_r(record->text, "\n", &rest);

	if (jvmblob_find(&blob, &reader, record->address) < 0 || !blob.id ||
	    blob.code != record->address) {
		tested->gone++;
		return;
	}
	uint64_t detail = hotspot_detail(FRAME_JAVA_DETAIL, HOTSPOT_BCI_NONE, blob.id);
	int r = jvmcode_read(&code, &tested->layout, &tested->memory, kind | record->address,
			     detail);
	if (r < 0) {
		print_message("  %s: %s\n", line, strerror(-r));
		tested->gone++;
		tested->wrong += r != -ESTALE;
		return;
	}
	assert_true(jvmcode_is(code, kind | record->address, detail));
	assert_false(jvmcode_is(code, kind | record->address, detail + 1));
	if (is_outermost(code, record->address, line)) {
		tested->codes++;
		while ((line = strtok_r(NULL, "\n", &rest)))
			check_place(tested, code, record->address, detail, line);
	} else {
		tested->gone++; /* or a method handle's: the VM tells the first one's name of all */
	}
	tested->everywhere += code->is_known_everywhere;
	jvmcode_unref(code);
}

static void check_jvm(const char *java, const char *flag)
{
	char option[PATH_MAX + 64], path[] = "/tmp/told.XXXXXX", line[64];
	const char *const arguments[] = {java,	  option,  "-XX:+UnlockDiagnosticVMOptions",
					 flag,	  "-cp",   "build/test/programs",
					 "Works", "20000", NULL};
	struct tested tested = {.records = calloc(RECORDS_MAX, sizeof(struct record))};
	struct hotspot_file file;
	const char *missing = NULL;
	uint64_t bias;

	_cleanup_free_ char *cwd = getcwd(NULL, 0);
	_cleanup_close_ int fd = mkstemp(path);
	assert_true(fd >= 0 && tested.records);
	snprintf(option, sizeof(option), "-agentpath:%s/" AGENT "=%s", cwd, path);
	python_start(&tested.process, java, arguments);
	assert_non_null(fgets(line, sizeof(line), tested.process.output));
	assert_string_equal(line, "warm\n");
	assert_true(jvm_find_file(tested.process.pid, &file, &bias));
	tested.memory = python_memory(&tested.process);
	int r = hotspot_of_memory(&tested.memory, &file, bias, &tested.layout, &missing);
	if (r < 0)
		fail_msg("%s: %s %s", java, strerror(-r), missing ? missing : "");
	read_records(&tested, path);
	for (size_t i = 0; i < tested.count; i++)
		check_record(&tested, &tested.records[i]);
	python_end(&tested.process);
	unlink(path);
	print_message("%s %s: version %u, %u codes (%u gone), %u places, %u frames, %u inlined, "
		      "%u lines, %u known everywhere, %u wrong\n",
		      java, flag, tested.layout.version, tested.codes, tested.gone, tested.places,
		      tested.frames, tested.inlined, tested.lines, tested.everywhere, tested.wrong);
	assert_int_equal(tested.wrong, 0);
	assert_true(tested.codes > 100 && tested.inlined > 1000);
	if (strchr(flag, '-') != strrchr(flag, '-'))
		assert_int_equal(tested.everywhere, 0);
	else if (tested.layout.blob_oop_maps != HOTSPOT_NO)
		assert_true(tested.everywhere > tested.codes / 2);
	for (size_t i = 0; i < tested.count; i++)
		free(tested.records[i].text);
	free(tested.records);
}

static void check_both(const char *java)
{
	check_jvm(java, "-XX:-DebugNonSafepoints");
	check_jvm(java, "-XX:+DebugNonSafepoints");
}

static void places_are_the_vms(void **state)
{
	(void)state;
	if (access(AGENT, R_OK) < 0 || !each_jvm(check_both)) {
		print_message("no Java VM is installed (JAVAS), or no JDK to build its agent\n");
		skip();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(places_are_the_vms),
	};

	return cmocka_run_group_tests_name("jvmcode_real", tests, NULL, NULL);
}
