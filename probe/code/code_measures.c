// SPDX-License-Identifier: GPL-2.0-or-later
/* The same numbers of each kind of code: Python's code objects, Java's methods. */
#include "code/code_cache.h"
#include "measure/measure.h"

static const struct measure_label cause = {"cause", code_loss_name, 0, CODE_LOST_COUNT};

#define AT(member) MEASURE_AT(code_cache_stats, member)

static const struct measure python_rows[] = {
	{"python_code_objects", "code_objects", GAUGE, "Code objects whose names are known.",
	 AT(known)},
	{"python_code_bytes", "bytes", GAUGE, "Memory of the daemon for Python code objects.",
	 AT(bytes)},
	{"python_code_objects_read_total", "read", COUNTER, "Code objects read from processes.",
	 AT(read)},
	{"python_code_objects_lost_total", "lost", COUNTER,
	 "Code objects that could not be read, of a window, by cause.",
	 MEASURE_EACH(code_cache_stats, lost, &cause)},
	{"python_code_objects_copied_total", "copied", COUNTER,
	 "Code objects that came as copies made at a sample.", AT(copied)},
	{"python_function_searches_total", "searches", COUNTER,
	 "Searches of processes for functions, which know qualified names (3.8 to 3.10).",
	 AT(searches)},
	{"python_function_searches_cut_total", "searches_cut", COUNTER,
	 "Searches that ended at a limit or by an error, before all of the process was seen.",
	 AT(searches_cut)},
	{"python_code_objects_qualified_total", "qualified", COUNTER,
	 "Code objects whose qualified names were found by searches.", AT(completed)},
};

const struct measures python_code_measures = {"Python", "status.python", MEASURE_ROWS(python_rows)};

static const struct measure java_rows[] = {
	{"java_methods", "methods", GAUGE, "Java methods and stubs whose names are known.",
	 AT(known)},
	{"java_method_bytes", "bytes", GAUGE, "Memory of the daemon for Java methods.", AT(bytes)},
	{"java_methods_read_total", "read", COUNTER, "Java methods and stubs read from processes.",
	 AT(read)},
	{"java_methods_lost_total", "lost", COUNTER,
	 "Java methods and stubs that could not be read, of a window, by cause.",
	 MEASURE_EACH(code_cache_stats, lost, &cause)},
};

const struct measures java_code_measures = {"Java", "status.java", MEASURE_ROWS(java_rows)};
