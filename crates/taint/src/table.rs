// SPDX-License-Identifier: BSD-2-Clause
//! Reads instructions.txt: how each known instruction passes secrets on.

use iced_x86::Mnemonic;
use std::collections::HashMap;

/// How secrets pass through an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    // General-purpose registers
    Copy,
    Sign,
    Swap,
    Exchange,
    Push,
    Pop,
    Leave,
    Address,
    Bits,
    Carry,
    Product,
    Shift,
    Choose,
    /// Every output depends on every input.
    All,
    Nothing,
    String,
    System,
    Call,
    Return,
    Jump,
    // Vector and mask registers
    Scalar,
    Low,
    Half,
    Upper,
    Ternary,
    Elements,
    Blend,
    Pick,
    Counts,
    Lanes,
    Permute,
    Widen,
    Whole,
    Broadcast,
    Insert,
    Extract,
    ToMask,
    FromMask,
    MoveMask,
    KMove,
    KBits,
    KShift,
    KUnpack,
}

const RULES: &[(&str, Rule)] = &[
    ("copy", Rule::Copy),
    ("sign", Rule::Sign),
    ("swap", Rule::Swap),
    ("exchange", Rule::Exchange),
    ("push", Rule::Push),
    ("pop", Rule::Pop),
    ("leave", Rule::Leave),
    ("address", Rule::Address),
    ("bits", Rule::Bits),
    ("carry", Rule::Carry),
    ("product", Rule::Product),
    ("shift", Rule::Shift),
    ("choose", Rule::Choose),
    ("all", Rule::All),
    ("nothing", Rule::Nothing),
    ("string", Rule::String),
    ("system", Rule::System),
    ("call", Rule::Call),
    ("return", Rule::Return),
    ("jump", Rule::Jump),
    ("scalar", Rule::Scalar),
    ("low", Rule::Low),
    ("half", Rule::Half),
    ("upper", Rule::Upper),
    ("ternary", Rule::Ternary),
    ("elements", Rule::Elements),
    ("blend", Rule::Blend),
    ("pick", Rule::Pick),
    ("counts", Rule::Counts),
    ("lanes", Rule::Lanes),
    ("permute", Rule::Permute),
    ("widen", Rule::Widen),
    ("whole", Rule::Whole),
    ("broadcast", Rule::Broadcast),
    ("insert", Rule::Insert),
    ("extract", Rule::Extract),
    ("tomask", Rule::ToMask),
    ("frommask", Rule::FromMask),
    ("movemask", Rule::MoveMask),
    ("kmove", Rule::KMove),
    ("kbits", Rule::KBits),
    ("kshift", Rule::KShift),
    ("kunpack", Rule::KUnpack),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    pub rule: Rule,
    /// Bytes; 0 if the operands say it.
    pub element: usize,
    /// A VEX or EVEX form reads its destination.
    pub reads_destination: bool,
    /// Secret operands are reported.
    pub variable: bool,
}

pub struct Table(HashMap<Mnemonic, Entry>);

impl Table {
    pub fn new() -> Table {
        let names: HashMap<String, Mnemonic> = Mnemonic::values()
            .map(|mnemonic| (name(mnemonic), mnemonic))
            .collect();
        let mut entries = HashMap::new();
        let text = include_str!("instructions.txt");
        for line in text
            .lines()
            .filter(|line| !line.is_empty() && !line.starts_with('#'))
        {
            let mut words = line.split_whitespace();
            let entry = words
                .next()
                .and_then(parse)
                .unwrap_or_else(|| panic!("{line}"));
            for word in words {
                // "sal" and the like are decoded under another name.
                if let Some(mnemonic) = names.get(word) {
                    let before = entries.insert(*mnemonic, entry);
                    assert!(before.is_none(), "instructions.txt has {word} twice");
                } else {
                    panic!("instructions.txt: unknown mnemonic {word}");
                }
            }
        }
        Table(entries)
    }

    pub fn get(&self, mnemonic: Mnemonic) -> Option<Entry> {
        self.0.get(&mnemonic).copied()
    }
}

impl Default for Table {
    fn default() -> Self {
        Table::new()
    }
}

pub fn name(mnemonic: Mnemonic) -> String {
    format!("{mnemonic:?}").to_lowercase()
}

fn parse(word: &str) -> Option<Entry> {
    let mut parts = word.split(':');
    let rule = parts.next()?;
    let (rule, reads_destination) = rule
        .strip_suffix('+')
        .map_or((rule, false), |rule| (rule, true));
    let rule = RULES.iter().find(|(name, _)| *name == rule)?.1;
    let element = parts.next()?.parse().ok()?;
    let variable = match parts.next()? {
        "variable" => true,
        "listed" | "moves" => false,
        _ => return None,
    };
    Some(Entry {
        rule,
        element,
        reads_destination,
        variable,
    })
}
