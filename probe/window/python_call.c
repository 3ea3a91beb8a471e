// SPDX-License-Identifier: GPL-2.0-or-later
#include "window/python_call.h"

#include <string.h>

#include "base/cleanup.h"

/* Names in 3.8 to 3.15. A `*` at the end stands for anything. */
static const char *const calls[] = {
	/* Objects/call.c */
	"PyObject_Call*",
	"_PyObject_Call*",
	"PyObject_Vectorcall*",
	"_PyObject_Vectorcall*",
	"_PyObject_FastCall*",
	"_PyObject_MakeTpCall",
	"PyVectorcall_Call",
	"_PyVectorcall_Call",
	"_PyFunction_Vectorcall",
	"_PyFunction_FastCall*",
	"PyEval_CallObject*",
	"function_code_fastcall",
	"object_vacall",
	"callmethod",
	/* Objects/methodobject.c, descrobject.c, classobject.c, typeobject.c */
	"PyCFunction_Call",
	"_PyCFunction_FastCall*",
	"_PyCFunction_Vectorcall",
	"_PyMethodDef_RawFastCall*",
	"cfunction_call",
	"cfunction_call_varargs",
	"cfunction_vectorcall_*",
	"method_vectorcall*",
	"method_call",
	"methoddescr_call",
	"classmethoddescr_call",
	"wrapperdescr_call",
	"wrapper_call",
	"slot_tp_call",
	"vectorcall_method",
	"vectorcall_maybe",
	"vectorcall_unbound",
	"lookup_and_call*",
	/* Python/ceval.c, Objects/genobject.c: the ways into the loop */
	"call_function",
	"do_call_core",
	"trace_call_function",
	"_PyEval_EvalFrame",
	"_PyEval_Vector",
	"_PyEval_EvalCode",
	"_PyEval_EvalCodeWithName",
	"_PyEval_MakeFrameVector",
	"PyEval_EvalCode*",
	"PyEval_EvalFrame*",
	"py_trampoline_evaluator",
};

/* Returns the length of `name` up to its first dot after the first byte. */
static size_t without_suffix(const char *name, size_t len)
{
	const char *dot = len > 1 ? memchr(name + 1, '.', len - 1) : NULL;

	return dot ? (size_t)(dot - name) : len;
}

bool python_call(const char *name, size_t len)
{
	len = without_suffix(name, len);
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		size_t bytes = strlen(calls[i]);
		bool any_end = calls[i][bytes - 1] == '*';

		bytes -= any_end;
		if ((any_end ? len >= bytes : len == bytes) && memcmp(name, calls[i], bytes) == 0)
			return true;
	}
	return false;
}
