// SPDX-License-Identifier: BSD-2-Clause
//! Which programs and libraries hold AES code, and what to do about each kind.

use super::super::html::{cell, Html};
use crate::scan::{Entry, Holds, Reach, Scan};
use classify::Class;
use std::collections::BTreeSet;

/// The table has no more rows; the JSON document has all.
const MOST: usize = 60;

pub fn show(html: &mut Html, scan: &Scan) {
    html.section("installed", "What is installed", |html| {
        let with_aes = scan
            .files
            .iter()
            .filter(|entry| entry.holds != Holds::Others);
        let with_aes: Vec<&Entry> = with_aes.collect();
        if with_aes.is_empty() {
            html.line("p", "", "No file with AES code was found.");
        } else {
            html.table(&["File", "Library", "AES code", "Reached"], |table| {
                for entry in with_aes.iter().take(MOST) {
                    table.row([
                        cell(&entry.path),
                        cell(library(entry)),
                        cell(code(entry)),
                        cell(entry.reach.name()),
                    ]);
                }
            });
        }
        if with_aes.len() > MOST {
            html.line(
                "p",
                "note",
                "The JSON has the files that this table leaves out.",
            );
        }
        let kinds: BTreeSet<Reach> = with_aes.iter().map(|entry| entry.reach).collect();
        html.tag("dl", "", |html| {
            for kind in kinds {
                if let Some(advice) = kind.advice() {
                    html.line("dt", "", kind.name());
                    html.line("dd", "", advice);
                }
            }
        });
        notes(html, scan);
    });
}

fn library(entry: &Entry) -> String {
    match &entry.module.library {
        Some(library) => match &library.version {
            Some(version) => format!("{} {version}", library.name),
            None => library.name.to_owned(),
        },
        None => "unknown".to_owned(),
    }
}

fn code(entry: &Entry) -> &'static str {
    match entry.holds {
        Holds::WritesCode => "written at run time",
        Holds::Tables => "tables only (cache-timing!)",
        _ => entry.module.class.map_or("-", Class::name),
    }
}

fn notes(html: &mut Html, scan: &Scan) {
    html.tag("p", "note", |html| {
        html.count(scan.examined);
        html.text(" programs and libraries were examined in ");
        html.seconds(scan.seconds);
        html.text(", first those that run. ");
        if let Some(left) = scan.not_reached.filter(|left| *left > 0) {
            html.count(left);
            html.text(
                " installed files and directories were left out for lack of time: tenrounds scan examines all. ",
            );
        }
        html.text("Code that is present need not run.");
    });
}
