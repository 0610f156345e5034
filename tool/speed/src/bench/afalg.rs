// SPDX-License-Identifier: BSD-2-Clause
//! The kernel's ciphers through AF_ALG sockets (Documentation/crypto/userspace-if.rst), one long
//! message: the kernel keeps the IV from call to call, as EVP does. A call is a send() of the data,
//! which the kernel copies (crypto/af_alg.c, af_alg_sendmsg), and a recv(), which copies nothing:
//! the cipher writes to the caller's pages (the same file, af_alg_get_rsgl).

use super::calls::{key, Calls, Data, Tag, IV};
use base::ciphers::Cipher;
use catalogue::{Direction, Mode};
use nix::errno::Errno;
use nix::sys::socket::{
    accept, bind, recv, send, sendmsg, setsockopt, socket, sockopt::AlgSetKey, AddressFamily,
    AlgAddr, ControlMessage, MsgFlags, SockFlag, SockType,
};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::slice::{from_raw_parts, from_raw_parts_mut};
use terminal::error::{Error, Result};

/// So much goes in at once: a socket takes 208 KiB (net.core.wmem_default).
pub const CHUNK: usize = 64 << 10;
/// Data follow: the message goes on.
const MORE: MsgFlags = MsgFlags::from_bits_retain(libc::MSG_MORE);

fn why(call: &str, errno: Errno) -> String {
    format!("{call}: {} (errno {})", errno.desc(), errno as i32)
}

fn family() -> std::result::Result<OwnedFd, String> {
    let kind = SockType::SeqPacket;
    socket(AddressFamily::Alg, kind, SockFlag::SOCK_CLOEXEC, None)
        .map_err(|errno| why("socket(AF_ALG)", errno))
}

/// Whether this kernel has AF_ALG, or why not.
pub fn probe() -> std::result::Result<(), String> {
    family().map(drop)
}

/// A socket with a cipher, of the driver that the kernel prefers.
fn bound(cipher: Cipher) -> Result<OwnedFd> {
    let socket = family().map_err(Error::absent)?;
    let algorithm = cipher
        .mode()
        .kernel_stream()
        .ok_or_else(|| Error::absent(format!("AF_ALG: no {} here", cipher.title())))?;
    let absent = |errno| {
        let call = format!("bind(AF_ALG, skcipher, \"{algorithm}\")");
        Error::absent(why(&call, errno))
    };
    bind(socket.as_raw_fd(), &AlgAddr::new("skcipher", algorithm)).map_err(absent)?;
    setsockopt(&socket, AlgSetKey::default(), &key(cipher))
        .map_err(|errno| Error::failure(why("setsockopt(ALG_SET_KEY)", errno)))?;
    Ok(socket)
}

pub struct AfAlg {
    bound: OwnedFd,
    message: OwnedFd,
    has_iv: bool,
    direction: Direction,
}

impl AfAlg {
    pub fn new(cipher: Cipher, direction: Direction) -> Result<AfAlg> {
        let bound = bound(cipher)?;
        let has_iv = cipher.mode() != Mode::Ecb;
        Ok(AfAlg {
            message: start(&bound, direction, has_iv)?,
            bound,
            has_iv,
            direction,
        })
    }

    fn send(&self, data: &[u8]) -> nix::Result<()> {
        let socket = self.message.as_raw_fd();
        wholly(data.len(), |done| send(socket, &data[done..], MORE))
    }

    fn receive(&self, data: &mut [u8]) -> nix::Result<()> {
        let socket = self.message.as_raw_fd();
        wholly(data.len(), |done| {
            recv(socket, &mut data[done..], MsgFlags::empty())
        })
    }
}

/// A new message: the direction and the IV. MSG_MORE: data follow.
fn start(bound: &OwnedFd, direction: Direction, has_iv: bool) -> Result<OwnedFd> {
    let failed = |call| move |errno| Error::failure(why(call, errno));
    let socket = accept(bound.as_raw_fd()).map_err(failed("accept"))?;
    // SAFETY: accept() has just opened this descriptor, and nothing else owns it.
    let socket = unsafe { OwnedFd::from_raw_fd(socket) };
    let operation = match direction {
        Direction::Encrypt => libc::ALG_OP_ENCRYPT,
        Direction::Decrypt => libc::ALG_OP_DECRYPT,
    };
    let mut control = vec![ControlMessage::AlgSetOp(&operation)];
    if has_iv {
        control.push(ControlMessage::AlgSetIv(&IV));
    }
    sendmsg::<()>(socket.as_raw_fd(), &[], &control, MORE, None)
        .map_err(failed("sendmsg with the IV"))?;
    Ok(socket)
}

/// Repeats a call until all bytes went through it.
fn wholly(bytes: usize, mut call: impl FnMut(usize) -> nix::Result<usize>) -> nix::Result<()> {
    let mut done = 0;
    while done < bytes {
        match call(done)? {
            0 => return Err(Errno::EPIPE),
            some => done += some,
        }
    }
    Ok(())
}

impl Calls for AfAlg {
    unsafe fn run(&mut self, calls: u64, data: Data, _tag: &mut Tag) -> Result<()> {
        let failed = |errno| Error::failure(why("AF_ALG", errno));
        for _ in 0..calls {
            for begin in (0..data.len).step_by(CHUNK) {
                let bytes = CHUNK.min(data.len - begin);
                // SAFETY: the caller's.
                let sent = unsafe { from_raw_parts(data.input.add(begin), bytes) };
                self.send(sent).map_err(failed)?;
                // SAFETY: the caller's; nothing reads what was sent any more.
                let received = unsafe { from_raw_parts_mut(data.out.add(begin), bytes) };
                self.receive(received).map_err(failed)?;
            }
        }
        Ok(())
    }

    fn restart(&mut self) -> Result<()> {
        self.message = start(&self.bound, self.direction, self.has_iv)?;
        Ok(())
    }
}
