# SPDX-License-Identifier: GPL-2.0-or-later
# Test programs, unit tests, fuzz targets. Included by the Makefile.

# Programs with known stacks: frame pointers kept, nothing inlined.
PROGRAMFLAGS := -O1 -g -Wall -Wextra -Werror -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer \
                -fno-optimize-sibling-calls -fno-inline -pthread -Itest/programs
PROGRAMFOLDERS := $(addprefix test/programs/,cpu wait memory io life events)
PROGRAMHEADERS := $(wildcard test/programs/*.h $(PROGRAMFOLDERS:=/*.h))
PROGRAMS := $(addprefix build/test/programs/,$(basename $(notdir $(wildcard $(PROGRAMFOLDERS:=/*.c) \
              $(PROGRAMFOLDERS:=/*.cc))))) \
            $(patsubst test/programs/lib/%.c,build/test/programs/%.so,$(wildcard test/programs/lib/*.c))

# Programs with known stacks, built as most are.
BAREFLAGS := -O2 -g -Wall -Wextra -Werror -fomit-frame-pointer -fno-optimize-sibling-calls \
             -DWITHOUT_FRAME_POINTERS -pthread -Itest/programs
BAREHEADERS := $(PROGRAMHEADERS) test/programs/optimized/level.h
# … and these both ways.
PROGRAMS += $(addprefix build/test/programs/,naps_bare callers_bare handover_bare hang_bare \
              allocations_bare)
PROGRAMS += $(patsubst test/programs/optimized/%.c,build/test/programs/%,$(wildcard test/programs/optimized/*.c)) \
            $(patsubst test/programs/optimized/%.cc,build/test/programs/%,$(wildcard test/programs/optimized/*.cc)) \
            $(patsubst test/programs/optimized/lib/%.c,build/test/programs/%.so,$(wildcard test/programs/optimized/lib/*.c))
ifneq ($(shell command -v rustc 2>/dev/null),)
PROGRAMS += $(patsubst test/programs/rust/%.rs,build/test/programs/%,$(wildcard test/programs/rust/*.rs)) \
            build/test/programs/rustlines
endif

build/test/programs/pretends: PROGRAMFLAGS += -rdynamic
build/test/programs/points_moved: test/programs/events/points.c

# With other allocators than the shared glibc's; where one is not installed its programs are missing.
ALLOCATIONS := static static_stripped
ifneq ($(shell command -v musl-gcc 2>/dev/null),)
ALLOCATIONS += musl musl_static
endif
has_library = $(shell $(CC) $(1) -shared -o /dev/null 2>/dev/null && echo yes)
ifeq ($(call has_library,-ljemalloc),yes)
ALLOCATIONS += jemalloc
endif
ifeq ($(call has_library,-ltcmalloc_minimal),yes)
ALLOCATIONS += tcmalloc
endif
PROGRAMS += $(foreach name,allocations sizes,$(ALLOCATIONS:%=build/test/programs/$(name)_%))
ALLOCATIONSFLAGS_static := -static
ALLOCATIONSFLAGS_static_stripped := -static -s
ALLOCATIONSFLAGS_musl_static := -static
ALLOCATIONSLIBS_jemalloc := -ljemalloc
ALLOCATIONSLIBS_tcmalloc := -ltcmalloc_minimal
ALLOCATIONSCC_musl := musl-gcc
ALLOCATIONSCC_musl_static := musl-gcc
define with_allocator
	@mkdir -p $(@D)
	$(call say,cc)
	$(Q)$(or $(ALLOCATIONSCC_$*),$(CC)) -std=gnu17 $(PROGRAMFLAGS) $(ALLOCATIONSFLAGS_$*) -o $@ $< \
		$(ALLOCATIONSLIBS_$*)
endef
build/test/programs/allocations_%: test/programs/memory/allocations.c $(BAREHEADERS)
	$(with_allocator)
build/test/programs/sizes_%: test/programs/memory/sizes.c $(BAREHEADERS)
	$(with_allocator)

# What has no CFI: a program's own code, and musl's, as Alpine ships it.
MIXTURES := bare
ifneq ($(shell command -v musl-gcc 2>/dev/null),)
MIXTURES += musl musl_static musl_static_stripped
endif
PROGRAMS += $(MIXTURES:%=build/test/programs/mixture_%)
NOCFIFLAGS := -fno-asynchronous-unwind-tables -fno-unwind-tables
MIXTUREFLAGS_musl_static := -static
MIXTUREFLAGS_musl_static_stripped := -static -s
build/test/programs/mixture_%: test/programs/optimized/mixture.c $(BAREHEADERS)
	@mkdir -p $(@D)
	$(call say,cc)
	$(Q)$(if $(findstring musl,$*),musl-gcc,$(CC)) -std=gnu17 $(BAREFLAGS) $(NOCFIFLAGS) $(MIXTUREFLAGS_$*) -o $@ $<

# 32-bit programs, where their C library is there. They need nothing of the compiler's own library, which
# excludes cross compilers on Debian.
NARROW := altstack chain frames strands naps
NARROWFLAGS := -m32 -idirafter $(patsubst %/asm,%,$(firstword $(wildcard /usr/include/*-linux-gnu/asm)))
narrow_file = $(shell $(CC) -m32 -print-file-name=$(1) 2>/dev/null)
NARROWLINK = -nostdlib $(call narrow_file,Scrt1.o) $(call narrow_file,crti.o)
ifneq ($(filter /%,$(call narrow_file,Scrt1.o)),)
PROGRAMS += $(NARROW:%=build/test/programs/narrow_%)
endif
define with_narrow
	@mkdir -p $(@D)
	$(call say,cc)
	$(Q)$(CC) -std=gnu17 $(BAREFLAGS) $(NARROWFLAGS) $(NARROWLINK) -o $@ $< -lc $(call narrow_file,crtn.o)
endef
build/test/programs/narrow_naps: test/programs/wait/naps.c $(BAREHEADERS)
	$(with_narrow)
build/test/programs/narrow_%: test/programs/optimized/%.c $(BAREHEADERS)
	$(with_narrow)

# As Go's users build it, and as many of them ship it.
ifneq ($(shell command -v go 2>/dev/null),)
PROGRAMS += $(addprefix build/test/programs/,gowork gowork_stripped gocalls gomalloc) build/test/go_pprof
endif
# From Go 1.25 on `go tool pprof` is built where it is wanted first, which takes a busy machine a minute.
build/test/go_pprof:
	@mkdir -p $(@D)
	$(call say,go)
	$(Q)(cd / && go tool pprof -help) >/dev/null 2>&1 || true
	$(Q)touch $@
GOBUILD := GOCACHE=$(abspath build/gocache) GOFLAGS= GO111MODULE=off go build
build/test/programs/gowork: test/programs/go/gowork.go
	@mkdir -p $(@D)
	$(call say,go)
	$(Q)$(GOBUILD) -o $@ $<
build/test/programs/gowork_stripped: test/programs/go/gowork.go
	@mkdir -p $(@D)
	$(call say,go)
	$(Q)$(GOBUILD) -ldflags="-s -w" -o $@ $<
build/test/programs/gocalls build/test/programs/gomalloc: build/test/programs/%: test/programs/go/%.go
	@mkdir -p $(@D)
	$(call say,go)
	$(Q)CGO_ENABLED=1 $(GOBUILD) -o $@ $<

ifneq ($(shell command -v javac 2>/dev/null),)
PROGRAMS += $(addprefix build/test/programs/,Natively.class Moves.class Moving.class)
endif
# What a VM tells of its compiled code, and a program that has much of it; for all VMs from 8 on.
JVMTI := $(patsubst %/bin/javac,%/include,$(realpath $(shell command -v javac 2>/dev/null)))
ifneq ($(wildcard $(JVMTI)/jvmti.h),)
TOLD := build/test/programs/told.so build/test/programs/Works.class
PROGRAMS += $(TOLD)
endif
build/test/programs/told.so: test/programs/jvmti/told.c
	@mkdir -p $(@D)
	$(call say,cc)
	$(Q)$(CC) -std=gnu17 $(PROGRAMFLAGS) -fPIC -shared -isystem $(JVMTI) -isystem $(JVMTI)/linux -o $@ $<
build/test/programs/Works.class: test/programs/jvmti/Works.java
	@mkdir -p $(@D)
	$(call say,javac)
	$(Q)javac -Xlint:-options --release 8 -d $(@D) $<
build/test/programs/%.class: test/programs/java/%.java
	@mkdir -p $(@D)
	$(call say,javac)
	$(Q)javac -d $(@D) $<

# Java's programs with known stacks, for JDK 8 and later, and their native methods.
JAVASOURCES := $(wildcard test/programs/java/truth/*.java)
ifneq ($(shell command -v javac 2>/dev/null),)
JAVAC_HOME := $(patsubst %/bin/javac,%,$(realpath $(shell command -v javac)))
PROGRAMS += build/test/programs/java/truth/Leaves.class build/test/programs/java/shown/Shown.class
ifneq ($(wildcard $(JAVAC_HOME)/include/jni.h),)
PROGRAMS += build/test/programs/java/libnative.so
endif
endif
build/test/programs/java/truth/Leaves.class: $(JAVASOURCES)
	@mkdir -p build/test/programs/java
	$(call say,javac)
	$(Q)rm -rf build/test/programs/java/truth
	$(Q)javac --release 8 -Xlint:all,-options -Werror -d build/test/programs/java $(JAVASOURCES)
build/test/programs/java/shown/%.class: test/programs/java/shown/%.java
	@mkdir -p build/test/programs/java
	$(call say,javac)
	$(Q)javac --release 8 -Xlint:all,-options -Werror -d build/test/programs/java $<
build/test/programs/java/libnative.so: test/programs/java/native.c
	@mkdir -p $(@D)
	$(call say,cc)
	$(Q)$(CC) -std=gnu17 $(BAREFLAGS) -fPIC -shared -I$(JAVAC_HOME)/include \
		-I$(JAVAC_HOME)/include/linux -o $@ $<

# As Fedora builds its programs: stripped, its symbols inside it, packed.
PROGRAMS += build/test/programs/thirds_mini
build/test/programs/thirds_mini: build/test/programs/thirds
	$(call say,strip)
	$(Q)objcopy --only-keep-debug $< $@.debug && strip --strip-debug $@.debug
	$(Q)xz --stdout $@.debug >$@.debug.xz
	$(Q)objcopy --strip-all --add-section .gnu_debugdata=$@.debug.xz $< $@
	$(Q)rm $@.debug $@.debug.xz

# Without a C library: a program that is begun as fast as the kernel can.
build/test/programs/mote_%: test/programs/cpu/mote_%.c $(PROGRAMHEADERS)
	@mkdir -p $(@D)
	$(call say,cc)
	$(Q)$(CC) -std=gnu17 $(PROGRAMFLAGS) -static -nostdlib -Wl,--eh-frame-hdr -o $@ $<
# Calls of 32-bit code, in a program of 64 bits, and in one of 32 where the compiler makes such. Without a C library.
NARROWCALLFLAGS := -ffreestanding -fno-stack-protector -static -nostdlib -Wl,--eh-frame-hdr
ifneq ($(ARCH),x86)
PROGRAMS := $(filter-out %/narrow,$(PROGRAMS))
else ifeq ($(shell echo 'int main;' | $(CC) -m32 -nostdlib -static -Wl,-e,main -x c - -o /dev/null 2>/dev/null && echo yes),yes)
PROGRAMS += build/test/programs/narrow_i386
endif
build/test/programs/narrow: test/programs/io/narrow.c $(PROGRAMHEADERS)
	@mkdir -p $(@D)
	$(call say,cc)
	$(Q)$(CC) -std=gnu17 $(PROGRAMFLAGS) $(NARROWCALLFLAGS) -o $@ $<
build/test/programs/narrow_i386: test/programs/io/narrow.c $(PROGRAMHEADERS)
	@mkdir -p $(@D)
	$(call say,cc)
	$(Q)$(CC) -m32 -std=gnu17 $(PROGRAMFLAGS) $(NARROWCALLFLAGS) -o $@ $<
define program_rules
build/test/programs/%: $(1)/%.c $$(PROGRAMHEADERS)
	@mkdir -p $$(@D)
	$$(call say,cc)
	$$(Q)$$(CC) -std=gnu17 $$(PROGRAMFLAGS) -o $$@ $$< -ldl
build/test/programs/%: $(1)/%.cc $$(PROGRAMHEADERS)
	@mkdir -p $$(@D)
	$$(call say,c++)
	$$(Q)$$(CXX) $$(PROGRAMFLAGS) -o $$@ $$<
build/test/programs/%_bare: $(1)/%.c $$(BAREHEADERS)
	@mkdir -p $$(@D)
	$$(call say,cc)
	$$(Q)$$(CC) -std=gnu17 $$(BAREFLAGS) -o $$@ $$<
endef
$(foreach folder,$(PROGRAMFOLDERS),$(eval $(call program_rules,$(folder))))
build/test/programs/%.so: test/programs/lib/%.c $(PROGRAMHEADERS)
	@mkdir -p $(@D)
	$(call say,cc)
	$(Q)$(CC) -std=gnu17 $(PROGRAMFLAGS) -fPIC -shared -o $@ $<
build/test/programs/%: test/programs/optimized/%.c $(BAREHEADERS)
	@mkdir -p $(@D)
	$(call say,cc)
	$(Q)$(CC) -std=gnu17 $(BAREFLAGS) -o $@ $< $(BARELIBS_$(@F)) -ldl
build/test/programs/%: test/programs/optimized/%.cc $(BAREHEADERS)
	@mkdir -p $(@D)
	$(call say,c++)
	$(Q)$(CXX) $(BAREFLAGS) -o $@ $<
build/test/programs/%.so: test/programs/optimized/lib/%.c $(BAREHEADERS)
	@mkdir -p $(@D)
	$(call say,cc)
	$(Q)$(CC) -std=gnu17 $(BAREFLAGS) -fPIC -shared -Wl,-z,lazy -o $@ $<
BARELIBS_plt_calls := -Lbuild/test/programs -l:tiny.so -Wl,-rpath,'$$ORIGIN',-z,lazy
build/test/programs/plt_calls: build/test/programs/tiny.so
build/test/programs/%: test/programs/rust/%.rs
	@mkdir -p $(@D)
	$(call say,rustc)
	$(Q)rustc -O -C force-frame-pointers=yes -C debuginfo=0 -o $@ $<
# The same with lines.
build/test/programs/rustlines: test/programs/rust/rustnames.rs
	@mkdir -p $(@D)
	$(call say,rustc)
	$(Q)rustc --crate-name rustnames -O -g -C force-frame-pointers=yes -o $@ $<

# Programs with BPF of their own, from the daemon's headers.
BPFTESTS := $(patsubst test/bpf/%.bpf.c,build/test/bpf/%,$(wildcard test/bpf/*.bpf.c))
PROGRAMS += $(BPFTESTS)
build/test/bpf/%.bpf.o: test/bpf/%.bpf.c
	@mkdir -p $(@D)
	$(call say,bpf)
	$(Q)$(CLANG) $(BPFFLAGS) -MMD -MP -c -o $@ $<
-include $(BPFTESTS:=.bpf.d)
build/test/bpf/%.skel.h: build/test/bpf/%.bpf.o
	$(Q)$(BPFTOOL) gen skeleton $< name $*_bpf > $@.new && mv $@.new $@
build/test/bpf/%: test/bpf/%.c build/test/bpf/%.skel.h
	$(call say,cc)
	$(Q)$(CC) $(filter-out $(SANFLAGS),$(ALLFLAGS)) -isystem build/test/bpf -o $@ $< \
		$(shell pkg-config --libs libbpf)

# Prints unwind tables: what test/cfi/check compares with readelf.
PROGRAMS += $(BUILD)/test/cfi/dump
$(BUILD)/test/cfi/dump: test/cfi/dump.c $(LIBRARY)
	@mkdir -p $(@D)
	$(call say,cc)
	$(Q)$(CC) $(ALLFLAGS) -o $@ $< $(LIBRARY) $(LIBS)

# Compares rows that are made from code with CFI's: what test/cfi/check_flow runs.
$(BUILD)/test/cfi/flow_compare: test/cfi/flow_compare.c $(LIBRARY)
	@mkdir -p $(@D)
	$(call say,cc)
	$(Q)$(CC) $(ALLFLAGS) -o $@ $< $(LIBRARY) $(LIBS)

# The tracer's histograms, without the daemon.
PROGRAMS += $(BUILD)/test/sched/hists
$(BUILD)/test/sched/hists: test/sched/hists.c $(LIBRARY)
	@mkdir -p $(@D)
	$(call say,cc)
	$(Q)$(CC) $(ALLFLAGS) -o $@ $< $(LIBRARY) $(LIBS)

# What a process maps, told by the tracer without the daemon.
PROGRAMS += $(BUILD)/test/memory/maps
$(BUILD)/test/memory/maps: test/memory/maps.c $(LIBRARY)
	@mkdir -p $(@D)
	$(call say,cc)
	$(Q)$(CC) $(ALLFLAGS) -o $@ $< $(LIBRARY) $(LIBS)

# Counts a child by the programs that read the CPUs' counters: with software events, or as a guest's /init.
PROGRAMS += $(BUILD)/test/pmu/pmu_counts
$(BUILD)/test/pmu/pmu_counts: test/pmu/pmu_counts.c | $(BUILD)/bpf/pmucost.skel.h
	@mkdir -p $(@D)
	$(call say,cc)
	$(Q)$(CC) $(ALLFLAGS) -MMD -MP -MF $@.d -o $@ $< $(shell pkg-config --libs libbpf)

# What test/bench/pprof_encoding.py and history.py measure.
$(BUILD)/test/bench/%: test/bench/%.c $(LIBRARY)
	@mkdir -p $(@D)
	$(call say,cc)
	$(Q)$(CC) $(ALLFLAGS) -o $@ $< $(LIBRARY) $(LIBS)

# Attaches to Java VMs, without the daemon.
PROGRAMS += $(BUILD)/test/java/attach
$(BUILD)/test/java/%: test/java/%.c $(LIBRARY)
	@mkdir -p $(@D)
	$(call say,cc)
	$(Q)$(CC) $(ALLFLAGS) -o $@ $< $(LIBRARY) $(LIBS)

# Unit tests: one program for each test/unit/test_*.c. test_oom*, test_cgroup_scan, test_sender_alloc and test_batch_recorded let the Nth
# allocation fail, test_cleaner has a clock of its own, test_close_job files whose closing hangs, test_lines processes that it may not kill, test_file_lines a file that hangs, test_agents makes up what VMs answer, test_tables*,
# test_code_cache* and test_jfr* what they read; test_sender_disk has a disk that hangs, test_bolt a writer between any two reads. test_api_admission,
# test_api_folders, test_api_processes, test_api_sched_live, test_api_seconds and test_container_journal set the clock ahead; in test_api_folders a look at a folder waits,
# in test_api_processes the reading of a command line. There some processes have another user, and one too many threads.
UNITFLAGS_test_oom := -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=reallocarray,--wrap=strdup
UNITFLAGS_test_agents := $(foreach f,new free limit ask tell drop,-Wl,--wrap=attach_queue_$f)
UNITFLAGS_test_anomaly_limits := -Wl,--wrap=cgroup_limits_read
UNITFLAGS_test_api_admission := -Wl,--wrap=clock_gettime
UNITFLAGS_test_api_folders := -Wl,--wrap=store_check_folder,--wrap=clock_gettime
UNITFLAGS_test_api_processes := -Wl,--wrap=clock_gettime,--wrap=proc_command,--wrap=proc_counts_waits,--wrap=proc_uid,--wrap=proc_wait_ns
UNITFLAGS_test_api_sched_live := -Wl,--wrap=clock_gettime
UNITFLAGS_test_api_seconds := -Wl,--wrap=clock_gettime
UNITFLAGS_test_attach_queue := -Wl,--wrap=attach_look,--wrap=attach_begin
UNITFLAGS_test_batch_java := $(foreach f,read ref unref is bytes frames,-Wl,--wrap=jvmcode_$f)
UNITFLAGS_test_bolt := -Wl,--wrap=pread
UNITFLAGS_test_cleaner := -Wl,--wrap=clock_gettime,--wrap=time,--wrap=store_find_folder
UNITFLAGS_test_close_job := -Wl,--wrap=close
UNITFLAGS_test_code_cache := -Wl,--wrap=pycode_read
UNITFLAGS_test_code_search := $(UNITFLAGS_test_code_cache) -Wl,--wrap=pyfunctions_search
UNITFLAGS_test_jfr := $(UNITFLAGS_test_agents) -Wl,--wrap=jfr_read
UNITFLAGS_test_engine_java := $(UNITFLAGS_test_jfr) -Wl,--wrap=attach_has_jfr
UNITFLAGS_test_engine_jfr := $(UNITFLAGS_test_engine_java)
UNITFLAGS_test_container_journal := -Wl,--wrap=clock_gettime
UNITFLAGS_test_file_lines := -Wl,--wrap=open_file_open_known
UNITFLAGS_test_lines := -Wl,--wrap=kill
# It looks up its own functions, and has all of the daemon's for that.
UNITFLAGS_test_native_real := -Wl,--whole-archive $(LIBRARY) -Wl,--no-whole-archive
UNITFLAGS_test_preload := -Wl,--wrap=clock_gettime
UNITFLAGS_test_pressure := $(foreach f,open arm read,-Wl,--wrap=pressure_file_$f)
UNITFLAGS_test_request := -Wl,--wrap=attach_has_jfr
UNITFLAGS_test_sender_disk := $(foreach f,write load list,-Wl,--wrap=spool_$f)
UNITFLAGS_test_sender_alloc := $(UNITFLAGS_test_oom)
# A period, a window or a session on demand ends when the test says so.
SESSION_UNITFLAGS := $(foreach f,set cancel,-Wl,--wrap=loop_timer_$f)
UNITFLAGS_test_session_start := $(SESSION_UNITFLAGS)
UNITFLAGS_test_session_server := $(SESSION_UNITFLAGS)
UNITFLAGS_test_session_no_memory := $(SESSION_UNITFLAGS) $(foreach f,sender_add files_write render_submit \
  subscriber_take_profile profile_new profile_merge,-Wl,--wrap=$f)
UNITFLAGS_test_oom_session := $(UNITFLAGS_test_oom)
UNITFLAGS_test_session_held := $(SESSION_UNITFLAGS)
UNITFLAGS_test_session_windows := $(SESSION_UNITFLAGS) -Wl,--wrap=sender_add
UNITFLAGS_test_session_fetch := $(SESSION_UNITFLAGS)
UNITFLAGS_test_session_close := $(SESSION_UNITFLAGS)
UNITFLAGS_test_ondemand := $(SESSION_UNITFLAGS)
UNITFLAGS_test_session_files := $(SESSION_UNITFLAGS)
UNITFLAGS_test_session_turns := $(SESSION_UNITFLAGS)
UNITFLAGS_test_session_sampled := $(SESSION_UNITFLAGS)
UNITFLAGS_test_session_trigger := $(SESSION_UNITFLAGS) $(foreach f,open close is_kernels,-Wl,--wrap=pressure_$f)
UNITFLAGS_test_uploads := -Wl,--wrap=sender_add
UNITFLAGS_test_tables := -Wl,--wrap=image_build,--wrap=image_done,--wrap=image_room,--wrap=image_place
UNITFLAGS_test_cgroup_scan := $(UNITFLAGS_test_oom)
UNITFLAGS_test_oom_anomalies := $(UNITFLAGS_test_oom)
UNITFLAGS_test_oom_container := $(UNITFLAGS_test_oom)
UNITFLAGS_test_oom_files := $(UNITFLAGS_test_oom)
UNITFLAGS_test_oom_by_container := $(UNITFLAGS_test_oom)
UNITFLAGS_test_batch_recorded := $(UNITFLAGS_test_oom)
UNITFLAGS_test_code_cache_bounds := $(UNITFLAGS_test_code_cache)
UNITFLAGS_test_jfr_harm := $(UNITFLAGS_test_jfr)
UNITFLAGS_test_jfr_life := $(UNITFLAGS_test_jfr)
UNITFLAGS_test_jfr_end := $(UNITFLAGS_test_jfr)
UNITFLAGS_test_tables_room := $(UNITFLAGS_test_tables)
UNITFLAGS_test_tables_files := $(UNITFLAGS_test_tables)
UNITFLAGS_test_tables_known := $(UNITFLAGS_test_tables)
# The clock, how long a process's mappings are read, and its cgroups (test/unit/target/target_scene.h).
TARGETFLAGS := $(foreach f,clock_gettime maps_read cgroups_read,-Wl,--wrap=$f)
UNITFLAGS_test_target_arming := $(TARGETFLAGS) -Wl,--wrap=image_build
UNITFLAGS_test_target_chosen := $(TARGETFLAGS)
UNITFLAGS_test_target_container := $(TARGETFLAGS)
UNITFLAGS_test_target_life := $(TARGETFLAGS)
UNITFLAGS_test_target_maps := $(TARGETFLAGS) -Wl,--wrap=shares_left
UNITFLAGS_test_target_repair := $(TARGETFLAGS)
UNITFLAGS_test_target_resident := $(TARGETFLAGS)
UNITFLAGS_test_target_room := $(TARGETFLAGS) -Wl,--wrap=log_write
UNITFLAGS_test_target_runtime := $(TARGETFLAGS) $(foreach f,runtime_ask table_python table_hotspot table_jit,-Wl,--wrap=$f)
UNITFLAGS_test_target_select := $(TARGETFLAGS)
$(BUILD)/test/unit/java/code/test_jvmcode_real: | $(TOLD)
$(BUILD)/test/unit/event/test_event_points: | $(filter %/points %/gowork,$(PROGRAMS))
$(BUILD)/test/unit/event/test_event_check: | build/test/programs/points
$(BUILD)/test/unit/java/files/test_agent: $(BUILD)/stackprobe-agent.so
# How many run at a time; and those that hold a processor's time against a clock, which run alone.
UNITS_ALONE := $(addprefix $(BUILD)/test/unit/,loop/test_worker symbol/test_debugfile)
UNITS_BESIDE ?= $(shell expr 3 \* $$(nproc))
UNITS := $(patsubst %.c,$(BUILD)/%,$(sort $(shell find test/unit -name 'test_*.c')))
$(foreach name,$(filter-out $(notdir $(UNITS)),$(patsubst UNITFLAGS_%,%,$(filter UNITFLAGS_%,$(.VARIABLES)))),\
  $(error UNITFLAGS_$(name): there is no such unit test))
$(BUILD)/test/unit/%: test/unit/%.c $(LIBRARY) | $(SKELETONS)
	@mkdir -p $(@D)
	$(call say,cc)
	$(Q)$(CC) $(ALLFLAGS) $(UNITFLAGS_$(@F)) -Itest -MMD -MP -MF $@.d -o $@ $< $(LIBRARY) $(LIBS) -lcmocka
-include $(UNITS:=.d)

# Our unwinder beside elfutils' over recorded samples.
COMPARER := $(BUILD)/test/unwind/compare-unwind
COMPAREROBJECTS := $(patsubst %.c,$(BUILD)/%.o,$(wildcard test/unwind/*.c))
$(COMPARER): $(COMPAREROBJECTS) $(LIBRARY)
	$(call say,link)
	$(Q)$(CC) $(SANFLAGS) -o $@ $^ $(LIBS) -ldw
-include $(COMPAREROBJECTS:.o=.d)

# What is recorded for it: built as distributions do, without frame pointers.
RECORDEDFLAGS := -g -Wall -Wextra -Werror -fomit-frame-pointer -Itest/programs
RECORDED := $(addprefix build/test/unwind/,levels levels_lto levels_clang interrupted kernel_bound \
              exceptions)
ifneq ($(shell command -v rustc 2>/dev/null),)
RECORDED += build/test/unwind/wordcount_rust
endif
ifneq ($(shell command -v go 2>/dev/null),)
RECORDED += build/test/unwind/wordcount_go build/test/unwind/wordcount_go_stripped
endif
build/test/unwind/%: test/unwind/programs/%.c test/programs/burn.h
	@mkdir -p $(@D)
	$(call say,cc)
	$(Q)$(CC) -std=gnu17 -O2 $(RECORDEDFLAGS) -o $@ $<
build/test/unwind/levels_lto: test/unwind/programs/levels.c test/programs/burn.h
	@mkdir -p $(@D)
	$(call say,cc)
	$(Q)$(CC) -std=gnu17 -O3 -flto $(RECORDEDFLAGS) -o $@ $<
build/test/unwind/levels_clang: test/unwind/programs/levels.c test/programs/burn.h
	@mkdir -p $(@D)
	$(call say,clang)
	$(Q)$(CLANG) -std=gnu17 -O2 $(RECORDEDFLAGS) -o $@ $<
build/test/unwind/%: test/unwind/programs/%.cc test/programs/burn.h
	@mkdir -p $(@D)
	$(call say,c++)
	$(Q)$(CXX) -O2 $(RECORDEDFLAGS) -o $@ $<
build/test/unwind/%_rust: test/unwind/programs/%.rs
	@mkdir -p $(@D)
	$(call say,rustc)
	$(Q)rustc -O -C debuginfo=0 -o $@ $<
build/test/unwind/%_go: test/unwind/programs/%.go
	@mkdir -p $(@D)
	$(call say,go)
	$(Q)CGO_ENABLED=0 go build -o $@ $<
build/test/unwind/%_go_stripped: test/unwind/programs/%.go
	@mkdir -p $(@D)
	$(call say,go)
	$(Q)CGO_ENABLED=0 go build -ldflags='-s -w' -o $@ $<

.PHONY: check-unwind
check-unwind: $(COMPARER) $(RECORDED) ## our unwinder beside elfutils' over recorded samples (root)
	test/unwind/check $(COMPARER)

# Fuzz targets: clang's libFuzzer over the same sources, in a build of their own.
FUZZBUILD   := build/fuzz
FUZZFLAGS   := -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined \
               -Wno-format-nonliteral -Wno-missing-field-initializers # where clang is stricter than gcc
FUZZERS     := $(patsubst test/fuzz/%.c,$(FUZZBUILD)/%,$(wildcard test/fuzz/fuzz_*.c))
FUZZOBJECTS := $(patsubst %.c,$(FUZZBUILD)/%.o,$(filter-out probe/main.c,$(SOURCES))) \
               $(ASSETS)
# Of each: together as many seconds of the machine's processors, however many targets there are.
FUZZ_TOGETHER := 120
FUZZ_SECONDS  ?= $(shell expr $(FUZZ_TOGETHER) / $(words $(FUZZERS)))
$(FUZZBUILD)/%.o: %.c | $(SKELETONS)
	@mkdir -p $(@D)
	$(call say,clang)
	$(Q)$(CLANG) $(ALLFLAGS) $(FUZZFLAGS) -MD -MP -c -o $@ $<
FUZZLIBRARY := $(FUZZBUILD)/libstackprobe.a
$(FUZZLIBRARY): $(FUZZOBJECTS)
	$(call say,ar)
	$(Q)rm -f $@ && $(AR) rcs $@ $^
$(FUZZBUILD)/fuzz_%: test/fuzz/fuzz_%.c $(FUZZLIBRARY)
	$(call say,clang)
	$(Q)$(CLANG) $(ALLFLAGS) $(FUZZFLAGS) -Itest -fsanitize=fuzzer -MMD -MP -MF $@.d -o $@ $< $(FUZZLIBRARY) $(LIBS) $(FUZZLIBS_$(@F))
FUZZLIBS_fuzz_linereader := -ldw
-include $(FUZZOBJECTS:.o=.d) $(FUZZERS:=.d)

PYTEST ?= /usr/bin/python3 -m pytest

.PHONY: test
test: ## install what is missing, build, run every test (SAN=1: with ASan and UBSan)
	scripts/install-deps test
	$(MAKE) check

# What is built is built on all processors, also without -j.
ON_ALL = $(if $(findstring --jobserver,$(MAKEFLAGS)),,-j$(shell nproc))
E2E_NEEDS := all $(PROGRAMS) $(COMPARER) build/test/unwind/levels

.PHONY: check
check: ## run every test with what is installed
	$(MAKE) $(ON_ALL) build-tests
	$(MAKE) unit
	$(MAKE) fuzz FUZZ_SECONDS=$(FUZZ_SECONDS)
	$(MAKE) e2e
	$(MAKE) check-recipe

.PHONY: check-recipe
check-recipe: ## follow CONTRIBUTING's recipe for a probe in a clean copy, build and test it (root, 2 minutes)
	PYTEST="$(PYTEST)" scripts/check-recipe build/recipe

.PHONY: build-tests
build-tests: $(E2E_NEEDS) $(UNITS) $(FUZZERS) check-arm64 ## build what the tests need

.PHONY: unit
unit: $(UNITS) ## run the unit tests
	@test/unit/run --beside $(UNITS_BESIDE) $(filter-out $(UNITS_ALONE),$(UNITS)) --alone $(UNITS_ALONE)

# Rooms below probe/ that `make coverage` tells of: those that decide.
ROOMS ?= target session engine api

.PHONY: coverage
coverage: ## lines that the unit tests don't run, by file: of target, session, engine, api, or of ROOMS=…
	find build/cov -name '*.gcda' -delete 2>/dev/null || true
	$(MAKE) COV=1 unit >/dev/null
	scripts/coverage build/cov $(ROOMS)

# How many tests run beside each other, where pytest-xdist is installed (doc/testing.md): many wait.
BESIDE ?= $(shell expr 2 \* $$(nproc))

# Debian's, unless PYTHONS names others (programs, colons between) or is empty: all that are found.
PYTHONS ?= /usr/bin/python3
# The one in PATH, unless JAVAS names others.
JAVAS_HERE := $(or $(JAVAS),$(shell command -v java 2>/dev/null))
E2E_TESTS ?= test/e2e

E2E := STACKPROBE_BIN=$(BUILD)/stackprobe STACKPROBE_SAN=$(SAN) PYTHONS=$(PYTHONS) JAVAS=$(JAVAS_HERE) \
  PYTEST="$(PYTEST)" test/e2e/run --beside $(BESIDE)

.PHONY: e2e
e2e: $(E2E_NEEDS) ## run the end-to-end tests (needs root)
	$(E2E) $(E2E_TESTS) $(PYTESTFLAGS)

.PHONY: test-quick
test-quick: ## between two edits: quick lint, the units, an end-to-end test of each feature (root, under 3 minutes)
	$(MAKE) $(ON_ALL) lint-quick $(E2E_NEEDS) $(UNITS)
	$(MAKE) unit
	$(E2E) --mark quick $(E2E_TESTS) $(PYTESTFLAGS)

.PHONY: e2e-costs
e2e-costs: $(E2E_NEEDS) ## run them and show what they cost: waiting, computing, building
	@rm -f build/e2e-costs
	$(E2E) $(E2E_TESTS) --costs=$(abspath build/e2e-costs) $(PYTESTFLAGS) || failed=1; \
	test/e2e/costs build/e2e-costs; exit $${failed:-0}

.PHONY: fuzz
fuzz: $(FUZZERS) ## run the fuzz targets for FUZZ_SECONDS each (at length: FUZZ_SECONDS=3600)
	@printf '%s\n' $(FUZZERS) | xargs -P $$(nproc) -I{} test/fuzz/run {} $(FUZZ_SECONDS)

.PHONY: check-pythons
check-pythons: ## profile every CPython from 3.8 on that is found, in PYTHON_ROOTS too (an hour)
	$(MAKE) e2e PYTHONS= E2E_TESTS="$(wildcard test/e2e/python/test_*.py)"

.PHONY: check-javas
check-javas: ## profile every Java VM that is found, in JAVAS too: 8, 11, 17, 21, 25 (half an hour)
	$(MAKE) e2e JAVAS_HERE=$(JAVAS) E2E_TESTS="$(wildcard test/e2e/java/test_*.py)"

.PHONY: check-together
check-together: ## all probes at once on PostgreSQL, redis, a Java VM and Python for 5 minutes (root)
	TOGETHER_SECONDS=300 $(MAKE) e2e BESIDE=1 E2E_TESTS=test/e2e/io/test_together.py PYTESTFLAGS=-s

.PHONY: check-storm
check-storm: ## start 1,000 processes a second in a container for 30 s, three times, and hold names and memory (root, podman, minutes)
	STORM_SECONDS=30 STORMS=3 $(MAKE) e2e BESIDE=1 E2E_TESTS=test/e2e/containers/test_containers_storm.py PYTESTFLAGS=-s

.PHONY: check-cfi
check-cfi: $(BUILD)/test/cfi/dump $(BUILD)/test/cfi/flow_compare ## compare unwind tables with readelf, and rows made from code with CFI: /usr/lib, /usr/bin, arm64 (minutes)
	test/cfi/check $<
	test/cfi/check_flow $(BUILD)/test/cfi/flow_compare

.PHONY: check-real
check-real: all ## record real programs that are installed, beside perf: how much of their stacks is whole (root, minutes)
	test/real/check.py

.PHONY: check-kernels
check-kernels: all $(BUILD)/test/sched/hists $(BUILD)/test/pmu/pmu_counts $(addprefix build/test/programs/,chain frames altstack syscalls strands naps hang allocations grow pretends flash points rings) ## profile on Debian's kernels 5.10 to the newest, in QEMU (minutes)
	test/kernels/check $(BUILD) $(addprefix --series ,$(SERIES))

build/arm64/pmucost.skel.h: build/arm64/pmucost.bpf.o
	$(call say,skel)
	$(Q)$(BPFTOOL) gen skeleton $< name pmucost_bpf > $@.new && mv $@.new $@

.PHONY: check-pmu
check-pmu: build/arm64/pmucost.skel.h ## count cycles and instructions on Debian's arm64 kernels, in QEMU, beside perf's own events (minutes)
	test/pmu/check-arm64 $(BUILD) build/arm64

.PHONY: check-image
check-image: ## build the container image and run it as the DaemonSet says, under podman (root, minutes)
	test/image/check

.PHONY: bench
bench: all $(PROGRAMS) $(BUILD)/test/bench/pprof_encode $(BUILD)/test/bench/history_fill ## measure: BPF time a sample and a switch, whole stacks, latency of a PUT, memory, many processes (needs root)
	test/bench/run $(BUILD)

.PHONY: report report-page
report: all $(PROGRAMS) ## measure beside other profilers and write doc/performance.md with its plots (needs root, 25 minutes; REPORT=…: which subjects)
	STACKPROBE_BIN=$(BUILD)/stackprobe /usr/bin/python3 test/bench/report $(REPORT)
report-page: ## draw doc/performance.md again from the last run's figures
	/usr/bin/python3 test/bench/report --page $(REPORT)
