// SPDX-License-Identifier: BSD-2-Clause
//! Compares the layouts in raw.rs with C.

use crate::raw::*;
use std::collections::BTreeMap;
use std::ffi::{c_char, CStr};
use std::mem::offset_of;
use std::mem::{align_of, size_of};

#[repr(C)]
struct Layout {
    kind: *const c_char,
    what: *const c_char,
    value: usize,
}

extern "C" {
    fn shim_layout(count: *mut usize) -> *const Layout;
}

fn in_c() -> BTreeMap<(String, String), usize> {
    let mut count = 0;
    // SAFETY: the function returns a constant array of so many elements, with constant strings.
    let rows = unsafe {
        let first = shim_layout(&mut count);
        std::slice::from_raw_parts(first, count)
    };
    // SAFETY: as above.
    let text = |p| unsafe { CStr::from_ptr(p) }.to_str().unwrap().to_owned();
    let key = |row: &Layout| (text(row.kind), text(row.what));
    rows.iter().map(|row| (key(row), row.value)).collect()
}

macro_rules! here {
    ($map:ident, $($name:ident: $($field:ident),*;)*) => {$(
        let mut add = |what: &str, value| {
            $map.insert((stringify!($name).to_owned(), what.to_owned()), value);
        };
        add("size", size_of::<$name>());
        add("align", align_of::<$name>());
        $(
            let field = stringify!($field);
            let field = if field == "input" { "in" } else { field };
            add(field, offset_of!($name, $field));
        )*
    )*};
}

#[test]
fn layouts_are_those_of_c() {
    let mut here = BTreeMap::new();
    here!(here,
        tr_aes_key:; tr_gcm_key:; tr_ccm_key:; tr_ocb_key:; tr_siv_key:; tr_gcm_siv_key:;
        tr_xts_key:; tr_cmac_key:; tr_gcm:; tr_cmac:; tr_cipher:;
        tr_cpu: present, usable, xcr0;
        tr_selection: backend, cpu, masked, avoided, failed, bad_mask;
        tr_tuning: name, aes_latency, aes512_per_cycle, separate_clmul, clock_drops;
        tr_stream: key, iv, out, input, len;
        tr_cmac_job: key, data, len, tag, working;
        tr_ccm_job: key, nonce, nonce_len, aad, aad_len, out, input, len, tag, tag_len, status,
            working;
    );
    assert_eq!(here, in_c());
}
