// SPDX-License-Identifier: BSD-2-Clause
//! The facts as text.

use super::code::Code;
use super::facts::Detect;
use super::table::{Row, GROUPS};
use super::verdict;
use catalogue::Needs;

use base::kernel::text;
use machine::schema::Host;
use tenrounds_sys::Tuning;
use terminal::style::{item, paint, BAD, BOLD, DIM, GOOD, WARN};
use terminal::table::Table;

/// Everything except the table of modes.
pub fn details(host: &Host, detect: &Detect) -> String {
    let parts = [
        machine(host, detect),
        instructions(detect),
        left_out(detect),
        kernel(detect),
        advice(detect),
    ];
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join("\n")
}

/// What runs each mode, the usual ones or all, and the masks.
pub fn table(host: &Host, detect: &Detect, all: bool) -> String {
    let stock = match &host.openssl {
        Some(openssl) => openssl
            .version
            .split(' ')
            .take(2)
            .collect::<Vec<_>>()
            .join(" "),
        None => "OpenSSL".to_owned(),
    };
    let in_kernel = detect.table.iter().any(|row| row.driver.is_some());
    let heads = ["AES mode", "tenrounds", &stock, "kernel"];
    let heads = &heads[..if in_kernel { 4 } else { 3 }];
    let mut table = Table::new(heads);
    for (needs, title) in GROUPS {
        let shown = |row: &&Row| row.needs == needs && (all || row.usual);
        let of_group: Vec<&Row> = detect.table.iter().filter(shown).collect();
        if !of_group.is_empty() {
            table.title(title.to_owned());
        }
        for row in of_group {
            let mut cells = cells(&name(&detect.table, row), row);
            cells.truncate(heads.len());
            table.row(cells);
        }
    }
    let legend = match in_kernel {
        true => LEGEND.to_owned(),
        false => format!("{LEGEND} The kernel shows no driver for these modes."),
    };
    table.to_string() + &item("", paint(DIM, legend)) + &masks(host)
}

#[cfg(target_arch = "aarch64")]
const LEGEND: &str =
    "Armv8 AES does a round on one block with 2 instructions. -: no code for this mode.";
#[cfg(not(target_arch = "aarch64"))]
const LEGEND: &str = "AES-NI does a round on one block, VAES on 2 (256 bits) or 4 (512 bits). -: no code for this mode.";

/// The mode, and the direction if the other one has a row of its own.
fn name(table: &[Row], row: &Row) -> String {
    let name = row.title;
    let rows = table.iter().filter(|other| other.mode == row.mode).count();
    match row.directions[..] {
        ["encrypt"] if rows > 1 => format!("{name} encryption"),
        ["decrypt"] if rows > 1 => format!("{name} decryption"),
        _ => name.to_owned(),
    }
}

fn cells(name: &str, row: &Row) -> Vec<String> {
    let words = |code: Option<Code>| code.map_or("-", Code::words);
    let alone = row.needs == Needs::OneBlock;
    let ours = match row.tenrounds {
        Some(Code::Vaes256 | Code::Vaes512) if alone => "VAES, 1 block",
        ours => words(ours),
    };
    let style = match (row.tenrounds, row.openssl) {
        // Wider instructions gain nothing there.
        (_, Some(theirs)) if alone && theirs > Code::Software => anstyle::Style::new(),
        (Some(ours), Some(theirs)) if ours > theirs => GOOD,
        _ => anstyle::Style::new(),
    };
    let kernel = match (&row.driver, row.kernel) {
        (None, _) => "-".to_owned(),
        (Some(driver), _) if driver.contains("-tenrounds-") => {
            format!("{} (tenrounds)", words(row.kernel))
        }
        (Some(_), Some(code)) => code.words().to_owned(),
        (Some(driver), None) => driver.clone(),
    };
    vec![
        name.to_owned(),
        paint(style, ours),
        words(row.openssl).to_owned(),
        kernel,
    ]
}

fn heading(text: &str) -> String {
    format!("{}\n", paint(BOLD, text))
}

fn line(out: &mut String, name: &str, value: &str) {
    let label = format!("  {}  ", paint(DIM, format!("{name:<11}")));
    *out += &item(&label, value);
}

/// "tuned as znver5: an AES round takes 4 cycles; CLMUL not at full rate beside AES".
fn tuning(t: &Tuning) -> String {
    let ports = match t.separate_clmul {
        true => "CLMUL at full rate beside AES",
        false => "CLMUL not at full rate beside AES",
    };
    let wide = match t.aes512_per_cycle {
        0 => String::new(),
        n => format!(", and each cycle can start {n} of 512 bits"),
    };
    let clock = match t.clock_drops {
        true => "; 512 bits lower the clock",
        false => "",
    };
    format!(
        "tuned as {}: an AES round takes {} cycles{wide}; {ports}{clock}",
        t.name, t.aes_latency
    )
}

fn machine(host: &Host, detect: &Detect) -> String {
    let (cpu, provider) = (&host.cpu, &detect.provider);
    let unknown = || "unknown".to_owned();
    let microcode = host.microcode.clone().unwrap_or_else(unknown);
    let identity = format!(
        "{} family {} model {} stepping {}, microcode {microcode}, {} threads",
        cpu.vendor, cpu.family, cpu.model, cpu.stepping, cpu.threads
    );
    let hypervisor = host.hypervisor.as_deref().unwrap_or("none");
    let os = host.os.clone().unwrap_or_else(unknown);
    let mut lines = vec![("Processor", cpu.brand.clone()), ("", identity)];
    // The Arm backends do not use these facts.
    if cfg!(not(target_arch = "aarch64")) {
        lines.push(("", tuning(&detect.tuning)));
    }
    lines.push(("Hypervisor", hypervisor.to_owned()));
    lines.push(("System", format!("{os}, {}", host.kernel)));
    match &host.openssl {
        Some(openssl) => {
            lines.push((
                "OpenSSL",
                format!("{}, {}", openssl.version, openssl.library),
            ));
            if let Some(settings) = &openssl.cpu_settings {
                let sees = openssl.sees.join(", ");
                lines.push(("", format!("{settings}; its own code sees {sees}")));
            }
        }
        None => lines.push(("OpenSSL", paint(WARN, "not found"))),
    }
    let in_use = match provider.in_use.as_deref() {
        Some("tenrounds") => paint(GOOD, "tenrounds"),
        Some(other) => format!("{other}; with 'tenrounds run', tenrounds"),
        None => paint(BAD, "nobody"),
    };
    lines.push(("AES from", in_use));
    let absent = || paint(WARN, "not found; build it with 'make'");
    lines.push(("Provider", provider.module.clone().unwrap_or_else(absent)));
    if let Some(module) = &detect.pkcs11.module {
        lines.push(("PKCS#11", module.display().to_string()));
    }
    let mut out = heading(&format!("tenrounds {}", tenrounds_sys::version()));
    for (name, value) in lines {
        line(&mut out, name, &value);
    }
    out
}

fn masks(host: &Host) -> String {
    let mut out = String::new();
    for (name, mask) in &host.masks {
        let removes = match mask.removes.is_empty() {
            true => "takes nothing away".to_owned(),
            false => paint(WARN, format!("takes away {}", mask.removes.join(", "))),
        };
        out += &item("  ", format!("{name}={}  {removes}", mask.value));
    }
    match out.is_empty() {
        true => out,
        false => heading("Masks in force") + &out,
    }
}

fn instructions(detect: &Detect) -> String {
    let sign = |set: bool| match set {
        true => paint(GOOD, "yes"),
        false => paint(BAD, "no"),
    };
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

/// Backends that are not used, and why.
fn left_out(detect: &Detect) -> String {
    let failed = detect.failed.iter();
    let failed = failed.map(|name| format!("{name} failed its known answers and is not used"));
    let mut out: String = failed.map(|line| item("  ", paint(BAD, line))).collect();
    if !detect.avoided.is_empty() {
        out += &item("  ", verdict::avoided(detect));
    }
    out
}

fn kernel(detect: &Detect) -> String {
    let mut out = text::algorithms(&detect.kernel);
    line(&mut out, "Module", &text::module(&detect.kernel));
    out
}

fn advice(detect: &Detect) -> String {
    if detect.advice.is_empty() {
        let nothing = "No setting of this machine would give a better backend.";
        return item("  ", paint(GOOD, nothing));
    }
    let mut out = heading("A setting away");
    for advice in &detect.advice {
        let gives = match advice.gives {
            Some(backend) => format!(", for {}", paint(GOOD, backend)),
            None => String::new(),
        };
        out += &item("  ", format!("{}{gives}", paint(WARN, &advice.problem)));
        for setting in &advice.settings {
            let label = format!("    {}  ", paint(DIM, format!("{:<9}", setting.at)));
            out += &item(&label, &setting.set);
        }
    }
    out
}
