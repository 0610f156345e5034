// SPDX-License-Identifier: BSD-2-Clause
//! RustCrypto: the crate aes and those of the modes over it, of the authenticated ones GCM. aes
//! finds out at run time what the processor has, VAES and AVX-512 included. What is compiled is
//! what `cargo build --release` makes without more flags. CFB takes whole blocks. XTS exists in
//! place alone: its calls have a copy in them.

use super::{fetched, locked, single};
use crate::call::whole;
use crate::peer::{Direction, Form, Inputs, Mode, Operation, Peer, Spec, TAG};
use aes::cipher::{
    array::Array,
    consts::{U12, U16},
    BlockCipherDecrypt, BlockCipherEncrypt, BlockModeDecrypt, BlockModeEncrypt, BlockSizeUser,
    InnerIvInit, KeyInit, StreamCipher, StreamCipherCoreWrapper,
};
use aes_gcm::aead::inout::InOutBuf;
use aes_gcm::aead::AeadInOut;
use aes_gcm::AesGcm;

type Block = Array<u8, U16>;

pub fn peer() -> Peer {
    let crates = ["aes", "aes-gcm", "cbc", "ctr", "xts-mode"];
    let version = crates.map(|name| format!("{name} {}", locked(name)));
    let (id, title) = ("rustcrypto", "RustCrypto (XTS with a copy)");
    let origin = fetched::about(id).unwrap_or_default().1;
    let prepare = |spec: Spec, bytes, inputs: &Inputs| {
        Ok(match spec.key_bits {
            128 => prepare::<aes::Aes128>(spec, bytes, inputs),
            192 => prepare::<aes::Aes192>(spec, bytes, inputs),
            256 => prepare::<aes::Aes256>(spec, bytes, inputs),
            _ => None,
        })
    };
    single(id, title, version.join(", "), origin, prepare)
}

fn operation<S: 'static>(
    make: impl Fn() -> S + 'static,
    call: impl Fn(&mut S, &[u8], &mut [u8]) + 'static,
) -> Option<Box<dyn Operation>> {
    Some(crate::call::operation(make, call))
}

/// Both buffers as whole blocks.
fn blocks<'a>(input: &'a [u8], output: &'a mut [u8]) -> (&'a [Block], &'a mut [Block]) {
    (
        Array::slice_as_chunks(input).0,
        Array::slice_as_chunks_mut(output).0,
    )
}

trait Aes:
    BlockCipherEncrypt + BlockCipherDecrypt + BlockSizeUser<BlockSize = U16> + KeyInit + Clone + 'static
{
}
impl Aes for aes::Aes128 {}
impl Aes for aes::Aes192 {}
impl Aes for aes::Aes256 {}

fn prepare<C: Aes>(spec: Spec, bytes: usize, inputs: &Inputs) -> Option<Box<dyn Operation>> {
    let iv: Block = inputs.iv.into();
    let encrypt = spec.direction == Direction::Encrypt;
    if spec.mode == Mode::Xts {
        return xts::<C>(encrypt, inputs);
    }
    if spec.mode == Mode::Gcm {
        return gcm::<C>(spec, bytes, inputs);
    }
    let c = C::new_from_slice(&inputs.key).ok()?;
    let whole = bytes.is_multiple_of(16);
    match (spec.mode, encrypt) {
        (Mode::Ecb, true) => operation(
            move || c.clone(),
            |c, i, o| {
                let (i, o) = blocks(i, o);
                c.encrypt_blocks_b2b(i, o).expect(EQUAL);
            },
        ),
        (Mode::Ecb, false) => operation(
            move || c.clone(),
            |c, i, o| {
                let (i, o) = blocks(i, o);
                c.decrypt_blocks_b2b(i, o).expect(EQUAL);
            },
        ),
        (Mode::Cbc, true) => encrypt_mode(move || cbc::Encryptor::inner_iv_init(c.clone(), &iv)),
        (Mode::Cbc, false) => decrypt_mode(move || cbc::Decryptor::inner_iv_init(c.clone(), &iv)),
        (Mode::Cfb128, true) if whole => {
            encrypt_mode(move || cfb_mode::Encryptor::inner_iv_init(c.clone(), &iv))
        }
        (Mode::Cfb128, false) if whole => {
            decrypt_mode(move || cfb_mode::Decryptor::inner_iv_init(c.clone(), &iv))
        }
        (Mode::Ofb, _) => operation(
            move || StreamCipherCoreWrapper::from_core(ofb::OfbCore::inner_iv_init(c.clone(), &iv)),
            |c, i, o| c.apply_keystream_b2b(i, o),
        ),
        (Mode::Ctr, _) => operation(
            move || ctr::Ctr128BE::from_core(ctr::CtrCore::inner_iv_init(c.clone(), &iv)),
            |c, i, o| c.apply_keystream_b2b(i, o),
        ),
        _ => None,
    }
}

const EQUAL: &str = "the buffers are equally long";

fn encrypt_mode<M: BlockModeEncrypt<BlockSize = U16> + 'static>(
    make: impl Fn() -> M + 'static,
) -> Option<Box<dyn Operation>> {
    operation(make, |mode, input, output| {
        let (input, output) = blocks(input, output);
        mode.encrypt_blocks_b2b(input, output).expect(EQUAL);
    })
}

fn decrypt_mode<M: BlockModeDecrypt<BlockSize = U16> + 'static>(
    make: impl Fn() -> M + 'static,
) -> Option<Box<dyn Operation>> {
    operation(make, |mode, input, output| {
        let (input, output) = blocks(input, output);
        mode.decrypt_blocks_b2b(input, output).expect(EQUAL);
    })
}

fn xts<C: Aes>(encrypt: bool, inputs: &Inputs) -> Option<Box<dyn Operation>> {
    let (data, tweak) = inputs.key.split_at(inputs.key.len() / 2);
    let (data, tweak) = (
        C::new_from_slice(data).ok()?,
        C::new_from_slice(tweak).ok()?,
    );
    let iv: Block = inputs.iv.into();
    let make = move || xts_mode::Xts128::new(data.clone(), tweak.clone());
    if encrypt {
        operation(make, move |xts, input, output| {
            output.copy_from_slice(input);
            xts.encrypt_sector(output, iv);
        })
    } else {
        operation(make, move |xts, input, output| {
            output.copy_from_slice(input);
            xts.decrypt_sector(output, iv);
        })
    }
}

/// A slice has no NULL. With 192 bits it needs another type.
fn gcm<C: Aes>(spec: Spec, bytes: usize, inputs: &Inputs) -> Option<Box<dyn Operation>> {
    let gcm = AesGcm::<C, U12>::new_from_slice(&inputs.key).ok()?;
    let (nonce, aad) = (
        Array::from(*inputs.iv.first_chunk::<12>()?),
        inputs.aad(spec),
    );
    let operation: Box<dyn Operation> = match (spec.form, spec.direction) {
        (Form::NullAad, _) => return None,
        (_, Direction::Encrypt) => whole(move |input, output| {
            let (data, tag) = output[..bytes + TAG].split_at_mut(bytes);
            let both = InOutBuf::new(&input[..bytes], data).expect(EQUAL);
            let made = gcm.encrypt_inout_detached(&nonce, aad.slice(), both);
            tag.copy_from_slice(&made.expect("RustCrypto does not seal"));
        }),
        (_, Direction::Decrypt) => whole(move |input, output| {
            let (data, tag) = input[..bytes + TAG].split_at(bytes);
            let both = InOutBuf::new(data, &mut output[..bytes]).expect(EQUAL);
            let tag = tag.try_into().expect("a tag");
            let done = gcm.decrypt_inout_detached(&nonce, aad.slice(), both, tag);
            done.expect("RustCrypto does not open");
        }),
    };
    Some(operation)
}
