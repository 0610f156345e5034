// SPDX-License-Identifier: BSD-2-Clause
//! The first screen: the verdict, the figures behind it, and which machine this is.

use super::super::facts::{Body, Gain, Summary};
use super::super::html::{cell, figure, Html};
use machine::schema::{Document, Host};

pub fn show(html: &mut Html, document: &Document<Body>) {
    let (host, report) = (&document.host, &document.body.report);
    html.tag("header", "", |html| {
        html.tag("h1", "", |html| html.text("AES on this machine"));
        let hypervisor = host.hypervisor.as_deref();
        let place = hypervisor.map_or(String::new(), |name| format!(" · virtual machine ({name})"));
        let about = format!("{}{place} · {}", host.cpu.brand, report.date);
        html.line("p", "about", about);
        html.tag("ul", "verdict", |html| {
            for line in &report.verdict {
                html.line("li", "", line);
            }
        });
        tiles(html, &report.summary);
        html.tag("div", "columns", |html| {
            html.tag("div", "", |html| gains(html, &report.summary.gains));
            html.tag("div", "", |html| machine(html, document));
        });
    });
}

/// The figures of the summary, large.
fn tiles(html: &mut Html, summary: &Summary) {
    let mut tile = |name: &'static str, class: &'static str, value: &dyn Fn(&mut Html)| {
        html.tag("div", class, |html| {
            html.tag("div", "value", value);
            html.line("div", "name", name);
        });
    };
    let (word, class) = match summary.in_force.as_str() {
        "yes" => ("in force", "tile good"),
        "partly" => ("in part", "tile warn"),
        _ => ("not in force", "tile warn"),
    };
    tile("tenrounds", class, &|html| html.text(word));
    tile(
        "of processor time in AES",
        "tile",
        &|html| match summary.aes_share {
            Some(share) => html.share(share),
            None => html.text("unknown"),
        },
    );
    let best = summary.gains.iter().map(|gain| gain.ratio).reduce(f64::max);
    if let Some(best) = best {
        tile("the speed of OpenSSL alone, at best", "tile", &|html| {
            html.times(best);
        });
    }
    tile(
        "files with AES code that tenrounds reaches",
        "tile",
        &|html| {
            html.count(summary.reached);
            html.text(" of ");
            html.count(summary.files);
        },
    );
    let class = match (summary.problems, summary.warnings) {
        (0, 0) => "tile good",
        (0, _) => "tile warn",
        _ => "tile bad",
    };
    tile("problems, warnings", class, &|html| {
        html.count(summary.problems);
        html.text(", ");
        html.count(summary.warnings);
    });
}

fn gains(html: &mut Html, gains: &[Gain]) {
    if gains.is_empty() {
        return;
    }
    html.line("h3", "", "What is gained");
    let heads = &["Mode", ">Call", ">OpenSSL", ">tenrounds", ">Gain"];
    html.table(heads, |table| {
        for gain in gains {
            table.row([
                cell(gain.title()),
                figure(Some(gain.bytes), Html::bytes),
                figure(Some(gain.openssl), Html::rate),
                figure(Some(gain.tenrounds), Html::rate),
                figure(Some(gain.ratio), Html::times),
            ]);
        }
    });
}

fn machine(html: &mut Html, document: &Document<Body>) {
    let (host, report) = (&document.host, &document.body.report);
    html.line("h3", "", "Machine and versions");
    html.tag("dl", "", |html| {
        let mut fact = |name: &'static str, value: &str| {
            html.line("dt", "", name);
            html.line("dd", "", value);
        };
        fact("Date", &report.date);
        fact("Processor", &host.cpu.brand);
        fact("Hypervisor", host.hypervisor.as_deref().unwrap_or("none"));
        fact("System", host.os.as_deref().unwrap_or("unknown"));
        fact("Kernel", &host.kernel);
        fact("OpenSSL", openssl(host));
        fact("tenrounds", document.version);
        let backend = report.summary.backend.as_deref();
        fact("Backend", backend.unwrap_or("none"));
    });
}

pub fn openssl(host: &Host) -> &str {
    let openssl = host.openssl.as_ref();
    openssl.map_or("not found", |openssl| openssl.version.as_str())
}
