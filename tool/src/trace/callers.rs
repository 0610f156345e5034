// SPDX-License-Identifier: BSD-2-Clause
//! Who called the code of a sample: the chain of calls up to the program itself, by the stack that
//! was copied with the sample.

use super::sampler::Sample;
use super::spots::Place;
use super::target::maps::Mapping;
use super::target::module::Modules;
use classify::frames::{Frame, Frames, Unknown};
use classify::Bounds;
use std::collections::HashMap;

/// The calls that lead to a function, the innermost first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Chain {
    pub calls: Vec<Call>,
    /// Whether the last one is the program's or the first of its thread. Otherwise the stack could
    /// not be followed further.
    pub complete: bool,
}

/// A function that called another one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Call {
    /// Its file.
    pub module: usize,
    pub place: Place,
}

/// A chain is not followed further.
const LONGEST: usize = 32;

/// Finds the file that is mapped at an address, and its mapping.
type Mapped<'m> = dyn FnMut(&mut Modules, u64) -> Option<(usize, Mapping)> + 'm;

/// The frames of all files may take so much memory; further files are not followed.
const MOST_MEMORY: usize = 512 << 20;

/// The frames of files, each read once.
#[derive(Default)]
pub struct Callers {
    frames: HashMap<usize, Option<Frames>>,
    /// The memory that they take.
    size: usize,
}

impl Callers {
    /// The chain of a sample. `program` is the path of the file that the process executes.
    pub fn chain(
        &mut self,
        sample: &Sample,
        modules: &mut Modules,
        program: Option<&str>,
        mapped: &mut Mapped,
    ) -> Chain {
        let mut chain = Chain::default();
        let mut follow = || {
            let copied = sample.stack.as_deref()?;
            let registers = sample.numbered().0;
            let mut frame = Frame::sampled(sample.address, registers.first_chunk()?);
            let base = frame.stack()?;
            let read = |address: u64| word(copied, address.checked_sub(base)?);
            let mut is_within = false;
            for depth in 0..LONGEST {
                let (module, mapping) = mapped(modules, frame.within())?;
                let is_program = program == Some(&mapping.path);
                match (depth, is_program) {
                    (0, _) => is_within = is_program,
                    // Code of the program itself was called by its functions up to here.
                    (_, false) if is_within => return Some(()),
                    _ => {}
                }
                let (place, shift) = place(modules, module, &mapping, &frame)?;
                if depth > 0 {
                    chain.calls.push(Call { module, place });
                }
                if is_program && !is_within {
                    return Some(());
                }
                let frames = self.frames.entry(module).or_insert_with(|| {
                    let bytes = modules.list[module].bytes()?;
                    let frames = Frames::read(&bytes).ok()?;
                    let size = self.size + frames.size();
                    (size <= MOST_MEMORY).then(|| {
                        self.size = size;
                        frames
                    })
                });
                match frames.as_ref()?.caller(&frame, shift, &read) {
                    Ok(Some(caller)) => frame = caller,
                    Ok(None) => return Some(()),
                    Err(Unknown) => return None,
                }
            }
            // All these functions are the program's.
            is_within.then_some(())
        };
        let complete = follow().is_some();
        chain.complete = complete;
        chain
    }
}

/// A word of the stack at an offset.
fn word(stack: &[u8], offset: u64) -> Option<u64> {
    let offset = usize::try_from(offset).ok()?;
    Some(u64::from_le_bytes(*stack.get(offset..)?.first_chunk()?))
}

/// The function of a frame, and how far the file's addresses are moved in the process.
fn place(
    modules: &Modules,
    module: usize,
    mapped: &Mapping,
    frame: &Frame,
) -> Option<(Place, u64)> {
    let program = modules.list[module].program.as_ref().ok()?;
    let address = program.address_of(mapped.offset_of(frame.within()))?;
    let around = program.around(address);
    let known = around.filter(|around| around.bounds != Bounds::Unknown);
    let place = Place {
        address: known.as_ref().map_or(address, |known| known.range.start),
        function: known.and_then(|known| known.name),
    };
    Some((place, frame.within().wrapping_sub(address)))
}
