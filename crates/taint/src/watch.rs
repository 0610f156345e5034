// SPDX-License-Identifier: BSD-2-Clause
//! Follows the program from the first secret on, and collects what time could show.

use crate::decoded::Decoded;
use crate::process::{Event, Process, Registers};
use crate::request;
use crate::rule::{self, address, execute, Leak, State};
use crate::symbols::{self, Image};
use crate::table::Table;
use crate::walk::Walk;
use iced_x86::{Decoder, DecoderOptions, FlowControl, InstructionInfoFactory, Mnemonic};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;

/// Where a secret shows, and how often.
pub struct Finding {
    pub times: u64,
    pub text: String,
    /// The places that called it, the innermost first, when it was seen first.
    pub callers: Vec<String>,
}

/// The system calls exit and exit_group.
const ENDS: [u64; 2] = [60, 231];
/// Instructions after which the program stops at the latest.
const LONGEST_WALK: u64 = 1 << 20;

pub struct Watch {
    process: Process,
    table: Table,
    factory: InstructionInfoFactory,
    /// Decoded instructions by address.
    pub code: HashMap<u64, Decoded>,
    state: State,
    /// Addresses of client requests.
    sites: HashSet<u64>,
    watching: bool,
    /// The program asked to be left alone so many times.
    paused: u64,
    calls: Vec<u64>,
    pub findings: BTreeMap<(Leak, u64), Finding>,
    pub leaks: u64,
    pub steps: u64,
    trace: u64,
    images: Vec<Image>,
    leaks_now: Vec<Leak>,
}

/// Where a walk goes next.
enum Next {
    At(u64),
    /// The program must stop at one of these.
    Stop(Vec<u64>),
}

fn lost(what: &str, at: u64) -> io::Error {
    io::Error::other(format!("the tracker lost the program at {at:#x}: {what}"))
}

impl Watch {
    pub fn start(program: &str, arguments: &[String]) -> io::Result<Watch> {
        let mut process = Process::start(program, arguments)?;
        let entry = request::entry(process.pid())?;
        process.run_to(&[entry], 0)?;
        let sites = request::plant(&process)?;
        Ok(Watch {
            process,
            table: Table::new(rule::number),
            factory: InstructionInfoFactory::new(),
            code: HashMap::new(),
            state: State::default(),
            sites,
            watching: false,
            paused: 0,
            calls: Vec::new(),
            findings: BTreeMap::new(),
            leaks: 0,
            steps: 0,
            trace: 0,
            images: Vec::new(),
            leaks_now: Vec::new(),
        })
    }

    /// Times that the program was stopped.
    pub fn stops(&self) -> u64 {
        self.process.stops
    }

    /// The program's own file.
    pub fn program(&self) -> io::Result<Image> {
        let images = symbols::images(self.process.pid());
        images
            .into_iter()
            .next()
            .ok_or_else(|| io::Error::other("the program is not mapped"))
    }

    /// Runs the program to its end.
    pub fn run(&mut self) -> io::Result<Event> {
        loop {
            let event = if !self.watching || self.paused > 0 {
                self.run_free()?
            } else {
                self.walk()?
            };
            if event != Event::Stopped {
                return Ok(event);
            }
        }
    }

    /// Runs up to the next client request, and answers it.
    fn run_free(&mut self) -> io::Result<Event> {
        let event = self.process.go_on()?;
        if event == Event::Stopped {
            let mut registers = self.process.registers()?;
            registers.rip -= 1; // the breakpoint's byte
            if !self.sites.contains(&registers.rip) {
                return Err(lost("a breakpoint of its own", registers.rip));
            }
            self.request(registers)?;
        }
        Ok(event)
    }

    /// Answers a client request. The program goes on behind it.
    fn request(&mut self, mut registers: Registers) -> io::Result<()> {
        let mut bytes = [0u8; 48];
        self.process.read(registers.rax, &mut bytes)?;
        let word = |index: usize| {
            bytes[index * 8..][..8]
                .try_into()
                .map_or(0, u64::from_le_bytes)
        };
        let (number, first, second) = (word(0), word(1), word(2));
        match number {
            request::RUNNING => registers.rdx = 1,
            request::COUNT_ERRORS => registers.rdx = self.leaks,
            request::DISABLE_ERRORS => {
                self.paused = self.paused.wrapping_add(first);
                if self.paused == 0 {
                    self.state.registers = Default::default();
                }
            }
            request::MAKE_UNDEFINED => {
                if !self.watching {
                    // The program may have loaded libraries.
                    self.sites.extend(request::plant(&self.process)?);
                }
                self.watching = true;
                self.state.memory.fill(first, second, true);
            }
            request::MAKE_DEFINED => self.state.memory.fill(first, second, false),
            request::TAINT => registers.rdx = 1,
            request::TRACE => {
                registers.rdx = self.trace;
                self.trace = 0;
            }
            _ => (),
        }
        self.state
            .registers
            .write(iced_x86::Register::RDX, 0, false);
        registers.rip += request::LENGTH;
        self.process.set_registers(registers)
    }

    /// Follows instructions as far as their addresses and directions can be computed, and runs the
    /// program up to there.
    fn walk(&mut self) -> io::Result<Event> {
        let registers = self.process.registers()?;
        let mut walk = Walk::new(&registers);
        let mut at = registers.rip;
        if self.sites.contains(&at) {
            self.request(registers)?;
            return Ok(Event::Stopped);
        }
        let mut visits: HashMap<u64, u64> = HashMap::new();
        let mut first = true;
        let begin = self.steps;
        let targets = loop {
            let enough = self.steps - begin >= LONGEST_WALK;
            if !first && (enough || self.sites.contains(&at)) {
                break vec![at];
            }
            let next = self.next(at, &mut walk, first)?;
            match next {
                Next::Stop(targets) => {
                    if targets != [at] {
                        *visits.entry(at).or_default() += u64::from(!first);
                    }
                    break targets;
                }
                Next::At(next) => {
                    *visits.entry(at).or_default() += u64::from(!first);
                    at = next;
                }
            }
            first = false;
        };
        let passes = targets
            .iter()
            .map(|target| visits.get(target).unwrap_or(&0))
            .sum();
        let event = self.process.run_to(&targets, passes)?;
        let is_call = self.code[&registers.rip].instruction.mnemonic() == Mnemonic::Syscall;
        if matches!(event, Event::Exited(_)) && !(is_call && ENDS.contains(&registers.rax)) {
            return Err(lost("it ended without a system call", registers.rip));
        }
        self.compare(&walk, event, registers.rip)?;
        Ok(event)
    }

    /// Compares what was computed since `from` with what the program did.
    fn compare(&self, walk: &Walk, event: Event, from: u64) -> io::Result<()> {
        if event != Event::Stopped {
            return Ok(());
        }
        let now = self.process.registers()?;
        match walk.difference(&now) {
            Some(difference) => {
                let images = symbols::images(self.process.pid());
                let place = |address: u64| symbols::place(&images, address);
                Err(lost(
                    &format!(
                        "{difference}, from {}, {} on",
                        place(from),
                        disassemble(&self.code[&from])
                    ),
                    now.rip,
                ))
            }
            None => Ok(()),
        }
    }

    /// Follows the instruction at this address, if what it needs is known.
    fn next(&mut self, at: u64, walk: &mut Walk, first: bool) -> io::Result<Next> {
        self.decode(at)?;
        let decoded = &self.code[&at];
        let instruction = decoded.instruction;
        let alone = instruction.mnemonic() == Mnemonic::Syscall
            || matches!(
                instruction.flow_control(),
                FlowControl::Interrupt | FlowControl::Exception | FlowControl::XbeginXabortXend
            );
        let needs_masks = decoded.masked() && decoded.accesses_memory();
        if !first && (alone || needs_masks || !walk.knows_addresses(decoded)) {
            return Ok(Next::Stop(vec![at]));
        }
        let indirect = matches!(
            instruction.flow_control(),
            FlowControl::IndirectBranch | FlowControl::IndirectCall | FlowControl::Return
        );
        let target = if indirect {
            walk.target(&self.process, decoded)
        } else {
            None
        };
        if indirect && target.is_none() && !first {
            return Ok(Next::Stop(vec![at]));
        }
        let condition = walk.condition(decoded);
        self.follow(at, walk, first)?;
        let behind = instruction.next_ip();
        Ok(match instruction.flow_control() {
            _ if alone => Next::Stop(vec![behind]),
            FlowControl::Next => Next::At(behind),
            FlowControl::UnconditionalBranch | FlowControl::Call => {
                Next::At(instruction.near_branch_target())
            }
            FlowControl::ConditionalBranch => match condition {
                Some(true) => Next::At(instruction.near_branch_target()),
                Some(false) => Next::At(behind),
                None => Next::Stop(vec![instruction.near_branch_target(), behind]),
            },
            _ => Next::At(target.ok_or_else(|| lost("a target that cannot be read", at))?),
        })
    }

    /// Passes secrets through one instruction, which the program will run.
    fn follow(&mut self, at: u64, walk: &mut Walk, first: bool) -> io::Result<()> {
        let decoded = self.code.get_mut(&at).expect("decoded");
        decoded.runs += 1;
        self.steps += 1;
        let reads_masks = decoded.masked() && decoded.accesses_memory();
        walk.values.masks = if reads_masks && first {
            Some(self.process.masks()?)
        } else {
            None
        };
        self.leaks_now.clear();
        execute(decoded, &mut self.state, &walk.values, &mut self.leaks_now);
        self.trace = mix(self.trace, at);
        for memory in &decoded.memory {
            self.trace = mix(self.trace, address(memory, &walk.values).unwrap_or(0));
        }
        match decoded.instruction.flow_control() {
            FlowControl::ConditionalBranch
            | FlowControl::UnconditionalBranch
            | FlowControl::IndirectBranch => (),
            flow => {
                if flow == FlowControl::Return {
                    if let Some(to) = walk.target(&self.process, decoded) {
                        // A jump out of several functions leaves several.
                        let kept = self.calls.iter().rposition(|call| *call == to);
                        self.calls.truncate(kept.unwrap_or(self.calls.len()));
                    }
                } else if decoded.instruction.mnemonic() == Mnemonic::Call {
                    self.calls.push(decoded.instruction.next_ip());
                }
                walk.advance(&self.process, decoded);
            }
        }
        if decoded.instruction.mnemonic() == Mnemonic::Syscall {
            self.images.clear();
        }
        if !self.leaks_now.is_empty() {
            self.report(at);
        }
        Ok(())
    }

    fn report(&mut self, at: u64) {
        self.leaks += self.leaks_now.len() as u64;
        for leak in std::mem::take(&mut self.leaks_now) {
            if let Some(finding) = self.findings.get_mut(&(leak, at)) {
                finding.times += 1;
                continue;
            }
            if self.images.is_empty() {
                self.images = symbols::images(self.process.pid());
            }
            let place = |address: u64| symbols::place(&self.images, address);
            let text = format!("{}: {}", place(at), disassemble(&self.code[&at]));
            let callers = self
                .calls
                .iter()
                .rev()
                .take(6)
                .map(|call| place(*call))
                .collect();
            self.findings.insert(
                (leak, at),
                Finding {
                    times: 1,
                    text,
                    callers,
                },
            );
        }
    }

    fn decode(&mut self, at: u64) -> io::Result<()> {
        if self.code.contains_key(&at) {
            return Ok(());
        }
        let mut bytes = [0u8; 15];
        let read = self.process.read(at, &mut bytes)?;
        let mut decoder = Decoder::with_ip(64, &bytes[..read], at, DecoderOptions::NONE);
        let instruction = decoder.decode();
        if instruction.is_invalid() {
            return Err(lost("an instruction that the decoder does not know", at));
        }
        self.code.insert(
            at,
            Decoded::new(instruction, &mut self.factory, &self.table),
        );
        Ok(())
    }
}

fn mix(trace: u64, value: u64) -> u64 {
    (trace ^ value)
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
        .rotate_left(29)
}

fn disassemble(decoded: &Decoded) -> String {
    use iced_x86::Formatter;
    let mut text = String::new();
    iced_x86::IntelFormatter::new().format(&decoded.instruction, &mut text);
    text
}
