// SPDX-License-Identifier: GPL-2.0-or-later
/* Made by scripts/gen-python-layouts from CPython's headers (doc/cpython-layouts.md tells which).
 */
#include "python/layouts.h"

const struct python_layout python_layouts[] = {
	{
		.walk =
			{
				.version = 0x03080000,
				.interpreter_threads = 8, /* PyInterpreterState.tstate_head */
				.interpreters_head = 32,  /* _PyRuntimeState.interpreters.head */
				.interpreter_next = 0,	  /* PyInterpreterState.next */
				.thread_next = 8,	  /* PyThreadState.next */
				.thread_id = 176,	  /* PyThreadState.thread_id */
				.thread_frame = 24,	  /* PyThreadState.frame */
				.cframe = CPYTHON_NO,
				.frame_owner = CPYTHON_NO,
				.frame_previous = 24, /* PyFrameObject.f_back */
				.frame_code = 32,     /* PyFrameObject.f_code */
				.frame_instr = 104,   /* PyFrameObject.f_lasti */
				.frame_words = 14,
				.code_sum_at = 40,
				.code_sum_words = 11,
				.code_name = 112,   /* PyCodeObject.co_name */
				.unicode_hash = 24, /* PyASCIIObject.hash */
				.object_type = 8,   /* PyObject.ob_type */
				.entry = CPYTHON_ENTRY_EACH,
				.shim_owner = 0,
				.instr_is_int = 1,
			},
		.lines = PYTHON_LINES_LNOTAB,
		.instruction_bytes = 1,
		.code_name = 112,      /* PyCodeObject.co_name */
		.code_filename = 104,  /* PyCodeObject.co_filename */
		.code_first_line = 40, /* PyCodeObject.co_firstlineno */
		.code_qualname = CPYTHON_NO,
		.code_lines = 120, /* PyCodeObject.co_lnotab */
		.code_instructions = CPYTHON_NO,
		.code_copies = CPYTHON_NO,
		.unicode_length = 16, /* PyASCIIObject.length */
		.unicode_state = 32,  /* PyASCIIObject.state */
		.ascii_data = 48,
		.compact_data = 72,
		.unicode_kind_shift = 2,
		.unicode_compact_shift = 5,
		.unicode_ascii_shift = 6,
		.bytes_length = 16, /* PyBytesObject.ob_base.ob_size */
		.bytes_data = 32,   /* PyBytesObject.ob_sval */
		.functions =
			{
				.interpreter_modules = 56, /* PyInterpreterState.modules */
				.function_code = 16,	   /* PyFunctionObject.func_code */
				.function_globals = 24,	   /* PyFunctionObject.func_globals */
				.function_closure = 48,	   /* PyFunctionObject.func_closure */
				.function_dict = 72,	   /* PyFunctionObject.func_dict */
				.function_qualname = 104,  /* PyFunctionObject.func_qualname */
				.code_consts = 56,	   /* PyCodeObject.co_consts */
				.tuple_length = 16,	   /* PyTupleObject.ob_base.ob_size */
				.tuple_items = 24,	   /* PyTupleObject.ob_item */
				.type_flags = 168,	   /* PyTypeObject.tp_flags */
				.type_dict = 264,	   /* PyTypeObject.tp_dict */
				.type_instance_dict = 288, /* PyTypeObject.tp_dictoffset */
				.dict_keys = 32,	   /* PyDictObject.ma_keys */
				.dict_values = 40,	   /* PyDictObject.ma_values */
				.keys_size = 8,
				.keys_used = 32,
				.keys_indices = 40,
			},
	},
	{
		.walk =
			{
				.version = 0x03090000,
				.interpreter_threads = 8, /* PyInterpreterState.tstate_head */
				.interpreters_head = 32,  /* _PyRuntimeState.interpreters.head */
				.interpreter_next = 0,	  /* PyInterpreterState.next */
				.thread_next = 8,	  /* PyThreadState.next */
				.thread_id = 176,	  /* PyThreadState.thread_id */
				.thread_frame = 24,	  /* PyThreadState.frame */
				.cframe = CPYTHON_NO,
				.frame_owner = CPYTHON_NO,
				.frame_previous = 24, /* PyFrameObject.f_back */
				.frame_code = 32,     /* PyFrameObject.f_code */
				.frame_instr = 104,   /* PyFrameObject.f_lasti */
				.frame_words = 14,
				.code_sum_at = 40,
				.code_sum_words = 11,
				.code_name = 112,   /* PyCodeObject.co_name */
				.unicode_hash = 24, /* PyASCIIObject.hash */
				.object_type = 8,   /* PyObject.ob_type */
				.entry = CPYTHON_ENTRY_EACH,
				.shim_owner = 0,
				.instr_is_int = 1,
			},
		.lines = PYTHON_LINES_LNOTAB,
		.instruction_bytes = 1,
		.code_name = 112,      /* PyCodeObject.co_name */
		.code_filename = 104,  /* PyCodeObject.co_filename */
		.code_first_line = 40, /* PyCodeObject.co_firstlineno */
		.code_qualname = CPYTHON_NO,
		.code_lines = 120, /* PyCodeObject.co_lnotab */
		.code_instructions = CPYTHON_NO,
		.code_copies = CPYTHON_NO,
		.unicode_length = 16, /* PyASCIIObject.length */
		.unicode_state = 32,  /* PyASCIIObject.state */
		.ascii_data = 48,
		.compact_data = 72,
		.unicode_kind_shift = 2,
		.unicode_compact_shift = 5,
		.unicode_ascii_shift = 6,
		.bytes_length = 16, /* PyBytesObject.ob_base.ob_size */
		.bytes_data = 32,   /* PyBytesObject.ob_sval */
		.functions =
			{
				.interpreter_modules = 856, /* PyInterpreterState.modules */
				.function_code = 16,	    /* PyFunctionObject.func_code */
				.function_globals = 24,	    /* PyFunctionObject.func_globals */
				.function_closure = 48,	    /* PyFunctionObject.func_closure */
				.function_dict = 72,	    /* PyFunctionObject.func_dict */
				.function_qualname = 104,   /* PyFunctionObject.func_qualname */
				.code_consts = 56,	    /* PyCodeObject.co_consts */
				.tuple_length = 16,	    /* PyTupleObject.ob_base.ob_size */
				.tuple_items = 24,	    /* PyTupleObject.ob_item */
				.type_flags = 168,	    /* PyTypeObject.tp_flags */
				.type_dict = 264,	    /* PyTypeObject.tp_dict */
				.type_instance_dict = 288,  /* PyTypeObject.tp_dictoffset */
				.dict_keys = 32,	    /* PyDictObject.ma_keys */
				.dict_values = 40,	    /* PyDictObject.ma_values */
				.keys_size = 8,
				.keys_used = 32,
				.keys_indices = 40,
			},
	},
	{
		.walk =
			{
				.version = 0x030a0000,
				.interpreter_threads = 8, /* PyInterpreterState.tstate_head */
				.interpreters_head = 32,  /* _PyRuntimeState.interpreters.head */
				.interpreter_next = 0,	  /* PyInterpreterState.next */
				.thread_next = 8,	  /* PyThreadState.next */
				.thread_id = 176,	  /* PyThreadState.thread_id */
				.thread_frame = 24,	  /* PyThreadState.frame */
				.cframe = CPYTHON_NO,
				.frame_owner = CPYTHON_NO,
				.frame_previous = 24, /* PyFrameObject.f_back */
				.frame_code = 32,     /* PyFrameObject.f_code */
				.frame_instr = 96,    /* PyFrameObject.f_lasti */
				.frame_words = 13,
				.code_sum_at = 40,
				.code_sum_words = 11,
				.code_name = 112,   /* PyCodeObject.co_name */
				.unicode_hash = 24, /* PyASCIIObject.hash */
				.object_type = 8,   /* PyObject.ob_type */
				.entry = CPYTHON_ENTRY_EACH,
				.shim_owner = 0,
				.instr_is_int = 1,
			},
		.lines = PYTHON_LINES_DELTAS,
		.instruction_bytes = 2,
		.code_name = 112,      /* PyCodeObject.co_name */
		.code_filename = 104,  /* PyCodeObject.co_filename */
		.code_first_line = 40, /* PyCodeObject.co_firstlineno */
		.code_qualname = CPYTHON_NO,
		.code_lines = 120, /* PyCodeObject.co_linetable */
		.code_instructions = CPYTHON_NO,
		.code_copies = CPYTHON_NO,
		.unicode_length = 16, /* PyASCIIObject.length */
		.unicode_state = 32,  /* PyASCIIObject.state */
		.ascii_data = 48,
		.compact_data = 72,
		.unicode_kind_shift = 2,
		.unicode_compact_shift = 5,
		.unicode_ascii_shift = 6,
		.bytes_length = 16, /* PyBytesObject.ob_base.ob_size */
		.bytes_data = 32,   /* PyBytesObject.ob_sval */
		.functions =
			{
				.interpreter_modules = 856, /* PyInterpreterState.modules */
				.function_code = 48,	    /* PyFunctionObject.func_code */
				.function_globals = 16,	    /* PyFunctionObject.func_globals */
				.function_closure = 72,	    /* PyFunctionObject.func_closure */
				.function_dict = 88,	    /* PyFunctionObject.func_dict */
				.function_qualname = 40,    /* PyFunctionObject.func_qualname */
				.code_consts = 56,	    /* PyCodeObject.co_consts */
				.tuple_length = 16,	    /* PyTupleObject.ob_base.ob_size */
				.tuple_items = 24,	    /* PyTupleObject.ob_item */
				.type_flags = 168,	    /* PyTypeObject.tp_flags */
				.type_dict = 264,	    /* PyTypeObject.tp_dict */
				.type_instance_dict = 288,  /* PyTypeObject.tp_dictoffset */
				.dict_keys = 32,	    /* PyDictObject.ma_keys */
				.dict_values = 40,	    /* PyDictObject.ma_values */
				.keys_size = 8,
				.keys_used = 32,
				.keys_indices = 40,
			},
	},
	{
		.walk =
			{
				.version = 0x030b0000,
				.interpreter_threads = 16, /* PyInterpreterState.threads.head */
				.interpreters_head = 40,   /* _PyRuntimeState.interpreters.head */
				.interpreter_next = 0,	   /* PyInterpreterState.next */
				.thread_next = 8,	   /* PyThreadState.next */
				.thread_id = 152,	   /* PyThreadState.thread_id */
				.thread_frame = 56,	   /* PyThreadState.cframe */
				.cframe = 8,		   /* _PyCFrame.current_frame */
				.frame_previous = 48,	   /* _PyInterpreterFrame.previous */
				.frame_code = 32,	   /* _PyInterpreterFrame.f_code */
				.frame_instr = 56,	   /* _PyInterpreterFrame.prev_instr */
				.frame_owner = 68,	   /* _PyInterpreterFrame.is_entry */
				.frame_words = 9,
				.code_sum_at = 72,
				.code_sum_words = 9,
				.code_name = 120,   /* PyCodeObject.co_name */
				.unicode_hash = 24, /* PyASCIIObject.hash */
				.object_type = 8,   /* PyObject.ob_type */
				.entry = CPYTHON_ENTRY_FLAG,
				.shim_owner = 0,
				.instr_is_int = 0,
			},
		.lines = PYTHON_LINES_LOCATIONS,
		.instruction_bytes = 1,
		.code_name = 120,	  /* PyCodeObject.co_name */
		.code_filename = 112,	  /* PyCodeObject.co_filename */
		.code_first_line = 72,	  /* PyCodeObject.co_firstlineno */
		.code_qualname = 128,	  /* PyCodeObject.co_qualname */
		.code_lines = 136,	  /* PyCodeObject.co_linetable */
		.code_instructions = 184, /* PyCodeObject.co_code_adaptive */
		.code_copies = CPYTHON_NO,
		.unicode_length = 16, /* PyASCIIObject.length */
		.unicode_state = 32,  /* PyASCIIObject.state */
		.ascii_data = 48,
		.compact_data = 72,
		.unicode_kind_shift = 2,
		.unicode_compact_shift = 5,
		.unicode_ascii_shift = 6,
		.bytes_length = 16, /* PyBytesObject.ob_base.ob_size */
		.bytes_data = 32,   /* PyBytesObject.ob_sval */
	},
	{
		.walk =
			{
				.version = 0x030c0000,
				.interpreter_threads = 72, /* PyInterpreterState.threads.head */
				.interpreters_head = 40,   /* _PyRuntimeState.interpreters.head */
				.interpreter_next = 0,	   /* PyInterpreterState.next */
				.thread_next = 8,	   /* PyThreadState.next */
				.thread_id = 136,	   /* PyThreadState.thread_id */
				.thread_frame = 56,	   /* PyThreadState.cframe */
				.cframe = 0,		   /* _PyCFrame.current_frame */
				.frame_previous = 8,	   /* _PyInterpreterFrame.previous */
				.frame_code = 0,	   /* _PyInterpreterFrame.f_code */
				.frame_instr = 56,	   /* _PyInterpreterFrame.prev_instr */
				.frame_owner = 70,	   /* _PyInterpreterFrame.owner */
				.frame_words = 9,
				.code_sum_at = 88,
				.code_sum_words = 7,
				.code_name = 120,   /* PyCodeObject.co_name */
				.unicode_hash = 24, /* PyASCIIObject.hash */
				.object_type = 8,   /* PyObject.ob_type */
				.entry = CPYTHON_ENTRY_SHIM,
				.shim_owner = 3,
				.instr_is_int = 0,
			},
		.lines = PYTHON_LINES_LOCATIONS,
		.instruction_bytes = 1,
		.code_name = 120,	  /* PyCodeObject.co_name */
		.code_filename = 112,	  /* PyCodeObject.co_filename */
		.code_first_line = 68,	  /* PyCodeObject.co_firstlineno */
		.code_qualname = 128,	  /* PyCodeObject.co_qualname */
		.code_lines = 136,	  /* PyCodeObject.co_linetable */
		.code_instructions = 192, /* PyCodeObject.co_code_adaptive */
		.code_copies = CPYTHON_NO,
		.unicode_length = 16, /* PyASCIIObject.length */
		.unicode_state = 32,  /* PyASCIIObject.state */
		.ascii_data = 40,
		.compact_data = 56,
		.unicode_kind_shift = 2,
		.unicode_compact_shift = 5,
		.unicode_ascii_shift = 6,
		.bytes_length = 16, /* PyBytesObject.ob_base.ob_size */
		.bytes_data = 32,   /* PyBytesObject.ob_sval */
	},
};

const size_t python_layouts_count = sizeof(python_layouts) / sizeof(python_layouts[0]);

const struct python_debug python_debugs[] = {
	{
		.version = 0x030d0000,
		.bytes = 584,
		.shim_owner = 3,
		.word =
			{
				.interpreters_head = 5,	  /* runtime_state.interpreters_head */
				.interpreter_next = 8,	  /* interpreter_state.next */
				.interpreter_threads = 9, /* interpreter_state.threads_head */
				.thread_next = 21,	  /* thread_state.next */
				.thread_id = 24,	  /* thread_state.thread_id */
				.thread_frame = 23,	  /* thread_state.current_frame */
				.frame_previous = 29,	  /* interpreter_frame.previous */
				.frame_code = 30,	  /* interpreter_frame.executable */
				.frame_instr = 31,	  /* interpreter_frame.instr_ptr */
				.frame_owner = 33,	  /* interpreter_frame.owner */
				.code_filename = 35,	  /* code_object.filename */
				.code_name = 36,	  /* code_object.name */
				.code_qualname = 37,	  /* code_object.qualname */
				.code_lines = 38,	  /* code_object.linetable */
				.code_first_line = 39,	  /* code_object.firstlineno */
				.code_locals = 41,	  /* code_object.localsplusnames */
				.code_instructions = 43,  /* code_object.co_code_adaptive */
				.object_type = 45,	  /* pyobject.ob_type */
				.bytes_length = 65,	  /* bytes_object.ob_size */
				.bytes_data = 66,	  /* bytes_object.ob_sval */
				.unicode_state = 68,	  /* unicode_object.state */
				.unicode_length = 69,	  /* unicode_object.length */
				.ascii_data = 70,	  /* unicode_object.asciiobject_size */
			},
		.gil =
			{
				.code_tag = 0,
				.sum_before = 8,
				.sum_words = 7,
				.compact_bytes = 16,
				.unicode_hash = 24,
				.unicode_kind_shift = 2,
				.unicode_compact_shift = 5,
				.unicode_ascii_shift = 6,
				.unicode_further_shift = 0,
			},
		.free_threaded =
			{
				.code_tag = 0,
				.sum_before = 8,
				.sum_words = 7,
				.compact_bytes = 16,
				.unicode_hash = 40,
				.unicode_kind_shift = 2,
				.unicode_compact_shift = 5,
				.unicode_ascii_shift = 6,
				.unicode_further_shift = 0,
			},
	},
	{
		.version = 0x030e0000,
		.bytes = 760,
		.shim_owner = 3,
		.word =
			{
				.interpreters_head = 5,	  /* runtime_state.interpreters_head */
				.interpreter_next = 8,	  /* interpreter_state.next */
				.interpreter_threads = 9, /* interpreter_state.threads_head */
				.thread_next = 24,	  /* thread_state.next */
				.thread_id = 27,	  /* thread_state.thread_id */
				.thread_frame = 26,	  /* thread_state.current_frame */
				.frame_previous = 32,	  /* interpreter_frame.previous */
				.frame_code = 33,	  /* interpreter_frame.executable */
				.frame_instr = 34,	  /* interpreter_frame.instr_ptr */
				.frame_owner = 36,	  /* interpreter_frame.owner */
				.code_filename = 40,	  /* code_object.filename */
				.code_name = 41,	  /* code_object.name */
				.code_qualname = 42,	  /* code_object.qualname */
				.code_lines = 43,	  /* code_object.linetable */
				.code_first_line = 44,	  /* code_object.firstlineno */
				.code_locals = 46,	  /* code_object.localsplusnames */
				.code_instructions = 48,  /* code_object.co_code_adaptive */
				.code_copies = 49,	  /* code_object.co_tlbc */
				.object_type = 51,	  /* pyobject.ob_type */
				.bytes_length = 75,	  /* bytes_object.ob_size */
				.bytes_data = 76,	  /* bytes_object.ob_sval */
				.unicode_state = 78,	  /* unicode_object.state */
				.unicode_length = 79,	  /* unicode_object.length */
				.ascii_data = 80,	  /* unicode_object.asciiobject_size */
			},
		.gil =
			{
				.code_tag = 3,
				.sum_before = 8,
				.sum_words = 7,
				.compact_bytes = 16,
				.unicode_hash = 24,
				.unicode_kind_shift = 2,
				.unicode_compact_shift = 5,
				.unicode_ascii_shift = 6,
				.unicode_further_shift = 14,
			},
		.free_threaded =
			{
				.code_tag = 1,
				.sum_before = 8,
				.sum_words = 7,
				.compact_bytes = 16,
				.unicode_hash = 40,
				.unicode_kind_shift = 8,
				.unicode_compact_shift = 11,
				.unicode_ascii_shift = 12,
				.unicode_further_shift = 8,
			},
	},
	{
		.version = 0x030f0000,
		.bytes = 888,
		.shim_owner = 3,
		.word =
			{
				.interpreters_head = 5,	  /* runtime_state.interpreters_head */
				.interpreter_next = 8,	  /* interpreter_state.next */
				.interpreter_threads = 9, /* interpreter_state.threads_head */
				.thread_next = 24,	  /* thread_state.next */
				.thread_id = 30,	  /* thread_state.thread_id */
				.thread_frame = 26,	  /* thread_state.current_frame */
				.frame_previous = 40,	  /* interpreter_frame.previous */
				.frame_code = 41,	  /* interpreter_frame.executable */
				.frame_instr = 42,	  /* interpreter_frame.instr_ptr */
				.frame_owner = 44,	  /* interpreter_frame.owner */
				.code_filename = 48,	  /* code_object.filename */
				.code_name = 49,	  /* code_object.name */
				.code_qualname = 50,	  /* code_object.qualname */
				.code_lines = 51,	  /* code_object.linetable */
				.code_first_line = 52,	  /* code_object.firstlineno */
				.code_locals = 54,	  /* code_object.localsplusnames */
				.code_instructions = 56,  /* code_object.co_code_adaptive */
				.code_copies = 57,	  /* code_object.co_tlbc */
				.object_type = 59,	  /* pyobject.ob_type */
				.bytes_length = 87,	  /* bytes_object.ob_size */
				.bytes_data = 88,	  /* bytes_object.ob_sval */
				.unicode_state = 90,	  /* unicode_object.state */
				.unicode_length = 91,	  /* unicode_object.length */
				.ascii_data = 92,	  /* unicode_object.asciiobject_size */
			},
		.gil =
			{
				.code_tag = 3,
				.sum_before = 8,
				.sum_words = 7,
				.compact_bytes = 16,
				.unicode_hash = 24,
				.unicode_kind_shift = 2,
				.unicode_compact_shift = 5,
				.unicode_ascii_shift = 6,
				.unicode_further_shift = 14,
			},
		.free_threaded =
			{
				.code_tag = 3,
				.sum_before = 8,
				.sum_words = 7,
				.compact_bytes = 16,
				.unicode_hash = 40,
				.unicode_kind_shift = 8,
				.unicode_compact_shift = 11,
				.unicode_ascii_shift = 12,
				.unicode_further_shift = 8,
			},
	},
};

const size_t python_debugs_count = sizeof(python_debugs) / sizeof(python_debugs[0]);
