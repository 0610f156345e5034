// SPDX-License-Identifier: BSD-2-Clause
//! Reads instructions.txt: how each known instruction passes secrets on.

use iced_x86::Mnemonic;
use std::collections::HashMap;

#[derive(Clone, Copy)]
pub struct Entry {
    /// How secrets pass: the number of a rule.
    pub rule: usize,
    /// Bytes; 0 if the operands say it.
    pub element: usize,
    /// A VEX or EVEX form reads its destination.
    pub reads_destination: bool,
    /// Secret operands are reported.
    pub variable: bool,
}

pub struct Table(HashMap<Mnemonic, Entry>);

impl Table {
    /// `number` tells the number of a rule by its name.
    pub fn new(number: fn(&str) -> Option<usize>) -> Table {
        let names: HashMap<String, Mnemonic> = Mnemonic::values()
            .map(|mnemonic| (name(mnemonic), mnemonic))
            .collect();
        let mut entries = HashMap::new();
        let text = include_str!("instructions.txt");
        let lines = text.lines();
        for line in lines.filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let mut words = line.split_whitespace();
            let entry = words.next().and_then(|word| parse(word, number));
            let entry = entry.unwrap_or_else(|| panic!("{line}"));
            for word in words {
                let mnemonic = names.get(word);
                let mnemonic = mnemonic.unwrap_or_else(|| panic!("no mnemonic {word}"));
                let before = entries.insert(*mnemonic, entry);
                assert!(before.is_none(), "instructions.txt has {word} twice");
            }
        }
        Table(entries)
    }

    pub fn get(&self, mnemonic: Mnemonic) -> Option<Entry> {
        self.0.get(&mnemonic).copied()
    }
}

pub fn name(mnemonic: Mnemonic) -> String {
    format!("{mnemonic:?}").to_lowercase()
}

fn parse(word: &str, number: fn(&str) -> Option<usize>) -> Option<Entry> {
    let mut parts = word.split(':');
    let rule = parts.next()?;
    let name = rule.trim_end_matches('+');
    Some(Entry {
        rule: number(name)?,
        element: parts.next()?.parse().ok()?,
        reads_destination: rule != name,
        variable: match parts.next()? {
            "variable" => true,
            "listed" | "moves" => false,
            _ => return None,
        },
    })
}
