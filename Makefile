# SPDX-License-Identifier: GPL-2.0-or-later
# `make help` lists what can be made. Everything is built below build/.

VERSION := 0.1.0
CC      ?= gcc
CLANG   ?= clang
BPFTOOL ?= $(firstword $(wildcard /usr/sbin/bpftool /usr/bin/bpftool /usr/local/sbin/bpftool \
             /usr/lib/linux-tools/*/bpftool) bpftool)

ifeq ($(SAN),1)
BUILD     := build/san
SANFLAGS  := -fsanitize=address,undefined -fno-omit-frame-pointer -fno-sanitize-recover=undefined
else ifeq ($(COV),1)
BUILD     := build/cov
SANFLAGS  := --coverage -Wno-format-truncation
CFLAGS    := -O0 -g
else
BUILD     := build
SANFLAGS  :=
endif

PACKAGES := libbpf libelf libmicrohttpd gnutls libcjson libconfig libpcre2-8 zlib liblzma
WARNINGS := -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wformat=2
CFLAGS   ?= -O2 -g
ALLFLAGS := -std=gnu17 -D_GNU_SOURCE -DVERSION='"$(VERSION)"' $(WARNINGS) $(CFLAGS) $(SANFLAGS) \
            -fstack-protector-strong -Iprobe -I. -isystem $(BUILD)/bpf \
            $(shell pkg-config --cflags $(PACKAGES) 2>/dev/null)

# What the program and the line reader are hardened by; test_privileges.py looks for each in the ELF files.
# Checked calls take optimizing, and AddressSanitizer checks them itself; level 3 takes gcc 12. Behind CFLAGS, which
# a distribution may have put another level into. Not -ftrivial-auto-var-init: rendering took no longer with it, but
# it hides from valgrind and from the compiler's warnings what is read before it is written.
FORTIFY   := $(shell echo '\#include <stdio.h>' | $(CC) -O2 -Werror -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3 -E -x c - \
               >/dev/null 2>&1 && echo 3 || echo 2)
HARDENING := -fPIE -fstack-clash-protection
ifneq ($(SAN),1)
HARDENING += -U_FORTIFY_SOURCE $(if $(filter -O -O1 -O2 -O3 -Os,$(CFLAGS)),-D_FORTIFY_SOURCE=$(FORTIFY))
endif
HARDENING += $(if $(filter x86_64,$(shell uname -m)),-fcf-protection=full,-mbranch-protection=standard)
HARDLINK  := -pie -Wl,-z,relro,-z,now,-z,noexecstack
LIBS     := $(shell pkg-config --libs $(PACKAGES) 2>/dev/null) -liberty -lZydis -lm -lpthread

# Has its name in a stripped program, too: `doctor` looks for it in a profile of itself.
EXPORTS  := -Wl,--export-dynamic-symbol=stackprobe_doctor_burns

ARCH     := $(shell uname -m | sed 's/x86_64/x86/;s/aarch64/arm64/')
BPFFLAGS := -O2 -g -target bpf -mcpu=v3 -D__TARGET_ARCH_$(ARCH) -I. \
            -I/usr/include/$(shell $(CC) -print-multiarch 2>/dev/null) \
            -Wall -Wextra -Werror -Wno-unused-parameter

SOURCES  := $(sort $(shell find probe -name '*.c'))
ASSETS   := $(BUILD)/probe/output/svg/svg_assets.o $(BUILD)/probe/page/page_assets.o $(BUILD)/probe/java/attach/attach_agent.o \
            $(BUILD)/probe/elf/line_reader.o
OBJECTS  := $(SOURCES:%.c=$(BUILD)/%.o) $(ASSETS)
# All but main, for the tests' programs: the linker takes of it what each of them needs.
LIBRARY  := $(BUILD)/libstackprobe.a
BPFOBJS  := $(sort $(wildcard bpf/*.bpf.c))
# Objects that walk stacks are made a second time, without the walkers of Python's and Java's frames.
NATIVES  := fault malloc sample sched waiting
SKELETONS := $(BPFOBJS:bpf/%.bpf.c=$(BUILD)/bpf/%.skel.h) $(NATIVES:%=$(BUILD)/bpf/%_native.skel.h)


# One short line a file; V=1 shows the commands.
ifeq ($(V),1)
say = @:
Q :=
else
say = @echo "$(1) $@"
Q := @
endif

.PHONY: all
all: $(BUILD)/stackprobe ## build the daemon (default)

$(BUILD)/stackprobe: $(OBJECTS)
	$(call say,link)
	$(Q)$(CC) $(SANFLAGS) $(HARDLINK) $(LDFLAGS) $(EXPORTS) -o $@ $^ $(LIBS)

$(LIBRARY): $(filter-out $(BUILD)/probe/main.o,$(OBJECTS))
	$(call say,ar)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

# A skeleton has to be there when an object is made; which ones an object includes is in its .d file (by -MD: to
# -MMD they are system headers).
$(BUILD)/%.o: %.c | $(SKELETONS)
	@mkdir -p $(@D)
	$(call say,cc)
	$(Q)$(CC) $(ALLFLAGS) $(HARDENING) -MD -MP -c -o $@ $<

$(BUILD)/probe/output/svg/svg_assets.o: probe/output/svg/svg_assets.S $(wildcard probe/output/svg/*.css) \
                                        $(wildcard probe/output/svg/flamegraph*.js)
	@mkdir -p $(@D)
	$(call say,as)
	$(Q)$(CC) $(HARDENING) -c -o $@ $<

# The page's files, packed; the assembler finds them by -I. The shades of frames are those of the pictures.
PAGE     := $(patsubst probe/page/%,$(BUILD)/page/%.gz,$(wildcard probe/page/*.js probe/page/*.css probe/page/*.html probe/page/*.svg))

$(BUILD)/page/%.gz: probe/page/%
	@mkdir -p $(@D)
	$(call say,gzip)
	$(Q)cat $^ | gzip -9n >$@

$(BUILD)/page/page.css.gz: probe/output/svg/palette.css

$(BUILD)/probe/page/page_assets.o: probe/page/page_assets.S probe/page/page_files.h $(PAGE)
	@mkdir -p $(@D)
	$(call say,as)
	$(Q)$(CC) $(HARDENING) -Iprobe -Wa,-I$(BUILD)/page -c -o $@ $<

$(BUILD)/probe/java/attach/attach_agent.o: probe/java/attach/attach_agent.S $(BUILD)/stackprobe-agent.so \
                                           $(BUILD)/stackprobe-jfr.jar
	@mkdir -p $(@D)
	$(call say,as)
	$(Q)$(CC) $(HARDENING) -DAGENT='"$(BUILD)/stackprobe-agent.so"' -DJAR='"$(BUILD)/stackprobe-jfr.jar"' -c -o $@ $<

$(BUILD)/probe/elf/line_reader.o: probe/elf/line_reader.S $(BUILD)/stackprobe-lines
	@mkdir -p $(@D)
	$(call say,as)
	$(Q)$(CC) $(HARDENING) -DREADER='"$(BUILD)/stackprobe-lines"' -c -o $@ $<

# What reads DWARF, in a process of its own (line_reader/). It lies in the daemon's file, where strip doesn't reach.
$(BUILD)/stackprobe-lines: line_reader/line_reader.c probe/proc/capset.c line_reader/protocol.h probe/proc/capset.h
	@mkdir -p $(@D)
	$(call say,link)
	$(Q)$(CC) $(ALLFLAGS) $(HARDENING) $(HARDLINK) $(LDFLAGS) $(if $(SANFLAGS),,-s) -o $@ $(filter %.c,$^) $(shell pkg-config --libs libdw libelf)

# The agent for Java VMs: linked with nothing, so that it loads beside any libc (jvm_agent/README.md). It is sampled
# as the rest of the VM is: it has names and unwind tables.
AGENTFLAGS := -std=gnu17 $(WARNINGS) -O2 -g0 -fPIC -ffreestanding -fvisibility=hidden \
              -fno-stack-protector -fno-tree-loop-distribute-patterns -fasynchronous-unwind-tables \
              -Wno-cast-function-type
AGENTSOURCES := $(sort $(wildcard jvm_agent/*.c))
$(BUILD)/stackprobe-agent.so: $(AGENTSOURCES) $(wildcard jvm_agent/*.h)
	@mkdir -p $(@D)
	$(call say,agent)
	$(Q)$(CC) $(AGENTFLAGS) -shared -nostdlib -Wl,--no-undefined,--hash-style=both,-z,noexecstack \
		-o $@ $(AGENTSOURCES)

# The agent that records by JFR (jvm_agent/jfr), for JDK 8 and later. --release 8 would do without jdk.jfr,
# which came to 8 with an update.
JAVAC := $(shell command -v javac 2>/dev/null)
JAR   := $(shell command -v jar 2>/dev/null)
ifneq ($(and $(JAVAC),$(JAR)),)
$(BUILD)/stackprobe-jfr.jar: $(wildcard jvm_agent/jfr/*.java) jvm_agent/jfr/manifest
	@mkdir -p $(@D)
	$(call say,javac)
	$(Q)rm -rf $(BUILD)/jfr && mkdir -p $(BUILD)/jfr
	$(Q)$(JAVAC) -source 8 -target 8 -g -encoding UTF-8 -Xlint:all,-options -Werror -d $(BUILD)/jfr \
		$(filter %.java,$^)
	$(Q)$(JAR) cfm $@ jvm_agent/jfr/manifest -C $(BUILD)/jfr stackprobe
else
# Without a JDK it is empty: java_source jfr is not available then, and says so.
$(BUILD)/stackprobe-jfr.jar:
	@mkdir -p $(@D)
	$(Q): >$@
endif

# Linked without debug information, of which only BTF is needed to load an object: half of its bytes.
define bpf_object
@mkdir -p $(@D)
$(call say,bpf)
$(Q)$(CLANG) $(BPFFLAGS) $(1) -MMD -MP -MF $(@:.o=.d) -MT $@ -c -o $@.raw $<
$(Q)$(BPFTOOL) gen object $@.new $@.raw && rm $@.raw && mv $@.new $@
endef

$(BUILD)/bpf/%.bpf.o: bpf/%.bpf.c
	$(call bpf_object)

$(BUILD)/bpf/%_native.bpf.o: bpf/%.bpf.c
	$(call bpf_object,-DWALKS_NATIVE)

# The kernel's side for the other processor: that it compiles.
ARM64_INCLUDE := /usr/aarch64-linux-gnu/include
ARM64OBJS := $(BPFOBJS:bpf/%.c=build/arm64/%.o)
build/arm64/%.bpf.o: bpf/%.bpf.c
	@mkdir -p $(@D)
	$(call say,bpf)
	$(Q)$(CLANG) $(filter-out -D__TARGET_ARCH_% -I/usr/include/%,$(BPFFLAGS)) -D__TARGET_ARCH_arm64 \
		-I$(ARM64_INCLUDE) -MMD -MP -c -o $@ $<

.PHONY: check-arm64
ifneq ($(wildcard $(ARM64_INCLUDE)/asm/ptrace.h),)
check-arm64: $(ARM64OBJS) ## compile the BPF objects for arm64
else
check-arm64:
	@echo "check-arm64: skipped: linux-libc-dev-arm64-cross is not installed"
endif

$(BUILD)/bpf/%.skel.h: $(BUILD)/bpf/%.bpf.o
	$(call say,skel)
	$(Q)$(BPFTOOL) gen skeleton $< name $*_bpf > $@.new && mv $@.new $@

.SECONDARY: # keep the BPF objects

-include $(OBJECTS:.o=.d) $(BPFOBJS:%.c=$(BUILD)/%.d) $(NATIVES:%=$(BUILD)/bpf/%_native.bpf.d) $(ARM64OBJS:.o=.d)
include test/test.mk
include conf/package.mk

.PHONY: demo
demo: ## install what is missing, build, show a real flame graph (needs root)
	scripts/install-deps build
	$(MAKE) all $(BUILD)/test/programs/demo
	scripts/demo $(BUILD)

.PHONY: documents
documents: $(BUILD)/stackprobe ## write the lists in doc/ that the program makes (scripts/documents)
	scripts/documents --write $<

.PHONY: pictures
pictures: $(BUILD)/stackprobe ## make the pictures of doc/pictures.md anew (root, a JDK; a minute)
	scripts/pictures $(BUILD)

.PHONY: clean
clean: ## remove what was built
	rm -rf build

.PHONY: help
help: ## list the targets
	@awk -F':.*## ' '/^[a-z0-9-]+:.*## / {printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

CFILES := $(sort $(shell find probe bpf jvm_agent line_reader test -name '*.[ch]' -o -name '*.cc'))
SCRIPTS := scripts/install-deps scripts/demo scripts/pictures .ci/run test/e2e/run test/unit/run $(wildcard test/fuzz/run test/bench/run) \
           test/kernels/init

# cppcheck doesn't know the cleanup attribute (memleak), nor symbols that the linker puts side
# by side (comparePointers).
# clang's analyzer gives a function up after so many states. Its own limit, 225000, takes three times as long.
ANALYZER_NODES ?= 75000
ANALYZER := $(foreach word,-analyzer-config max-nodes=$(ANALYZER_NODES),--extra-arg=-Xclang --extra-arg=$(word))
.PHONY: lint
lint: lint-quick $(SKELETONS) ## check formatting, clang-tidy, cppcheck, shellcheck, floors
	@cppcheck --quiet -j $$(nproc) --error-exitcode=1 --inline-suppr --enable=warning,portability \
		--suppress=missingInclude --suppress=memleak --suppress=comparePointers -Iprobe -I. --std=c11 probe line_reader
	@for file in $(SOURCES) line_reader/line_reader.c; do echo $$file; done | xargs -P $$(nproc) -I{} sh -c \
		'clang-tidy --quiet $(ANALYZER) {} -- -DVERSION=\"lint\" $(filter-out -DVERSION%,$(ALLFLAGS)) 2>/dev/null || exit 1'
	@echo "lint: no finding"

.PHONY: lint-quick
lint-quick: $(BUILD)/stackprobe ## check what takes seconds: formatting, shellcheck, floors, lists and links in doc/
	@clang-format --dry-run -Werror $(CFILES)
	@scripts/check-floors $(shell find probe bpf jvm_agent line_reader -name '*.[ch]')
	@test/floors/check
	@test "$$(scripts/floors-table probe/FLOORS)" = "$$(sed -n '/^<!-- scripts/,/^<!-- end/p' ARCHITECTURE.md | grep -v '^<!--')" || \
		{ echo 'ARCHITECTURE.md: its table of rooms is not that of probe/FLOORS (scripts/floors-table)'; exit 1; }
	@scripts/documents $(BUILD)/stackprobe
	@scripts/check-links
	@test/links/check
	@shellcheck $(SCRIPTS) scripts/make-deb conf/debian/p*
	@if command -v mandoc >/dev/null; then mandoc -T lint -W warning doc/stackprobe.8; fi
