// SPDX-License-Identifier: BSD-2-Clause
//! Instructions of x86-64 and i386 in the terms of this classification.

use super::shape::{Does, Function, Lookup, Place, Step, Value, Write};
use super::Code;
use crate::tally::Kind;
use crate::x86::kind;
use iced_x86::{Decoder, DecoderOptions, Instruction, Mnemonic, OpKind, Register};

/// Decodes a function, or the code around an address from where decoding meets it.
pub fn decode(bits: u32, code: &Code, at: u64) -> Function {
    if code.whole {
        return Function {
            steps: steps(bits, code, 0),
        };
    }
    let mut function = Function {
        steps: steps(bits, code, start(bits, code, at)),
    };
    function.cut(at);
    function
}

fn steps(bits: u32, code: &Code, from: usize) -> Vec<Step> {
    let address = code.address.wrapping_add(from as u64);
    let mut decoder = Decoder::with_ip(bits, &code.bytes[from..], address, DecoderOptions::NONE);
    let mut instruction = Instruction::default();
    let mut steps = Vec::new();
    while decoder.can_decode() {
        decoder.decode_out(&mut instruction);
        steps.push(step(bits, &instruction));
    }
    steps
}

/// The first place from which decoding meets the address without an invalid instruction. x86 code
/// synchronises itself after a few instructions, so this is nearly the beginning.
fn start(bits: u32, code: &Code, at: u64) -> usize {
    let wanted = usize::try_from(at.wrapping_sub(code.address)).unwrap_or(0);
    let wanted = wanted.min(code.bytes.len());
    let mut from = 0;
    while from < wanted {
        let address = code.address.wrapping_add(from as u64);
        let mut decoder =
            Decoder::with_ip(bits, &code.bytes[from..], address, DecoderOptions::NONE);
        let mut instruction = Instruction::default();
        let mut invalid = None;
        while decoder.position() + from < wanted && decoder.can_decode() {
            let here = decoder.position();
            decoder.decode_out(&mut instruction);
            if instruction.is_invalid() {
                invalid = Some(here);
            }
        }
        match (invalid, decoder.position() + from == wanted) {
            (None, true) => return from,
            (Some(place), _) => from += place + 1,
            (None, false) => from += 1,
        }
    }
    wanted
}

fn step(bits: u32, instruction: &Instruction) -> Step {
    use Mnemonic as M;
    let mnemonic = instruction.mnemonic();
    let crypto = kind(instruction);
    let is_jump = instruction.is_jcc_short_or_near()
        || instruction.is_jmp_short_or_near()
        || instruction.is_jcx_short()
        || instruction.is_loop()
        || instruction.is_loopcc();
    let memory =
        (0..instruction.op_count()).any(|index| instruction.op_kind(index) == OpKind::Memory);
    let place = memory.then(|| place(bits, instruction));
    let is_vector = (0..instruction.op_count()).any(|index| {
        instruction.op_kind(index) == OpKind::Register
            && instruction.op_register(index).is_vector_register()
    });
    let is_lookup =
        memory && !is_vector && instruction.memory_index() != Register::None && mnemonic != M::Lea;
    let is_reference =
        memory && (is_vector || mnemonic == M::Lea && instruction.memory_index() == Register::None);
    Step {
        address: instruction.ip(),
        next: instruction.next_ip(),
        does: match crypto {
            Some((kind, width)) => Does::Crypto(kind, width),
            None if memory && instruction.memory_index() != Register::None => indexed(instruction),
            None => does(instruction),
        },
        crosswise: matches!(crypto, Some((Kind::Clmul, _)))
            .then(|| matches!(instruction.immediate8(), 0x01 | 0x10)),
        decrypts: match mnemonic {
            M::Aesenc | M::Vaesenc | M::Aesenclast | M::Vaesenclast => Some(false),
            M::Aesdec | M::Vaesdec | M::Aesdeclast | M::Vaesdeclast => Some(true),
            _ => None,
        },
        jump: is_jump.then(|| instruction.near_branch_target()),
        lookup: place.filter(|_| is_lookup).map(|place| Lookup {
            place,
            indices: indices(instruction),
        }),
        write: write(instruction),
        vector: place.filter(|_| is_reference),
        padding: matches!(mnemonic, M::Int3 | M::INVALID | M::Hlt | M::Ud2),
    }
}

fn number(register: Register) -> Option<u8> {
    register
        .is_gpr()
        .then(|| u8::try_from(register.full_register().number()).ok())
        .flatten()
}

/// The index of a load, where its base is the table; and the base, where the index is.
fn indices(instruction: &Instruction) -> [Option<u8>; 2] {
    [instruction.memory_index(), instruction.memory_base()].map(number)
}

/// The general register that an instruction changes, by its first operand.
fn write(instruction: &Instruction) -> Option<Write> {
    use Mnemonic as M;
    let mnemonic = instruction.mnemonic();
    let is_read = matches!(
        mnemonic,
        M::Cmp | M::Test | M::Bt | M::Push | M::Nop | M::Call | M::Jmp | M::Cdqe | M::Cwde
    );
    if is_read || instruction.op_count() == 0 || instruction.op_kind(0) != OpKind::Register {
        return None;
    }
    let register = instruction.op_register(0);
    Some(Write {
        register: number(register)?,
        value: value(instruction, register),
    })
}

fn value(instruction: &Instruction, register: Register) -> Value {
    use Mnemonic as M;
    let of_register = |index| match instruction.op_kind(index) {
        OpKind::Register => number(instruction.op_register(index)),
        _ => None,
    };
    let is_same = instruction.op_count() == 2 && instruction.op1_register() == register;
    let is_counting = matches!(
        instruction.mnemonic(),
        M::Inc | M::Dec | M::Add | M::Sub | M::Adc | M::Sbb
    );
    match instruction.mnemonic() {
        M::Xor | M::Sub if is_same => Value::Other,
        M::Movzx | M::And | M::Bextr | M::Pext | M::Pextrb => Value::Bits,
        // A byte of a register whose others are known to be zero.
        _ if register.size() == 1 && !is_counting => Value::Bits,
        M::Shr if instruction.op_kind(1) != OpKind::Register && instruction.immediate8() >= 8 => {
            Value::Bits
        }
        M::Xor | M::Or | M::Shl | M::Shr | M::Rol | M::Ror => Value::Same,
        M::Add if of_register(1).is_some() => Value::Same,
        M::Mov | M::Movsxd => of_register(1).map_or(Value::Other, Value::Of),
        M::Lea => {
            let index = number(instruction.memory_index());
            let base = number(instruction.memory_base());
            index.or(base).map_or(Value::Other, Value::Of)
        }
        _ => Value::Other,
    }
}

fn place(bits: u32, instruction: &Instruction) -> Place {
    let (base, index) = (instruction.memory_base(), instruction.memory_index());
    // An index that is not scaled may as well be the table.
    let second =
        number(index).filter(|_| instruction.memory_index_scale() == 1 && base != Register::None);
    Place {
        registers: [number(base), second],
        distance: instruction.memory_displacement64(),
        narrow: bits == 32,
    }
}

/// What an instruction with an index does: a load by an index is no mere copy.
fn indexed(instruction: &Instruction) -> Does {
    match does(instruction) {
        Does::Move => Does::Other,
        other => other,
    }
}

fn does(instruction: &Instruction) -> Does {
    use Mnemonic as M;
    match instruction.mnemonic() {
        M::Pshufb | M::Vpshufb => Does::Shuffle,
        M::Vpermi2b | M::Vpermt2b => Does::Permute,
        M::Psrlw | M::Psrld | M::Psrlq | M::Vpsrlw | M::Vpsrld | M::Vpsrlq => {
            let last = instruction.op_count().saturating_sub(1);
            match instruction.op_kind(last) == OpKind::Immediate8 && instruction.immediate8() == 4 {
                true => Does::NibbleShift,
                false => Does::Other,
            }
        }
        M::Pand | M::Pandn | M::Por | M::Pxor | M::Vpand | M::Vpandn | M::Vpor | M::Vpxor => {
            Does::Logic
        }
        M::Vpandd
        | M::Vpandq
        | M::Vpandnd
        | M::Vpandnq
        | M::Vpord
        | M::Vporq
        | M::Vpxord
        | M::Vpxorq => Does::Logic,
        M::Vpternlogd | M::Vpternlogq | M::Andps | M::Andnps | M::Orps | M::Xorps => Does::Logic,
        M::Vandps | M::Vandnps | M::Vorps | M::Vxorps => Does::Logic,
        M::And | M::Or | M::Xor | M::Not | M::Andn => Does::Logic,
        M::Mov | M::Movdqa | M::Movdqu | M::Movaps | M::Movups => Does::Move,
        M::Vmovdqa | M::Vmovdqu | M::Vmovaps | M::Vmovups => Does::Move,
        M::Vmovdqa32 | M::Vmovdqa64 | M::Vmovdqu32 | M::Vmovdqu64 => Does::Move,
        M::Add | M::Adc | M::Sub | M::Sbb | M::Mul | M::Imul | M::Mulx | M::Adcx | M::Adox => {
            Does::Arithmetic
        }
        M::Rol | M::Ror | M::Rorx | M::Vprold | M::Vprolq | M::Vprord | M::Vprorq => {
            Does::Arithmetic
        }
        M::Paddd | M::Paddq | M::Psubd | M::Vpaddd | M::Vpaddq | M::Vpsubd => Does::Arithmetic,
        M::Pmuludq | M::Vpmuludq | M::Mulps | M::Mulpd | M::Vmulps | M::Vmulpd => Does::Arithmetic,
        _ => Does::Other,
    }
}
