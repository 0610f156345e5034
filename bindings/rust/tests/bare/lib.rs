// SPDX-License-Identifier: BSD-2-Clause
//! A call of each feature of the crate in a library without std.

#![no_std]
use aead::AeadInOut;
use cipher::{KeyInit, KeyIvInit, StreamCipher};
use core::alloc::{GlobalAlloc, Layout};
use digest::Mac;
use tenrounds::{Aes, Aes128Gcm, CmacMessage, Ctr};

struct NoMemory;
unsafe impl GlobalAlloc for NoMemory {
    unsafe fn alloc(&self, _: Layout) -> *mut u8 {
        core::ptr::null_mut()
    }
    unsafe fn dealloc(&self, _: *mut u8, _: Layout) {}
}
#[global_allocator]
static NO_MEMORY: NoMemory = NoMemory;

#[panic_handler]
fn stop(_: &core::panic::PanicInfo) -> ! {
    loop {}
}

#[no_mangle]
pub static SUITES: fn(rustls::crypto::CryptoProvider) -> rustls::crypto::CryptoProvider =
    tenrounds::rustls::provider;

#[no_mangle]
pub extern "C" fn calls(key: &[u8; 16], data: &mut [u8; 64], tag: &mut [u8; 16]) -> bool {
    Ctr::<Aes<16>>::new(key.into(), &[0; 16].into()).apply_keystream(data);
    let mac = <CmacMessage<16> as KeyInit>::new(key.into());
    tag.copy_from_slice(&mac.chain_update(&*data).finalize().into_bytes());
    let key = <Aes128Gcm as KeyInit>::new(key.into());
    let sealed = key.encrypt_inout_detached(&[0; 12].into(), tag, data.as_mut_slice().into());
    sealed.is_ok_and(|sealed| sealed[..] != tag[..])
}
