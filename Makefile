# SPDX-License-Identifier: BSD-2-Clause
# The front door. Meson builds the C, Cargo the Rust; both land in build/dist, laid out as installed.
#
#   make          build into build/dist           make demo     see it work on this machine
#   make check    all tests                       make lint     formatters and linters
#   make install  DESTDIR= PREFIX=/usr/local      make uninstall, make clean

PREFIX  ?= /usr/local
DESTDIR ?=
BUILD   := build
DIST    := $(BUILD)/dist
MESON_OPTIONS := --prefix=/ --libdir=lib -Dpkgconfig.relocatable=true
SANITIZE := -Db_sanitize=address,undefined -Db_lundef=false -Dbuildtype=debugoptimized

.PHONY: all demo check check-c check-sanitized check-tool lint install uninstall clean help
.DELETE_ON_ERROR:

all:
	@scripts/dependencies build
	@$(MAKE) --no-print-directory stage

help:
	@sed -n 's/^#   //p' Makefile

# Configured once; Ninja configures again by itself when a meson.build changes.
$(BUILD)/c/build.ninja:
	@mkdir -p $(BUILD)
	@meson setup $(MESON_OPTIONS) $(BUILD)/c >$(BUILD)/setup.log 2>&1 || { cat $(BUILD)/setup.log; exit 1; }


$(BUILD)/sanitized/build.ninja:
	@meson setup $(MESON_OPTIONS) $(SANITIZE) $(BUILD)/sanitized

.PHONY: stage c tool
c: $(BUILD)/c/build.ninja
	@ninja -C $(BUILD)/c --quiet

tool:
	@scripts/cargo build --quiet --release --locked --manifest-path tool/Cargo.toml \
	    --target-dir $(BUILD)/cargo

stage: c tool
	@scripts/stage $(BUILD) $(DIST)

demo: all
	@scripts/demo $(DIST)

check:
	@scripts/dependencies check
	@$(MAKE) --no-print-directory stage check-c check-sanitized check-tool

check-c: stage
	meson test -C $(BUILD)/c --print-errorlogs

check-sanitized: $(BUILD)/sanitized/build.ninja
	ninja -C $(BUILD)/sanitized --quiet
	meson test -C $(BUILD)/sanitized --print-errorlogs

check-tool: stage
	TENROUNDS_MODULE=$(CURDIR)/$(DIST)/lib/ossl-modules/tenrounds.so \
	    scripts/cargo test --release --locked --manifest-path tool/Cargo.toml --target-dir $(BUILD)/cargo

lint:
	@scripts/dependencies lint
	@scripts/lint $(BUILD)

install: all
	@scripts/install $(DIST) "$(DESTDIR)$(PREFIX)"

uninstall:
	@scripts/install --remove $(DIST) "$(DESTDIR)$(PREFIX)"

clean:
	rm -rf $(BUILD)
