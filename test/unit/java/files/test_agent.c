// SPDX-License-Identifier: GPL-2.0-or-later
/* The agent itself (build/stackprobe-agent.so) in a Java VM that is made up here: what happens on
 * other threads while it asks the VM for something happens in that call. */
#include "unit/java/files/java_file_maker.h"

#include <dlfcn.h>
#include <limits.h>

#include "jvm_agent/jvmti.h"
#include "bpf/shared/sample.h"
#include "loop/worker.h"
#include "java/files/jvmfile.h"

#define FUNCTIONS 160
#define BYTES_MAX (1 << 20)
#define CODE	  0x7f0000001000
#define EVENTS	  4

static struct {
	struct folder folder;
	char data[80]; /* the agent's folder below it */
	void *library;
	int32_t (*attach)(void *vm, char *options, void *reserved);
	void *functions[FUNCTIONS]; /* of JVMTI, JNI and the VM alike */
	void **env;		    /* where these are */
	struct jvmti_callbacks callbacks;
	unsigned on; /* events that are on, by their place behind the first */
	unsigned capabilities;
	void (*meanwhile)(void); /* what another thread does in the next call */
} test;

/* ---- the VM ---- */

static void do_meanwhile(void)
{
	void (*meanwhile)(void) = TAKE_PTR(test.meanwhile);

	if (meanwhile)
		meanwhile();
}

static int32_t vm_ok(void)
{
	return 0;
}

static int32_t vm_env(void *vm, void *env)
{
	(void)vm;
	*(void **)env = &test.env;
	return JNI_OK;
}

static int32_t vm_set_mode(void *env, int32_t on, int32_t event)
{
	unsigned bit = 1U << (event - JVMTI_EVENT_FIRST);

	(void)env;
	test.on = on ? test.on | bit : test.on & ~bit;
	do_meanwhile();
	return 0;
}

static int32_t vm_take(void)
{
	test.capabilities++;
	return 0;
}

static int32_t vm_give(void)
{
	test.capabilities--;
	return 0;
}

static int32_t vm_set_callbacks(void *env, const struct jvmti_callbacks *callbacks)
{
	(void)env;
	test.callbacks = *callbacks;
	return 0;
}

static int32_t vm_method_name(void *env, void *method, char **name, char **signature)
{
	(void)env;
	*name = strdup((const char *)method);
	*signature = strdup("()V");
	return 0;
}

static int32_t vm_class(void *env, void *class, char **text)
{
	(void)env, (void)class;
	*text = strdup("LMain;");
	return 0;
}

static int32_t vm_free(void *env, void *memory)
{
	(void)env;
	free(memory);
	return 0;
}

static int32_t vm_is_native(void *env, void *method, uint8_t *native)
{
	(void)env, (void)method;
	*native = 0;
	do_meanwhile();
	return 0;
}

static void vm_init(void)
{
	for (size_t i = 0; i < FUNCTIONS; i++)
		test.functions[i] = (void *)vm_ok;
	test.functions[JAVA_VM_GET_ENV] = (void *)vm_env;
	test.functions[JVMTI_SET_EVENT_NOTIFICATION_MODE] = (void *)vm_set_mode;
	test.functions[JVMTI_ADD_CAPABILITIES] = (void *)vm_take;
	test.functions[JVMTI_RELINQUISH_CAPABILITIES] = (void *)vm_give;
	test.functions[JVMTI_SET_EVENT_CALLBACKS] = (void *)vm_set_callbacks;
	test.functions[JVMTI_GET_METHOD_NAME] = (void *)vm_method_name;
	test.functions[JVMTI_GET_CLASS_SIGNATURE] = (void *)vm_class;
	test.functions[JVMTI_GET_SOURCE_FILE_NAME] = (void *)vm_class;
	test.functions[JVMTI_DEALLOCATE] = (void *)vm_free;
	test.functions[JVMTI_IS_METHOD_NATIVE] = (void *)vm_is_native;
	test.env = test.functions;
}

static void vm_compiles(const char *method, uint64_t address)
{
	void (*compiled)(void *, const char *, int32_t, uint64_t, int32_t, void *, void *) =
		(void *)test.callbacks.each[JVMTI_COMPILED_METHOD_LOAD - JVMTI_EVENT_FIRST];

	compiled(&test.env, method, 64, address, 0, NULL, NULL);
}

/* ---- the agent ---- */

static int set_up(void **state)
{
	char path[PATH_MAX] = "";
	size_t len = (size_t)readlink("/proc/self/exe", path, sizeof(path) - 64);

	(void)state;
	while (len && path[len - 1] != '/')
		path[--len] = '\0';
	memcpy(path + len, "../../../../stackprobe-agent.so",
	       sizeof("../../../../stackprobe-agent.so"));
	memset(&test, 0, sizeof(test));
	vm_init();
	folder_make(&test.folder);
	snprintf(test.data, sizeof(test.data), "%s/data", test.folder.path);
	test.library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	assert_non_null(test.library);
	test.attach = dlsym(test.library, "Agent_OnAttach");
	assert_non_null(test.attach);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	dlclose(test.library); /* the next test has a new one */
	folder_done(&test.folder);
	return 0;
}

static int32_t ask(const char *what)
{
	char options[128];

	snprintf(options, sizeof(options), "%s,%s", what, test.data);
	return test.attach(&test.env, options, NULL);
}

static int32_t start(void)
{
	mkdir(test.data, 0700);
	return ask("start,1048576");
}

static bool has_file(void)
{
	return folder_has(&test.folder, "data/" JAVA_SYMBOLS_NAME);
}

static void remove_file(void)
{
	assert_int_equal(unlinkat(test.folder.fd, "data/" JAVA_SYMBOLS_NAME, 0), 0);
}

static void assert_events(int count)
{
	assert_int_equal(__builtin_popcount(test.on), count);
	assert_int_equal(test.capabilities, count != 0);
}

static void all_events_come_and_go(void **state)
{
	(void)state;
	assert_int_equal(start(), 0);
	assert_true(has_file());
	assert_events(EVENTS);
	assert_int_equal(start(), 0);
	assert_events(EVENTS);
	assert_int_equal(ask("stop"), 0);
	assert_events(0);
	assert_false(folder_has(&test.folder, "data"));
	assert_int_equal(ask("stop"), 0);
	assert_int_equal(start(), 0);
	assert_events(EVENTS);
}

static int32_t answered;

static void start_meanwhile(void)
{
	answered = start();
}

/* Its events would be turned off with those that end. */
static void one_that_ends_lets_no_other_begin(void **state)
{
	(void)state;
	assert_int_equal(start(), 0);
	remove_file();
	test.meanwhile = start_meanwhile;
	vm_compiles("run", CODE); /* it sees that its file has gone */
	assert_null(test.meanwhile);
	assert_int_equal(answered, JAVA_AGENT_NOT_NOW);
	assert_events(0);
	assert_int_equal(start(), 0);
	assert_true(has_file());
	assert_events(EVENTS);
}

static void see_that_it_has_gone(void)
{
	remove_file();
	vm_compiles("run", CODE);
}

static void one_that_ends_while_it_begins_turns_all_off(void **state)
{
	(void)state;
	mkdir(test.data, 0700);
	test.meanwhile = see_that_it_has_gone;
	assert_int_equal(start(), JAVA_AGENT_NOT_NOW);
	assert_null(test.meanwhile);
	assert_events(0);
	assert_int_equal(start(), 0);
	assert_events(EVENTS);
}

static void begin_anew(void)
{
	assert_int_equal(ask("stop"), 0);
	assert_int_equal(start(), 0);
}

/* Numbers of methods are of one file. */
static void what_was_made_for_one_file_is_not_written_to_the_next(void **state)
{
	struct jvm_frame frames[JVM_FRAMES_MAX];
	struct jvmfile_memory memory = {.what = JVMFILE_UNKNOWN};
	struct jvmfile *file;
	struct jvmcode *code;
	bool unsure;

	(void)state;
	assert_int_equal(start(), 0);
	vm_compiles("other", CODE + 0x1000);
	vm_compiles("run", CODE + 0x2000);
	test.meanwhile = begin_anew;
	vm_compiles("run", CODE);
	assert_null(test.meanwhile);
	vm_compiles("third", CODE + 0x3000);
	int fd = open(test.data, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(jvmfile_new(&file, fd, geteuid(), BYTES_MAX, NULL, JOB_OWN), 0);
	assert_int_equal(jvmfile_update(file), 0);
	uint64_t word = (uint64_t)FRAME_JAVA << FRAME_KIND_SHIFT | CODE;
	assert_int_equal(jvmfile_read(file, word, 1, &memory, &code), 0);
	assert_int_equal(jvmcode_frames(code, word, 1, frames, &unsure), 1);
	assert_int_equal(frames[0].method_len, 3);
	assert_memory_equal(frames[0].method, "run", 3);
	jvmcode_unref(code);
	jvmfile_unref(file);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(all_events_come_and_go),
		TEST(one_that_ends_lets_no_other_begin),
		TEST(one_that_ends_while_it_begins_turns_all_off),
		TEST(what_was_made_for_one_file_is_not_written_to_the_next),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
