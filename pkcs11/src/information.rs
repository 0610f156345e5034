// SPDX-License-Identifier: BSD-2-Clause
//! What C_GetInfo, C_GetSlotInfo, C_GetTokenInfo and C_GetSessionInfo tell.

use crate::object::backend;
use crate::rv::Result;
use crate::session::Session;
use crate::slot::Slot;
use crate::stored::{Login, Stored, Summary};
use cryptoki_sys::*;

const VERSION_OF_LIBRARY: CK_VERSION = CK_VERSION { major: 0, minor: 1 };
const MANUFACTURER: &str = "tenrounds";

/// Text in a field of a struct: filled up with blanks. Of longer text the end counts: that is where
/// paths differ.
fn padded<const N: usize>(text: &str) -> [u8; N] {
    let mut field = [b' '; N];
    let mut from = text.len().saturating_sub(N);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    let text = &text.as_bytes()[from..];
    field[..text.len()].copy_from_slice(text);
    field
}

pub fn of_library() -> CK_INFO {
    CK_INFO {
        // With a 3.0 here, the JDK would expect message-based functions.
        cryptokiVersion: CK_VERSION {
            major: 2,
            minor: 40,
        },
        manufacturerID: padded(MANUFACTURER),
        flags: 0,
        libraryDescription: padded("AES at the processor's speed"),
        libraryVersion: VERSION_OF_LIBRARY,
    }
}

pub fn of_slot(slot: &Slot) -> CK_SLOT_INFO {
    let description = match slot.stored() {
        None => "tenrounds: session keys, without PIN and files".to_owned(),
        Some(stored) => format!("tenrounds: {}", stored.file.path().display()),
    };
    CK_SLOT_INFO {
        slotDescription: padded(&description),
        manufacturerID: padded(MANUFACTURER),
        flags: CKF_TOKEN_PRESENT,
        hardwareVersion: VERSION_OF_LIBRARY,
        firmwareVersion: VERSION_OF_LIBRARY,
    }
}

pub fn of_token(slot: &Slot) -> Result<CK_TOKEN_INFO> {
    let (sessions, writing) = slot.sessions();
    let unknown = CK_UNAVAILABLE_INFORMATION;
    let info = CK_TOKEN_INFO {
        label: padded("tenrounds"),
        manufacturerID: padded(MANUFACTURER),
        model: padded(backend()?.name()),
        serialNumber: padded("session"),
        flags: CKF_RNG | CKF_TOKEN_INITIALIZED,
        ulMaxSessionCount: CK_EFFECTIVELY_INFINITE,
        ulSessionCount: sessions as CK_ULONG,
        ulMaxRwSessionCount: CK_EFFECTIVELY_INFINITE,
        ulRwSessionCount: writing as CK_ULONG,
        ulMaxPinLen: 0,
        ulMinPinLen: 0,
        ulTotalPublicMemory: unknown,
        ulFreePublicMemory: unknown,
        ulTotalPrivateMemory: unknown,
        ulFreePrivateMemory: unknown,
        hardwareVersion: VERSION_OF_LIBRARY,
        firmwareVersion: VERSION_OF_LIBRARY,
        utcTime: padded(""),
    };
    match slot.stored() {
        None => Ok(info),
        Some(stored) => with_file(info, slot, stored),
    }
}

fn with_file(info: CK_TOKEN_INFO, slot: &Slot, stored: &Stored) -> Result<CK_TOKEN_INFO> {
    let summary = stored.refresh(&slot.objects)?.summary.clone();
    let (label, serial) = match &summary {
        None => (padded(""), padded("")),
        Some(summary) => (summary.label, summary.serial),
    };
    Ok(CK_TOKEN_INFO {
        label,
        serialNumber: serial,
        flags: CKF_RNG | CKF_LOGIN_REQUIRED | summary.map_or(0, |summary| flags_of(&summary)),
        ulMaxPinLen: *token::PIN_LEN.end() as CK_ULONG,
        ulMinPinLen: *token::PIN_LEN.start() as CK_ULONG,
        ..info
    })
}

fn flags_of(summary: &Summary) -> CK_FLAGS {
    let [officer, user] = summary.wrong_pins;
    let facts = [
        (true, CKF_TOKEN_INITIALIZED),
        (summary.has_pin, CKF_USER_PIN_INITIALIZED),
        (officer > 0, CKF_SO_PIN_COUNT_LOW),
        (user > 0, CKF_USER_PIN_COUNT_LOW),
    ];
    facts
        .iter()
        .filter(|(holds, _)| *holds)
        .map(|(_, flag)| flag)
        .sum()
}

pub fn of_session(session: &Session, slot: &Slot) -> CK_SESSION_INFO {
    let nobody = match session.writes {
        true => CKS_RW_PUBLIC_SESSION,
        false => CKS_RO_PUBLIC_SESSION,
    };
    let state = slot
        .stored()
        .map_or(nobody, |stored| match stored.lock().login {
            Login::Nobody => nobody,
            Login::SecurityOfficer(_) => CKS_RW_SO_FUNCTIONS,
            Login::User(_) if session.writes => CKS_RW_USER_FUNCTIONS,
            Login::User(_) => CKS_RO_USER_FUNCTIONS,
        });
    CK_SESSION_INFO {
        slotID: session.slot as CK_SLOT_ID,
        state,
        flags: CKF_SERIAL_SESSION | if session.writes { CKF_RW_SESSION } else { 0 },
        ulDeviceError: 0,
    }
}
