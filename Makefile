# SPDX-License-Identifier: BSD-2-Clause
# Builds, tests and installs everything. Meson builds the C, Cargo the Rust. Both install into
# build/dist, laid out as on a system.
#
#   make          build into build/dist           make demo     see it work on this machine
#   make check    all tests                       make lint     formatters and linters
#   make check-full   the tests that take longer: other versions of OpenSSL, real programs, Arm,
#                     32-bit code, the kernel, fuzzing (FUZZ_SECONDS=60 for each target)
#   make check-arm    the tests for 64-bit Arm under an emulator; of the tool, check-full runs those
#                     that depend on the processor, this all (20 minutes)
#   make check-i386   of these, the core and the provider as 32-bit code
#   make check-kernel of these, the kernel module in guests: Debian's kernels 6.1 and 6.12, and the
#                     newest of its backports, in an emulator
#   make constant-time   follow secrets through every backend on this processor;
#                     CONSTANT_TIME=--whole runs all lengths, for hours
#   make check-uml    the kernel module in user-mode Linux, on the real processor: the kernel's
#                     fuzzing, speed; DEBUG=yes: in a debugging kernel
#   make kernel-module KDIR=/lib/modules/RELEASE/build   the module for Linux, in
#                     build/kernel/RELEASE
#   make engine   the engine alone, for OpenSSL 1.1.1 and 3.x, in build/engine: needs the compiler and
#                 OpenSSL's headers
#   make archive      the core as an archive that stands alone, and its source form, in
#                     build/archive; ARCHIVE_STACK=16384 for stacks of 16 KiB
#   make go           the core as Go assembly, in bindings/go: after it, that folder is a Go module
#   make wheel        the Python package, in build/wheel/dist
#   make jar          the security provider for Java, in build/java
#   make prove        proofs about the C code with CBMC (minutes): docs/assurance.md
#   make check-rust-sanitized   the Rust crate and the PKCS#11 module with AddressSanitizer; Miri (minutes)
#   make soak         all hosts under random load for an hour; SOAK_SECONDS=120 for two minutes
#   make bench        compare with the processor's limit and other libraries, into docs/benchmarks
#                     (minutes)
#   make bench-quick  the same in less than 2 minutes
#   make bench-replace   compare with the default provider that tenrounds replaces, in each
#                     libcrypto, into docs/benchmarks/replace (minutes)
#   make bench-pkcs11    compare the PKCS#11 module with the core's calls, SoftHSM and NSS (a minute)
#   make check-fresh  the demo, the tests and the packages from a clone, in bare Debians 13, 12,
#                     testing and 11 in a chroot, as root
#   make deb      Debian packages, in build/deb; DEB_ARCH=arm64 for 64-bit Arm from another machine,
#                 in build/deb-arm64
#   make release  packages for Debian 12, 13 and testing, RPM packages, crate, wheels, Go module and
#                 jar, checksums, and with KEY=FILE a signature, in build/release, as root
#   make check-packages   install, enable and remove them in a chroot
#   make check-guest  boot a full Debian 12 in QEMU with them enabled, as root: upgrades of OpenSSL,
#                     removal, POWER_CUTS=8 in the middle of enable and disable (half an hour)
#   make install  DESTDIR= PREFIX=/usr/local      make uninstall, make clean
#   WERROR=1      the compiler's warnings are errors, as in CI
#   INSTALL_DEPS=no    only name missing dependencies and the apt-get line that installs them.
#                      Without it, make installs them, and asks on a terminal before it uses sudo;
#                      INSTALL_DEPS=yes does not ask

PREFIX  ?= /usr/local
DESTDIR ?=
FUZZ_SECONDS ?= 60
SOAK_SECONDS ?= 3600
# The core is compiled for Go on x86-64 alone.
CHECK_STEPS ?= first rust wheel java tool $(if $(filter x86_64,$(shell uname -m)),go) c sanitized
BUILD   := build
DIST    := $(BUILD)/dist
MESON_OPTIONS := --prefix=/ --libdir=lib
# In long functions the address checks are calls: the same checks, but gcc compiles such unrolled
# code 5 times faster. The checks of each pointer are off, because they would take gcc minutes per
# file. scripts/check-full builds the core with them, with clang; the fuzzers have them except in
# core/x86 and core/simd. The plain build gives the warnings, because it knows more.
SANITIZE := -Db_sanitize=address,undefined -Db_lundef=false -Dbuildtype=debug -Doptimization=1 -Dwerror=false \
    "-Dc_args=-fno-sanitize=pointer-overflow,null,object-size,alignment -fno-var-tracking --param asan-instrumentation-with-call-threshold=50"

.PHONY: all bench bench-pkcs11 bench-quick bench-replace demo check check-full check-arm check-i386 check-kernel check-uml check-c check-sanitized check-tool check-fresh lint install uninstall clean help deb check-packages
.DELETE_ON_ERROR:

all:
	@scripts/dependencies build
	$(if $(wildcard $(DIST)/bin/tenrounds),,@echo 'building: about two minutes the first time on two cores')
	@$(MAKE) --no-print-directory stage

help:
	@sed -n 's/^#   //p' Makefile

.PHONY: stage c c-tests c-first sanitized tool
c c-tests c-first: targets = $(if $(filter c,$@),product,$(if $(filter c-first,$@),first))
c c-tests c-first:
	@scripts/compile $(BUILD)/c "$(targets)" $(MESON_OPTIONS)

sanitized:
	@scripts/compile $(BUILD)/sanitized '' $(MESON_OPTIONS) $(SANITIZE)

tool:
	@mkdir -p $(BUILD)
	@scripts/progress $(BUILD)/tool.log scripts/cargo build --release --locked --package tenrounds --target-dir $(BUILD)/cargo
	@scripts/progress $(BUILD)/tool.log scripts/cargo rustc --release --locked --package tenrounds-pkcs11 \
	    --crate-type cdylib --target-dir $(BUILD)/cargo

.PHONY: archive
archive:
	@scripts/dependencies build
	@scripts/archive build $(BUILD)/archive
	@ls $(BUILD)/archive/libtenrounds-core.a $(BUILD)/archive/tenrounds.h

.PHONY: go
go:
	@scripts/dependencies go
	@scripts/go generate $(BUILD)

.PHONY: wheel
wheel:
	@scripts/dependencies wheel
	@scripts/wheel build $(BUILD)

.PHONY: jar
jar:
	@scripts/dependencies java
	@scripts/java build $(BUILD)

stage: c tool
	@scripts/stage $(BUILD) $(DIST)

demo: all
	@scripts/demo $(DIST)

# Tests the core and the provider first, within 2 minutes of a build; see scripts/check. CHECK_STEPS
# selects the steps.
check:
	@scripts/dependencies check
	@scripts/check $(BUILD) $(CHECK_STEPS)

# The tests that take more than 10 minutes. The first run takes longest, because it builds three
# versions of OpenSSL.
check-full:
	@scripts/dependencies check-full
	@scripts/check-full $(BUILD) $(FUZZ_SECONDS)

check-i386:
	@scripts/dependencies check
	@scripts/dependencies check-i386
	@scripts/i386 $(BUILD)

# Follows secrets through every backend and host. CONSTANT_TIME=--whole runs all lengths, for hours.
# Name backends after it to run only those.
CONSTANT_TIME ?=
.PHONY: constant-time
constant-time:
	@scripts/dependencies check
	@scripts/compile $(BUILD)/c constant-time $(MESON_OPTIONS)
	@scripts/constant-time $(BUILD) $(CONSTANT_TIME)

# Needs an idle machine. The benchmark builds other libraries the first time. The quick one skips
# the other versions of OpenSSL if they are not built.
bench-pkcs11:
	@scripts/dependencies bench
	@$(MAKE) --no-print-directory stage
	@scripts/bench-pkcs11 $(BUILD)

bench bench-quick bench-replace:
	@scripts/dependencies bench
	@$(MAKE) --no-print-directory stage
	@$(if $(filter %-quick,$@),,scripts/versions build >/dev/null)
	@scripts/bench $(BUILD) $(if $(filter %-replace,$@),--replace --publish docs/benchmarks/replace,--publish docs/benchmarks $(if $(filter %-quick,$@),--quick))

# Builds for the running kernel, unless KDIR names another.
.PHONY: kernel-module engine
kernel-module:
	@$(MAKE) --no-print-directory -C kernel $(if $(KDIR),KDIR=$(KDIR)) OUT=$(if $(OUT),$(abspath $(OUT)))

# With the compiler alone, for systems with OpenSSL 1.1.1.
engine:
	@scripts/dependencies $@
	@scripts/engine $(BUILD)

check-kernel:
	@scripts/dependencies check-kernel
	@scripts/dependencies build
	@$(MAKE) --no-print-directory stage
	@scripts/compile $(BUILD)/c tests/soak/soak $(MESON_OPTIONS)
	@scripts/check-kernel $(BUILD)

# Not in check-full: it takes minutes.
.PHONY: prove
prove:
	@scripts/dependencies $@
	@scripts/prove

# Not in check-full: it compiles for minutes.
.PHONY: check-rust-sanitized
check-rust-sanitized:
	@scripts/dependencies check
	@scripts/dependencies check-full
	@scripts/rust-sanitized $(BUILD)

# check-full runs it for 5 seconds.
.PHONY: soak
soak:
	@scripts/dependencies check
	@$(MAKE) --no-print-directory stage c-tests
	@scripts/soak $(BUILD) $(SOAK_SECONDS)

# Not in check-full: it builds a kernel the first time.
check-uml:
	@scripts/dependencies check-uml
	@scripts/check-uml $(if $(filter yes,$(DEBUG)),debug) $(BUILD)

# Builds the packages, with a distribution's flags.
DEB_ARCH ?=
deb: suffix = $(addprefix -,$(DEB_ARCH))
deb:
	@scripts/dependencies deb$(suffix)
	@echo 'building the packages: one to three minutes'
	@scripts/deb $(BUILD)/deb$(suffix) $(DEB_ARCH)
	@ls $(BUILD)/deb$(suffix)/*.deb

# The files of a release; see scripts/release. RELEASE selects the parts. Needs root for its chroots.
.PHONY: release
release:
	@scripts/dependencies release
	@KEY='$(KEY)' scripts/release $(BUILD) $(RELEASE)

# Needs root for its chroot. Downloads a minimal Debian 12, once.
check-packages:
	@scripts/dependencies check-packages
	@$(MAKE) --no-print-directory deb
	@scripts/check-packages $(BUILD)

# Not in check-full: it takes half an hour.
.PHONY: check-guest
check-guest:
	@scripts/dependencies check-guest
	@$(MAKE) --no-print-directory deb
	@scripts/check-guest $(BUILD)

check-arm:
	@scripts/dependencies $@
	@scripts/arm test $(BUILD)

# Parts of check.
check-c:
	@scripts/check $(BUILD) first c

check-sanitized:
	@scripts/check $(BUILD) sanitized

check-tool:
	@scripts/check $(BUILD) tool

# Runs a newcomer's steps in bare Debians in a chroot; needs root.
check-fresh:
	@scripts/dependencies check-fresh
	@scripts/check-fresh

lint:
	@scripts/dependencies lint
	@scripts/lint $(BUILD)

# Under sudo, installs what the user built: root may have no Rust, and does not own the build tree.
install: $(if $(and $(SUDO_UID),$(wildcard $(DIST)/bin/tenrounds)),,all)
	@scripts/install $(DIST) "$(PREFIX)" "$(DESTDIR)"

# Removes what the manifest below PREFIX lists; needs no build.
uninstall:
	@scripts/install --remove $(DIST) "$(PREFIX)" "$(DESTDIR)"

clean:
	rm -rf $(BUILD)
