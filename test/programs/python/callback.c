/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A C extension that calls Python back: call(function, levels) through so many C functions,
 * released() from where the GIL was released, burn(n) works in C. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

static __attribute__((noinline)) PyObject *c_level(PyObject *function, long levels)
{
	PyObject *got;

	got = levels > 1 ? c_level(function, levels - 1) : PyObject_CallObject(function, NULL);
	__asm__ volatile("" : : "r"(got) : "memory");
	return got;
}

static PyObject *call(PyObject *self, PyObject *args)
{
	PyObject *function;
	long levels;

	(void)self;
	if (!PyArg_ParseTuple(args, "Ol", &function, &levels))
		return NULL;
	return c_level(function, levels);
}

static __attribute__((noinline)) void c_burn(long turns)
{
	for (volatile long i = 0; i < turns; i++)
		;
}

static PyObject *burn(PyObject *self, PyObject *args)
{
	long turns;

	(void)self;
	if (!PyArg_ParseTuple(args, "l", &turns))
		return NULL;
	c_burn(turns);
	Py_RETURN_NONE;
}

/* As a library does that has its own threads of work and a Python hook. */
static PyObject *released(PyObject *self, PyObject *function)
{
	PyGILState_STATE state;
	PyObject *got;

	(void)self;
	Py_BEGIN_ALLOW_THREADS c_burn(2000);
	state = PyGILState_Ensure();
	got = c_level(function, 1);
	PyGILState_Release(state);
	Py_END_ALLOW_THREADS return got;
}

static PyMethodDef methods[] = {
	{"call", call, METH_VARARGS, NULL},
	{"burn", burn, METH_VARARGS, NULL},
	{"released", released, METH_O, NULL},
	{NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {
	PyModuleDef_HEAD_INIT, "callback", NULL, -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_callback(void)
{
	return PyModule_Create(&module);
}
