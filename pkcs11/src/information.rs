// SPDX-License-Identifier: BSD-2-Clause
//! What C_GetInfo, C_GetSlotInfo, C_GetTokenInfo and C_GetSessionInfo tell.

use crate::module::SLOT;
use crate::object::backend;
use crate::rv::Result;
use crate::session::Session;
use cryptoki_sys::*;

const VERSION_OF_LIBRARY: CK_VERSION = CK_VERSION { major: 0, minor: 1 };
const MANUFACTURER: [CK_UTF8CHAR; 32] = padded("tenrounds");

/// Text in a field of a struct: filled up with blanks.
const fn padded<const N: usize>(text: &str) -> [CK_UTF8CHAR; N] {
    let (mut field, mut i) = ([b' '; N], 0);
    while i < text.len() {
        field[i] = text.as_bytes()[i];
        i += 1;
    }
    field
}

pub fn of_library() -> CK_INFO {
    CK_INFO {
        // With a 3.0 here, the JDK would expect message-based functions.
        cryptokiVersion: CK_VERSION {
            major: 2,
            minor: 40,
        },
        manufacturerID: MANUFACTURER,
        flags: 0,
        libraryDescription: padded("AES at the processor's speed"),
        libraryVersion: VERSION_OF_LIBRARY,
    }
}

pub fn of_slot() -> CK_SLOT_INFO {
    CK_SLOT_INFO {
        slotDescription: padded("tenrounds: session keys, without PIN and files"),
        manufacturerID: MANUFACTURER,
        flags: CKF_TOKEN_PRESENT,
        hardwareVersion: VERSION_OF_LIBRARY,
        firmwareVersion: VERSION_OF_LIBRARY,
    }
}

/// Without CKF_LOGIN_REQUIRED and CKF_USER_PIN_INITIALIZED: nobody logs in.
pub fn of_token() -> Result<CK_TOKEN_INFO> {
    let unknown = CK_UNAVAILABLE_INFORMATION;
    Ok(CK_TOKEN_INFO {
        label: padded("tenrounds"),
        manufacturerID: MANUFACTURER,
        model: padded(backend()?.name()),
        serialNumber: padded("session"),
        flags: CKF_RNG | CKF_TOKEN_INITIALIZED,
        ulMaxSessionCount: CK_EFFECTIVELY_INFINITE,
        ulSessionCount: unknown,
        ulMaxRwSessionCount: CK_EFFECTIVELY_INFINITE,
        ulRwSessionCount: unknown,
        ulMaxPinLen: 0,
        ulMinPinLen: 0,
        ulTotalPublicMemory: unknown,
        ulFreePublicMemory: unknown,
        ulTotalPrivateMemory: unknown,
        ulFreePrivateMemory: unknown,
        hardwareVersion: VERSION_OF_LIBRARY,
        firmwareVersion: VERSION_OF_LIBRARY,
        utcTime: padded(""),
    })
}

pub fn of_session(session: &Session) -> CK_SESSION_INFO {
    let (state, writes) = match session.writes {
        true => (CKS_RW_PUBLIC_SESSION, CKF_RW_SESSION),
        false => (CKS_RO_PUBLIC_SESSION, 0),
    };
    CK_SESSION_INFO {
        slotID: SLOT,
        state,
        flags: CKF_SERIAL_SESSION | writes,
        ulDeviceError: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_fill_their_fields() {
        let text = |field: &[CK_UTF8CHAR]| {
            let text = std::str::from_utf8(field).unwrap();
            (text.trim_end().to_owned(), field.len())
        };
        let ours = ("tenrounds".to_owned(), 32);
        let library = of_library();
        assert_eq!(text(&library.manufacturerID), ours);
        let words = "AES at the processor's speed".to_owned();
        assert_eq!(text(&library.libraryDescription), (words, 32));
        let version = |v: CK_VERSION| (v.major, v.minor);
        assert_eq!(version(library.cryptokiVersion), (2, 40));
        assert_eq!(version(library.libraryVersion), (0, 1));
        assert_eq!({ library.flags }, 0);
        let slot = of_slot();
        assert_eq!(
            (text(&slot.manufacturerID), slot.slotDescription.len()),
            (ours.clone(), 64)
        );
        assert_eq!(
            (version(slot.hardwareVersion), { slot.flags }),
            ((0, 1), CKF_TOKEN_PRESENT)
        );
        let token = of_token().unwrap();
        assert_eq!(text(&token.manufacturerID), ours);
        assert_eq!(text(&token.label), ours);
        let model = backend().unwrap().name().to_owned();
        assert_eq!(
            (text(&token.model), text(&token.serialNumber)),
            ((model, 16), ("session".into(), 16))
        );
        assert_eq!(text(&token.utcTime), (String::new(), 16));
        assert_eq!({ token.flags }, CKF_RNG | CKF_TOKEN_INITIALIZED);
        assert_eq!(({ token.ulMinPinLen }, { token.ulMaxPinLen }), (0, 0));
    }
}
