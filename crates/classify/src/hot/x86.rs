// SPDX-License-Identifier: BSD-2-Clause
//! Instructions of x86-64 and i386 in the terms of this classification.

use super::shape::{Does, Function, Lookup, Place, Step, Value, Write};
use super::Code;
use crate::tally::Kind;
use crate::x86::kind;
use iced_x86::{Decoder, DecoderOptions, Instruction, Mnemonic, OpKind, Register};

/// Decodes a function, or the code around an address from where decoding meets it.
pub fn decode(bits: u32, code: &Code, at: u64) -> Function {
    let from = match code.whole {
        true => 0,
        false => start(bits, code, at),
    };
    let address = code.address.wrapping_add(from as u64);
    let decoder = Decoder::with_ip(bits, &code.bytes[from..], address, DecoderOptions::NONE);
    let steps = decoder.into_iter().map(|it| step(bits, &it)).collect();
    let mut function = Function { steps };
    if !code.whole {
        function.cut(at);
    }
    function
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

#[cfg(test)]
mod tests {
    use super::*;

    const AT: u64 = 0x1000;

    fn bytes(code: &str) -> Vec<u8> {
        let bytes = code.split(' ').map(|byte| u8::from_str_radix(byte, 16));
        bytes.collect::<Result<_, _>>().unwrap()
    }

    /// The only instruction in these bytes.
    fn in_bits(bits: u32, code: &str) -> Step {
        let code = Code {
            machine: crate::Machine::X86_64,
            address: AT,
            bytes: &bytes(code),
            whole: true,
        };
        let steps = decode(bits, &code, AT).steps;
        assert_eq!(steps.len(), 1, "{steps:?}");
        assert_eq!(steps[0].next, AT + code.bytes.len() as u64);
        steps[0]
    }

    fn one(code: &str) -> Step {
        in_bits(64, code)
    }

    #[test]
    fn what_instructions_do() {
        for (code, expected) in [
            ("66 0f 38 00 c1", Does::Shuffle),                      // pshufb
            ("c4 e2 71 00 c2", Does::Shuffle),                      // vpshufb
            ("62 f2 75 48 75 c2", Does::Permute),                   // vpermi2b
            ("62 f2 75 48 7d c2", Does::Permute),                   // vpermt2b
            ("66 0f 71 d0 04", Does::NibbleShift),                  // psrlw xmm0, 4
            ("66 0f 72 d0 04", Does::NibbleShift),                  // psrld xmm0, 4
            ("c5 f9 73 d1 04", Does::NibbleShift),                  // vpsrlq xmm0, xmm1, 4
            ("66 0f 72 d0 05", Does::Other),                        // psrld xmm0, 5
            ("66 0f d2 c4", Does::Other),                           // psrld xmm0, xmm4
            ("66 0f df c1", Does::Logic),                           // pandn
            ("62 f1 75 48 db c2", Does::Logic),                     // vpandd
            ("62 f3 75 48 25 c2 96", Does::Logic),                  // vpternlogd
            ("c5 f0 57 c2", Does::Logic),                           // vxorps
            ("f7 d0", Does::Logic),                                 // not
            ("c4 e2 70 f2 c2", Does::Logic),                        // andn
            ("89 c8", Does::Move),                                  // mov eax, ecx
            ("8b 06", Does::Move),                                  // mov eax, [rsi]
            ("66 0f 6f c1", Does::Move),                            // movdqa
            ("62 f1 fe 48 6f c1", Does::Move),                      // vmovdqu64
            ("c4 e2 73 f6 c2", Does::Arithmetic),                   // mulx
            ("66 0f 38 f6 c1", Does::Arithmetic),                   // adcx
            ("c4 e3 7b f0 c1 05", Does::Arithmetic),                // rorx
            ("62 f1 7d 48 72 c9 07", Does::Arithmetic),             // vprold
            ("c5 f1 fe c2", Does::Arithmetic),                      // vpaddd
            ("66 0f f4 c1", Does::Arithmetic),                      // pmuludq
            ("0f a2", Does::Other),                                 // cpuid
            ("66 0f 38 dc c1", Does::Crypto(Kind::Round, 128)),     // aesenc
            ("c4 e2 75 df c2", Does::Crypto(Kind::LastRound, 256)), // vaesdeclast
            // With an index, a load is no copy; the others do the same as without.
            ("8b 04 0e", Does::Other),            // mov eax, [rsi + rcx]
            ("66 0f 6f 04 0e", Does::Other),      // movdqa xmm0, [rsi + rcx]
            ("66 0f ef 04 0e", Does::Logic),      // pxor xmm0, [rsi + rcx]
            ("66 0f 38 00 04 0e", Does::Shuffle), // pshufb xmm0, [rsi + rcx]
            ("03 04 0e", Does::Arithmetic),       // add eax, [rsi + rcx]
        ] {
            assert_eq!(one(code).does, expected, "{code}");
        }
    }

    #[test]
    fn which_way_and_which_halves() {
        for (code, expected) in [
            ("66 0f 38 dc c1", Some(false)), // aesenc
            ("66 0f 38 dd c1", Some(false)), // aesenclast
            ("66 0f 38 de c1", Some(true)),  // aesdec
            ("66 0f 38 df c1", Some(true)),  // aesdeclast
            ("c4 e2 75 dc c2", Some(false)), // vaesenc
            ("c4 e2 75 dd c2", Some(false)), // vaesenclast
            ("c4 e2 75 de c2", Some(true)),  // vaesdec
            ("c4 e2 75 df c2", Some(true)),  // vaesdeclast
            ("66 0f 38 db c1", None),        // aesimc
        ] {
            assert_eq!((one(code).decrypts, one(code).crosswise), (expected, None));
        }
        for (halves, expected) in [("00", false), ("01", true), ("10", true), ("11", false)] {
            let step = one(&format!("66 0f 3a 44 c1 {halves}")); // pclmulqdq
            assert_eq!((step.crosswise, step.decrypts), (Some(expected), None));
        }
    }

    #[test]
    fn jumps_have_targets_and_calls_have_none() {
        for code in ["e3 fe", "e2 fe", "e0 fe", "eb fe", "75 fe"] {
            // jrcxz, loop, loopne, jmp and jne to themselves.
            assert_eq!(one(code).jump, Some(AT), "{code}");
        }
        // jne and jmp to 0x1000 bytes behind their beginning.
        for code in ["0f 85 fa 0f 00 00", "e9 fb 0f 00 00"] {
            assert_eq!(one(code).jump, Some(AT + 0x1000), "{code}");
        }
        // call, jmp rax, ret.
        for code in ["e8 fb 0f 00 00", "ff e0", "c3"] {
            assert_eq!(one(code).jump, None, "{code}");
        }
        let paddings = ["cc", "f4", "0f 0b", "90", "c3"].map(|code| one(code).padding);
        assert_eq!(paddings, [true, true, true, false, false], "int3, hlt, ud2");
    }

    #[test]
    fn loads_by_an_index_and_places_of_vector_code() {
        let place = |registers, distance| Place {
            registers,
            distance,
            narrow: false,
        };
        // The place and the indices of a lookup, and the place of vector code.
        let found = |step: Step| {
            let lookup = step.lookup.map(|lookup| (lookup.place, lookup.indices));
            (lookup, step.vector)
        };
        // movzx eax, byte [rdi + rax * 8 + 16]: only RDI can be the table.
        let scaled = (place([Some(7), None], 16), [Some(0), Some(7)]);
        assert_eq!(found(one("0f b6 44 c7 10")), (Some(scaled), None));
        // mov eax, [rsi + rcx] and mov [rsi + rcx], eax: either.
        let either = (place([Some(6), Some(1)], 0), [Some(1), Some(6)]);
        for code in ["8b 04 0e", "89 04 0e"] {
            assert_eq!(found(one(code)), (Some(either), None), "{code}");
        }
        // mov eax, [rsi]; lea rax, [rsi + rcx * 2]; mov eax, ecx.
        for code in ["8b 06", "48 8d 04 4e", "89 c8"] {
            assert_eq!(found(one(code)), (None, None), "{code}");
        }
        // lea rax, [rip + 0x100] and movdqa xmm0, [rip + 0x100]: the whole address.
        for (code, length) in [("48 8d 05 00 01 00 00", 7), ("66 0f 6f 05 00 01 00 00", 8)] {
            let address = place([None, None], AT + length + 0x100);
            assert_eq!(found(one(code)), (None, Some(address)), "{code}");
        }
        // pshufb xmm0, [rsi + rcx]
        let vector = place([Some(6), Some(1)], 0);
        assert_eq!(found(one("66 0f 38 00 04 0e")), (None, Some(vector)));
        // With 32 bits: mov eax, [esi + ecx - 16], and [ecx * 4 + 0x8000000], an address alone.
        let narrow = |registers, distance| Place {
            narrow: true,
            ..place(registers, distance)
        };
        let back = (-16i64) as u64;
        let (lookup, _) = found(in_bits(32, "8b 44 0e f0"));
        let low = |(place, indices): (Place, _)| (place.distance as u32, place.narrow, indices);
        let expected = (back as u32, true, [Some(1), Some(6)]);
        assert_eq!(lookup.map(low), Some(expected));
        let (lookup, _) = found(in_bits(32, "8b 04 8d 00 00 00 08"));
        let alone = (narrow([None, None], 0x800_0000), [Some(1), None]);
        assert_eq!(lookup, Some(alone));
        let (_, vector) = found(in_bits(32, "66 0f 6f 06"));
        assert_eq!(vector, Some(narrow([Some(6), None], 0)));
    }

    #[test]
    fn what_general_registers_hold_afterwards() {
        for (code, expected) in [
            ("39 c8", None),                                   // cmp eax, ecx
            ("85 c8", None),                                   // test eax, ecx
            ("0f ba e0 03", None),                             // bt eax, 3
            ("50", None),                                      // push rax
            ("48 98", None),                                   // cdqe
            ("90", None),                                      // nop
            ("89 04 0e", None),                                // mov [rsi + rcx], eax
            ("66 0f 6f c1", None),                             // movdqa xmm0, xmm1
            ("31 c0", Some((0, Value::Other))),                // xor eax, eax
            ("29 c0", Some((0, Value::Other))),                // sub eax, eax
            ("31 c8", Some((0, Value::Same))),                 // xor eax, ecx
            ("29 c8", Some((0, Value::Other))),                // sub eax, ecx
            ("25 ff 00 00 00", Some((0, Value::Bits))),        // and eax, 255
            ("0f b6 c1", Some((0, Value::Bits))),              // movzx eax, cl
            ("44 0f b6 0e", Some((9, Value::Bits))),           // movzx r9d, byte [rsi]
            ("88 c8", Some((0, Value::Bits))),                 // mov al, cl
            ("88 cc", Some((0, Value::Bits))),                 // mov ah, cl
            ("fe c0", Some((0, Value::Other))),                // inc al
            ("00 c8", Some((0, Value::Same))),                 // add al, cl
            ("c1 e8 08", Some((0, Value::Bits))),              // shr eax, 8
            ("c1 e8 07", Some((0, Value::Same))),              // shr eax, 7
            ("d3 e8", Some((0, Value::Same))),                 // shr eax, cl
            ("c1 e0 03", Some((0, Value::Same))),              // shl eax, 3
            ("09 c8", Some((0, Value::Same))),                 // or eax, ecx
            ("c1 c0 05", Some((0, Value::Same))),              // rol eax, 5
            ("01 c8", Some((0, Value::Same))),                 // add eax, ecx
            ("83 c0 04", Some((0, Value::Other))),             // add eax, 4
            ("b8 04 00 00 00", Some((0, Value::Other))),       // mov eax, 4
            ("8b 06", Some((0, Value::Other))),                // mov eax, [rsi]
            ("89 c8", Some((0, Value::Of(1)))),                // mov eax, ecx
            ("4c 89 c8", Some((0, Value::Of(9)))),             // mov rax, r9
            ("48 63 c1", Some((0, Value::Of(1)))),             // movsxd rax, ecx
            ("48 8d 06", Some((0, Value::Of(6)))),             // lea rax, [rsi]
            ("48 8d 04 4e", Some((0, Value::Of(1)))),          // lea rax, [rsi + rcx * 2]
            ("48 8d 05 00 01 00 00", Some((0, Value::Other))), // lea rax, [rip + 0x100]
            ("c4 e2 68 f7 c1", Some((0, Value::Bits))),        // bextr
            ("c4 e2 72 f5 c2", Some((0, Value::Bits))),        // pext
            ("66 0f 3a 14 c0 03", Some((0, Value::Bits))),     // pextrb eax, xmm0, 3
            ("66 0f d7 c0", Some((0, Value::Other))),          // pmovmskb eax, xmm0
        ] {
            let write = one(code).write.map(|write| (write.register, write.value));
            assert_eq!(write, expected, "{code}");
        }
    }

    /// Decoding from the middle of an instruction, in which the bytes of others stand.
    #[test]
    fn decoding_begins_where_it_meets_the_address() {
        let from = |code: &str, at: u64| {
            let code = Code {
                machine: crate::Machine::X86_64,
                address: AT,
                bytes: &bytes(code),
                whole: false,
            };
            start(64, &code, AT + at)
        };
        assert_eq!(from("90 90 90", 2), 0);
        // b8 takes the four bytes behind it, beyond the address.
        assert_eq!(from("90 b8 90 90 90 90", 3), 2);
        // 06 is no instruction with 64 bits: what comes before it is not code, either.
        assert_eq!(from("90 06 90 90", 3), 2);
        assert_eq!(from("06 90", 1), 1);
        // Beyond the bytes, the end of the bytes counts; an instruction that is cut off is invalid.
        assert_eq!(from("90 90", 9), 0);
        assert_eq!(from("b8 90", 9), 1);
        assert_eq!(from("90 90", 0), 0);
    }

    #[test]
    fn only_a_function_of_unknown_bounds_is_cut() {
        let bytes = bytes("90 cc 90 90 cc 90");
        let range = |whole| {
            let code = Code {
                machine: crate::Machine::X86_64,
                address: AT,
                bytes: &bytes,
                whole,
            };
            decode(64, &code, AT + 3).range()
        };
        assert_eq!(range(true), AT..AT + 6);
        assert_eq!(range(false), AT + 2..AT + 4);
    }
}
