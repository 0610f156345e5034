// SPDX-License-Identifier: BSD-2-Clause
//! The commands end to end, as a person or a script meets them. Needs the built provider in
//! TENROUNDS_MODULE and the system's `openssl`.

// Tests may print: the lint is for the tool's own output.
#![allow(clippy::disallowed_macros)]

mod baseline;
mod browser;
mod catalogue;
mod command_line;
mod doctor;
mod doctor_pkcs11;
mod enable;
mod enable_dry_run;
mod enable_java;
mod enable_support;
mod enable_trouble;
mod enable_user;
mod generate;
mod hints;
mod java;
mod json;
mod kernel;
mod machine;
mod no_memory;
mod nodejs;
mod output;
mod pseudo_terminal;
mod report;
mod report_browser;
mod run;
mod run_config;
mod run_count;
mod run_java;
mod run_reach;
mod run_signals;
mod scan;
mod selftest;
mod status;
mod status_modes;
mod status_prometheus;
mod support;
mod system;
mod trace;
mod trace_corpus;
mod trace_count;
mod trace_kernel;
mod trace_live;
mod width;
