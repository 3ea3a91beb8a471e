"""The fields of profile.proto, as its published text numbers them."""

from protobuf import BOOL, BYTES, INT, UINT, Field

VALUE_TYPE = {1: Field("type", INT), 2: Field("unit", INT)}
LABEL = {1: Field("key", INT), 2: Field("str", INT), 3: Field("num", INT), 4: Field("num_unit", INT)}
SAMPLE = {
    1: Field("location_id", UINT, True),
    2: Field("value", INT, True),
    3: Field("label", LABEL, True),
}
MAPPING = {
    1: Field("id", UINT),
    2: Field("memory_start", UINT),
    3: Field("memory_limit", UINT),
    4: Field("file_offset", UINT),
    5: Field("filename", INT),
    6: Field("build_id", INT),
    7: Field("has_functions", BOOL),
    8: Field("has_filenames", BOOL),
    9: Field("has_line_numbers", BOOL),
    10: Field("has_inline_frames", BOOL),
}
LINE = {1: Field("function_id", UINT), 2: Field("line", INT), 3: Field("column", INT)}
LOCATION = {
    1: Field("id", UINT),
    2: Field("mapping_id", UINT),
    3: Field("address", UINT),
    4: Field("line", LINE, True),
    5: Field("is_folded", BOOL),
}
FUNCTION = {
    1: Field("id", UINT),
    2: Field("name", INT),
    3: Field("system_name", INT),
    4: Field("filename", INT),
    5: Field("start_line", INT),
}
PROFILE = {
    1: Field("sample_type", VALUE_TYPE, True),
    2: Field("sample", SAMPLE, True),
    3: Field("mapping", MAPPING, True),
    4: Field("location", LOCATION, True),
    5: Field("function", FUNCTION, True),
    6: Field("string_table", BYTES, True),
    7: Field("drop_frames", INT),
    8: Field("keep_frames", INT),
    9: Field("time_nanos", INT),
    10: Field("duration_nanos", INT),
    11: Field("period_type", VALUE_TYPE),
    12: Field("period", INT),
    13: Field("comment", INT, True),
    14: Field("default_sample_type", INT),
    15: Field("doc_url", INT),
}
