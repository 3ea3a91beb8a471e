# SPDX-License-Identifier: GPL-2.0-or-later
# Installing, and the .deb. Included by the Makefile.

# GNU's names. The program looks for its conf file in /etc, whatever the prefix.
PREFIX      ?= /usr
prefix      ?= $(PREFIX)
bindir      ?= $(prefix)/bin
sysconfdir  ?= /etc
mandir      ?= $(prefix)/share/man
docdir      ?= $(prefix)/share/doc/stackprobe
bashdir     ?= $(prefix)/share/bash-completion/completions
zshdir      ?= $(prefix)/share/zsh/vendor-completions
unitdir     ?= $(prefix)/lib/systemd/system
INSTALL     ?= install
DESTDIR     ?=
confdir     := $(sysconfdir)/stackprobe
# They lie as in the source, so that their links lead where they should.
DOCUMENTS   := README.md $(wildcard doc/*.md doc/*.svg doc/performance/*.svg doc/pictures/*.svg)

.PHONY: install
install: all ## install below DESTDIR (PREFIX=/usr): program, conf file, documents, completion, systemd units
	$(INSTALL) -d $(DESTDIR)$(bindir) $(DESTDIR)$(confdir) $(DESTDIR)$(mandir)/man8 $(DESTDIR)$(unitdir) \
		$(DESTDIR)$(bashdir) $(DESTDIR)$(zshdir) $(DESTDIR)$(docdir)/doc/performance $(DESTDIR)$(docdir)/doc/pictures
	for file in $(DOCUMENTS); do $(INSTALL) -m 0644 $$file $(DESTDIR)$(docdir)/$$file || exit 1; done
	$(INSTALL) -m 0644 conf/completion/stackprobe.bash $(DESTDIR)$(bashdir)/stackprobe
	$(INSTALL) -m 0644 conf/completion/_stackprobe $(DESTDIR)$(zshdir)/_stackprobe
	$(INSTALL) -m 0755 $(BUILD)/stackprobe $(DESTDIR)$(bindir)/stackprobe
	$(INSTALL) -m 0644 doc/stackprobe.8 $(DESTDIR)$(mandir)/man8/stackprobe.8
	sed 's,^ExecStart=/usr/bin/,ExecStart=$(bindir)/,' conf/stackprobe.service >$(BUILD)/stackprobe.service
	$(INSTALL) -m 0644 $(BUILD)/stackprobe.service $(DESTDIR)$(unitdir)/stackprobe.service
	$(INSTALL) -m 0644 conf/stackprobe.socket $(DESTDIR)$(unitdir)/stackprobe.socket
	@if [ -e $(DESTDIR)$(confdir)/stackprobe.conf ]; then \
		echo "$(DESTDIR)$(confdir)/stackprobe.conf is kept as it is"; \
	else \
		$(INSTALL) -m 0644 conf/stackprobe.conf $(DESTDIR)$(confdir)/stackprobe.conf; \
	fi

.PHONY: uninstall
uninstall: ## remove what install put there, but not the conf file
	rm -f $(DESTDIR)$(bindir)/stackprobe $(DESTDIR)$(mandir)/man8/stackprobe.8 \
		$(DESTDIR)$(unitdir)/stackprobe.service $(DESTDIR)$(unitdir)/stackprobe.socket \
		$(DESTDIR)$(bashdir)/stackprobe $(DESTDIR)$(zshdir)/_stackprobe $(DOCUMENTS:%=$(DESTDIR)$(docdir)/%)

.PHONY: deb
deb: all ## build build/stackprobe_VERSION_ARCH.deb
	+scripts/make-deb $(BUILD) $(VERSION)
