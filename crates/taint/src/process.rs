// SPDX-License-Identifier: BSD-2-Clause
//! The traced program: starts it, runs it to an address or by one instruction, and reads it.

use nix::sys::ptrace;
use nix::sys::signal::Signal;
use nix::sys::wait::{waitpid, WaitStatus};
use nix::unistd::Pid;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::process::Command;

pub type Registers = libc::user_regs_struct;

/// The resume flag: the next instruction does not stop at a breakpoint on itself.
const RF: u64 = 1 << 16;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    Stopped,
    Exited(i32),
    Killed(Signal),
}

/// The program ran instructions that were not followed.
fn got_away(what: &str, at: u64) -> io::Error {
    io::Error::other(format!(
        "the program {what}, at {at:#x}: its run was not followed"
    ))
}

pub struct Process {
    pid: Pid,
    memory: File,
    /// Addresses in debug registers 0 and 1.
    breakpoints: [u64; 2],
    /// Where the mask registers are in the extended state.
    masks_at: usize,
    pub stops: u64,
}

impl Process {
    /// Starts a program, which stops at its first instruction. Its libraries are bound at once, and
    /// its addresses are the same in every run.
    pub fn start(program: &str, arguments: &[String]) -> io::Result<Process> {
        let mut command = Command::new(program);
        command.args(arguments).env("LD_BIND_NOW", "1");
        // SAFETY: both are system calls without memory
        unsafe {
            command.pre_exec(|| {
                libc::personality(libc::ADDR_NO_RANDOMIZE as libc::c_ulong);
                ptrace::traceme().map_err(io::Error::from)
            });
        }
        let child = command.spawn()?;
        let pid = Pid::from_raw(child.id() as i32);
        waitpid(pid, None)?;
        ptrace::setoptions(pid, ptrace::Options::PTRACE_O_EXITKILL)?;
        let memory = File::options()
            .read(true)
            .write(true)
            .open(format!("/proc/{pid}/mem"))?;
        // 0 without AVX-512.
        let masks_at = raw_cpuid::cpuid!(13, 5).ebx as usize;
        Ok(Process {
            pid,
            memory,
            breakpoints: [0; 2],
            masks_at,
            stops: 0,
        })
    }

    pub fn pid(&self) -> i32 {
        self.pid.as_raw()
    }

    pub fn registers(&self) -> io::Result<Registers> {
        Ok(ptrace::getregs(self.pid)?)
    }

    pub fn set_registers(&self, registers: Registers) -> io::Result<()> {
        Ok(ptrace::setregs(self.pid, registers)?)
    }

    /// The write mask registers k0 to k7.
    pub fn masks(&self) -> io::Result<[u64; 8]> {
        const NT_X86_XSTATE: usize = 0x202;
        let mut area = vec![0u8; 16384];
        let mut io = libc::iovec {
            iov_base: area.as_mut_ptr().cast(),
            iov_len: area.len(),
        };
        // SAFETY: the kernel writes at most iov_len bytes
        let result = unsafe {
            libc::ptrace(
                libc::PTRACE_GETREGSET,
                self.pid.as_raw(),
                NT_X86_XSTATE,
                &mut io,
            )
        };
        if result != 0 {
            return Err(io::Error::last_os_error());
        }
        let mut masks = [0; 8];
        for (index, mask) in masks.iter_mut().enumerate() {
            let at = self.masks_at + 8 * index;
            let bytes = area
                .get(at..at + 8)
                .filter(|_| self.masks_at != 0 && at + 8 <= io.iov_len);
            *mask = u64::from_le_bytes(bytes.map_or([0; 8], |b| b.try_into().unwrap_or([0; 8])));
        }
        Ok(masks)
    }

    pub fn read(&self, address: u64, bytes: &mut [u8]) -> io::Result<usize> {
        self.memory.read_at(bytes, address)
    }

    /// Writes memory, also code.
    pub fn write(&self, address: u64, bytes: &[u8]) -> io::Result<()> {
        self.memory.write_all_at(bytes, address)
    }

    /// Runs until a breakpoint that was written into code, or until the end.
    pub fn go_on(&mut self) -> io::Result<Event> {
        self.set_breakpoints(&[])?;
        self.resume()
    }

    /// Runs to one of at most two addresses, past `passes` earlier visits of them. Handlers of
    /// signals run free on the way.
    pub fn run_to(&mut self, targets: &[u64], passes: u64) -> io::Result<Event> {
        self.set_breakpoints(targets)?;
        let mut registers = self.registers()?;
        if targets.contains(&registers.rip) && registers.eflags & RF == 0 {
            registers.eflags |= RF;
            self.set_registers(registers)?;
        }
        let mut hits = 0;
        loop {
            match self.resume()? {
                Event::Stopped => (),
                ended => return Ok(ended),
            }
            let at = self.registers()?.rip;
            if !targets.contains(&at) {
                return Err(got_away("stopped where it should not be", at));
            }
            hits += 1;
            if hits > passes {
                return Ok(Event::Stopped);
            }
        }
    }

    /// Runs to the next breakpoint, and delivers signals on the way.
    fn resume(&mut self) -> io::Result<Event> {
        self.stops += 1;
        let mut signal = None;
        loop {
            ptrace::cont(self.pid, signal.take())?;
            return Ok(match waitpid(self.pid, None)? {
                WaitStatus::Exited(_, status) => Event::Exited(status),
                WaitStatus::Signaled(_, signal, _) => Event::Killed(signal),
                WaitStatus::Stopped(_, next) if next != Signal::SIGTRAP => {
                    signal = Some(next);
                    continue;
                }
                _ => Event::Stopped,
            });
        }
    }

    fn set_breakpoints(&mut self, targets: &[u64]) -> io::Result<()> {
        for (index, target) in targets.iter().enumerate() {
            if self.breakpoints[index] != *target {
                self.debug_register(index, *target)?;
                self.breakpoints[index] = *target;
            }
        }
        // Bits 0 and 2 enable them for execution.
        let enabled = [0, 1, 5][targets.len()];
        self.debug_register(7, enabled)
    }

    fn debug_register(&self, number: usize, value: u64) -> io::Result<()> {
        let at = std::mem::offset_of!(libc::user, u_debugreg) + 8 * number;
        Ok(ptrace::write_user(
            self.pid,
            at as ptrace::AddressType,
            value as i64,
        )?)
    }
}
