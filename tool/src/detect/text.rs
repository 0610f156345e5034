// SPDX-License-Identifier: BSD-2-Clause
//! What `detect` shows to people.

use super::{Detect, Host};
use crate::core;
use crate::kernel::text;
use crate::style::{paint, unicode, BAD, BOLD, DIM, GOOD, WARN};
use crate::table::Table;
use std::fmt::Write;

pub fn render(host: &Host, detect: &Detect) -> String {
    let parts = [
        machine(host, detect),
        masks(host),
        instructions(detect),
        modes(detect),
        failed(detect),
        avoided(detect),
        kernel(detect),
        advice(detect),
    ];
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join("\n")
}

/// The signs for yes, no and "leads to".
fn signs() -> (&'static str, &'static str, &'static str) {
    match unicode() {
        true => ("✓", "✗", "→"),
        false => ("yes", "no", "->"),
    }
}

fn heading(text: &str) -> String {
    format!("{}\n", paint(BOLD, text))
}

fn line(out: &mut String, name: &str, value: &str) {
    let _ = writeln!(out, "  {}  {value}", paint(DIM, format!("{name:<11}")));
}

fn machine(host: &Host, detect: &Detect) -> String {
    let cpu = &host.cpu;
    let mut out = heading(&format!("tenrounds {}", core::version()));
    line(&mut out, "Processor", &cpu.brand);
    let microcode = host.microcode.as_deref().unwrap_or("unknown");
    line(
        &mut out,
        "",
        &format!(
            "{} family {} model {} stepping {}, microcode {microcode}, {} threads",
            cpu.vendor, cpu.family, cpu.model, cpu.stepping, cpu.threads
        ),
    );
    line(
        &mut out,
        "Hypervisor",
        host.hypervisor.as_deref().unwrap_or("none"),
    );
    let os = host.os.as_deref().unwrap_or("unknown");
    line(&mut out, "System", &format!("{os}, {}", host.kernel));
    match &host.openssl {
        Some(openssl) => {
            line(
                &mut out,
                "OpenSSL",
                &format!("{}, {}", openssl.version, openssl.library),
            );
            if let Some(settings) = &openssl.cpu_settings {
                line(&mut out, "", settings);
                let sees = openssl.sees.join(", ");
                line(&mut out, "", &format!("its own code sees {sees}"));
            }
        }
        None => line(&mut out, "OpenSSL", &paint(WARN, "not found")),
    }
    let in_use = match detect.provider.in_use.as_deref() {
        Some("tenrounds") => paint(GOOD, "tenrounds"),
        Some(other) => format!("{other}; with 'tenrounds run', tenrounds"),
        None => paint(BAD, "nobody"),
    };
    line(&mut out, "AES from", &in_use);
    let absent = || paint(WARN, "not found; build it with 'make'");
    line(
        &mut out,
        "Provider",
        &detect.provider.module.clone().unwrap_or_else(absent),
    );
    out
}

fn masks(host: &Host) -> String {
    if host.masks.is_empty() {
        return String::new();
    }
    let mut out = heading("Masks in force");
    for (name, mask) in &host.masks {
        let removes = match mask.removes.is_empty() {
            true => "takes nothing away".to_owned(),
            false => paint(WARN, format!("takes away {}", mask.removes.join(", "))),
        };
        let _ = writeln!(out, "  {name}={}  {removes}", mask.value);
        if mask.hex != mask.value {
            let _ = writeln!(
                out,
                "    {} {}",
                paint(DIM, "as OPENSSL_ia32cap:"),
                mask.hex
            );
        }
    }
    out
}

fn instructions(detect: &Detect) -> String {
    let (yes, no, _) = signs();
    let sign = |set: bool| paint(if set { GOOD } else { BAD }, if set { yes } else { no });
    let mut table = Table::new(&["Instruction", "present", "usable", "what it does"]);
    for i in &detect.instructions {
        let usable = match i.masked {
            true => paint(WARN, "masked"),
            false => sign(i.usable),
        };
        table.row(vec![i.name.into(), sign(i.present), usable, i.does.into()]);
    }
    table.to_string()
}

fn modes(detect: &Detect) -> String {
    let mut table = Table::new(&[
        "AES mode",
        "direction",
        "keys",
        "present",
        "selected",
        "executed",
    ]);
    for m in &detect.modes {
        let executed = m.executed.join(", ");
        let style = if m.executed == [m.best] { GOOD } else { WARN };
        let keys: Vec<String> = m.key_bits.iter().map(u16::to_string).collect();
        table.row(vec![
            m.mode.to_ascii_uppercase(),
            m.direction.into(),
            keys.join("/"),
            m.present.into(),
            m.selected.into(),
            paint(style, executed),
        ]);
    }
    let notes = [
        "  present: the strongest backend this processor has; selected: the one tenrounds chose;",
        "  executed: whose code just ran. CBC and CFB encryption and OFB wait for each block before",
        "  the next, so wider registers do not help them, and the narrow code does it.",
    ];
    let notes: Vec<String> = notes.iter().map(|note| paint(DIM, note)).collect();
    format!("{table}{}\n", notes.join("\n"))
}

fn kernel(detect: &Detect) -> String {
    let mut out = text::algorithms(&detect.kernel);
    line(&mut out, "Module", &text::module(&detect.kernel));
    line(
        &mut out,
        "Secure Boot",
        &text::signatures(&detect.kernel.signatures),
    );
    out.push_str(&text::counters(&detect.kernel.module));
    out
}

fn avoided(detect: &Detect) -> String {
    if detect.avoided.is_empty() {
        return String::new();
    }
    format!(
        "  {} lowers the clock of this processor, and AES is no faster by it: {} is selected.\n  \
         TENROUNDS_MASK=avx512 uses it nonetheless.\n",
        detect.avoided.join(", "),
        detect.backend
    )
}

fn failed(detect: &Detect) -> String {
    let failed = detect.failed.iter();
    failed
        .map(|name| {
            paint(
                BAD,
                format!("  {name} failed its known answers and is not used\n"),
            )
        })
        .collect()
}

fn advice(detect: &Detect) -> String {
    let (_, _, leads_to) = signs();
    if detect.advice.is_empty() {
        return format!(
            "  {}\n",
            paint(
                GOOD,
                "No setting of this machine would give a better backend."
            )
        );
    }
    let mut out = heading("A setting away");
    for advice in &detect.advice {
        let gives = match advice.gives {
            Some(backend) => format!(" {leads_to} {}", paint(GOOD, backend)),
            None => String::new(),
        };
        let _ = writeln!(out, "  {}{gives}", paint(WARN, &advice.problem));
        for setting in &advice.settings {
            let _ = writeln!(
                out,
                "    {}  {}",
                paint(DIM, format!("{:<9}", setting.at)),
                setting.set
            );
        }
    }
    out
}
