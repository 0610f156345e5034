// SPDX-License-Identifier: BSD-2-Clause
//! Which basic blocks of the program's functions were followed, by source file.

use crate::decoded::Decoded;
use crate::symbols::{Function, Image};
use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic};
use object::{Object, ObjectSection, ObjectSymbol, SymbolKind};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs;
use std::io;

#[derive(Default)]
pub struct Coverage {
    pub blocks: usize,
    pub followed: usize,
    /// The places of the others.
    pub missed: Vec<String>,
}

/// An object file whose blocks are counted. Only object files tell sources of one name in different
/// folders apart.
struct Source<'l> {
    label: &'l str,
    /// Source, name and size of its functions. The program's symbols name the source without the
    /// folder, and that of global functions not at all.
    functions: HashSet<(String, String, u64)>,
}

impl Source<'_> {
    fn read<'l>((label, path): &'l (String, String)) -> io::Result<Source<'l>> {
        let data = fs::read(path).map_err(|e| io::Error::new(e.kind(), format!("{path}: {e}")))?;
        let elf = object::File::parse(&*data).map_err(io::Error::other)?;
        let (mut file, mut functions) = (String::new(), HashSet::new());
        for symbol in elf.symbols() {
            let name = symbol.name().unwrap_or_default().to_string();
            match symbol.kind() {
                SymbolKind::File => file = name,
                SymbolKind::Text if symbol.is_definition() => {
                    let file = if symbol.is_local() { &*file } else { "" };
                    functions.insert((file.to_owned(), name, symbol.size()));
                }
                _ => (),
            }
        }
        Ok(Source { label, functions })
    }

    fn has(&self, function: &Function) -> bool {
        let (source, name) = (function.source.clone(), function.name.clone());
        self.functions.contains(&(source, name, function.size))
    }
}

/// The coverage of each object file among `sources`.
pub fn coverage(
    image: &Image,
    sources: &[(String, String)],
    code: &HashMap<u64, Decoded>,
) -> io::Result<BTreeMap<String, Coverage>> {
    if sources.is_empty() {
        return Ok(BTreeMap::new());
    }
    let sources: Vec<Source> = sources.iter().map(Source::read).collect::<Result<_, _>>()?;
    let data = fs::read(&image.path)?;
    let elf = object::File::parse(&*data).map_err(io::Error::other)?;
    let mut all: BTreeMap<String, Coverage> = BTreeMap::new();
    let mut last = u64::MAX;
    for function in &image.functions {
        let Some(source) = sources.iter().find(|source| source.has(function)) else {
            continue;
        };
        // An alias begins at the same address.
        if function.start == last {
            continue;
        }
        last = function.start;
        let at = function.start - image.bias;
        let bytes = elf
            .sections()
            .find_map(|section| section.data_range(at, function.size).ok().flatten())
            .ok_or_else(|| io::Error::other(format!("{} has no code", function.name)))?;
        let coverage = all.entry(source.label.to_owned()).or_default();
        for block in blocks(function, bytes) {
            coverage.blocks += 1;
            if code.get(&block).is_some_and(|decoded| decoded.runs > 0) {
                coverage.followed += 1;
            } else {
                coverage
                    .missed
                    .push(format!("{}+{:#x}", function.name, block - function.start));
            }
        }
    }
    Ok(all)
}

/// The addresses of basic blocks, without those that only fill space.
fn blocks(function: &Function, bytes: &[u8]) -> Vec<u64> {
    let decoder = Decoder::with_ip(64, bytes, function.start, DecoderOptions::NONE);
    let instructions: Vec<Instruction> = decoder.into_iter().collect();
    let mut leaders = BTreeSet::from([function.start]);
    for instruction in &instructions {
        let flow = instruction.flow_control();
        let branch = matches!(
            flow,
            FlowControl::ConditionalBranch | FlowControl::UnconditionalBranch
        );
        if branch {
            leaders.insert(instruction.near_branch_target());
        }
        if !matches!(
            flow,
            FlowControl::Next | FlowControl::Call | FlowControl::IndirectCall
        ) {
            leaders.insert(instruction.next_ip());
        }
    }
    let fills = |instruction: &Instruction| {
        matches!(
            instruction.mnemonic(),
            Mnemonic::Nop | Mnemonic::Ud2 | Mnemonic::Int3
        )
    };
    let mut found = Vec::new();
    let mut open = None;
    for instruction in &instructions {
        if leaders.contains(&instruction.ip()) {
            open = Some(instruction.ip());
        }
        // A block counts from its first instruction that does something.
        if let (Some(leader), false) = (open, fills(instruction)) {
            found.push(leader);
            open = None;
        }
    }
    found
}
