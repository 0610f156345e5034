// SPDX-License-Identifier: BSD-2-Clause
//! Today's date, for keys that have a first or last day.

/// Today in UTC, as CK_DATE has it: YYYYMMDD.
pub fn today() -> [u8; 8] {
    // SAFETY: the function takes NULL.
    of(unsafe { libc::time(std::ptr::null_mut()) })
}

fn of(seconds: libc::time_t) -> [u8; 8] {
    // SAFETY: the struct is of numbers and a pointer that may be NULL.
    let mut t: libc::tm = unsafe { std::mem::zeroed() };
    // SAFETY: the pointers are valid. On failure t stays zero: a day before every other.
    unsafe { libc::gmtime_r(&seconds, &mut t) };
    let text = format!("{:04}{:02}{:02}", t.tm_year + 1900, t.tm_mon + 1, t.tm_mday);
    text.as_bytes()[..8].try_into().expect("eight digits")
}

#[cfg(test)]
mod tests {
    #[test]
    fn dates_of_seconds() {
        assert_eq!(&super::of(0), b"19700101");
        assert_eq!(&super::of(951_868_799), b"20000229");
        assert_eq!(&super::of(951_868_800), b"20000301");
    }
}
