// SPDX-License-Identifier: BSD-2-Clause
//! A token: its file, read and changed under the rules of the other modules.

use crate::error::{Error, Result};
use crate::file::{self, Identity, Lock};
use crate::format::{Contents, Nonce, Role, Wrapped, LABEL_LEN, SERIAL_LEN};
use crate::pin::{self, random, MasterKey, COSTS};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tenrounds_sys::Backend;

/// A token by its file, which may not exist yet. Any number of threads and processes may use one.
pub struct Token {
    path: PathBuf,
    backend: Backend,
}

/// How long a login waits after so many wrong PINs in a row. This holds up who guesses through this
/// module; who copied the file is held up by Argon2id alone.
pub fn wait_after(wrong_pins: u32) -> Duration {
    match wrong_pins {
        0..=2 => Duration::ZERO,
        n => Duration::from_secs((1 << (n - 3).min(5)).min(30)),
    }
}

/// Waits before a PIN of a token is checked. Tests note the time instead.
#[cfg(not(test))]
fn wait(_token: &Path, time: Duration) {
    std::thread::sleep(time);
}
#[cfg(test)]
use tests::wait;

impl Token {
    pub fn new(path: PathBuf, backend: Backend) -> Token {
        Token { path, backend }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The version of the file that is there now. None: there is no token yet.
    pub fn identity(&self) -> Result<Option<Identity>> {
        file::identity(&self.path)
    }

    /// Reads the file. None: there is no token yet.
    pub fn read(&self) -> Result<Option<(Identity, Contents)>> {
        file::read(&self.path)
    }

    fn existing(&self) -> Result<Contents> {
        let read = self.read()?;
        let (_, contents) = read.ok_or_else(|| Error::Missing(self.path.clone()))?;
        Ok(contents)
    }

    /// Makes a token where there is none, without objects. The user may get a PIN later.
    pub fn create(
        &self,
        label: &[u8; LABEL_LEN],
        officer: &[u8],
        user: Option<&[u8]>,
    ) -> Result<()> {
        self.make(None, label, officer, user)
    }

    /// Makes the existing token anew. The PIN has to be its security officer's. Its objects are
    /// lost.
    pub fn recreate(
        &self,
        label: &[u8; LABEL_LEN],
        officer: &[u8],
        user: Option<&[u8]>,
    ) -> Result<()> {
        pin::check_len(officer)?;
        let serial = self.existing()?.serial;
        self.login(Role::SecurityOfficer, officer)?;
        self.make(Some(serial), label, officer, user)
    }

    /// Writes a new token in the place of the one with this serial number.
    fn make(
        &self,
        before: Option<[u8; SERIAL_LEN]>,
        label: &[u8; LABEL_LEN],
        officer: &[u8],
        user: Option<&[u8]>,
    ) -> Result<()> {
        let master = MasterKey::generate(self.backend)?;
        let serial = hexadecimal(random()?);
        let wrap = |pin, role| master.wrap(pin, &serial, role, COSTS, self.backend);
        let mut contents = Contents {
            label: *label,
            serial,
            costs: COSTS,
            wrong_pins: [0; 2],
            security_officer: wrap(officer, Role::SecurityOfficer)?,
            user: user.map(|pin| wrap(pin, Role::User)).transpose()?,
            next_id: 1,
            written: 1,
            records: Vec::new(),
            seal: Default::default(),
        };
        contents.seal = master.sign(&contents)?;
        file::make_folder(&self.path)?;
        let lock = file::lock(&self.path)?;
        let now = self.read()?.map(|(_, contents)| contents.serial);
        if now != before {
            return Err(Error::Changed(self.path.clone()));
        }
        file::replace(&lock, &self.path, &contents)?;
        Ok(())
    }

    /// Checks a PIN, which takes some 60 ms, and more after wrong ones. Returns the master key. One
    /// caller at a time checks a PIN of the token, so that each waits for all wrong PINs before its
    /// own.
    pub fn login(&self, role: Role, pin: &[u8]) -> Result<MasterKey> {
        self.existing()?;
        let _lock = file::lock_for_login(&self.path)?;
        let contents = self.existing()?;
        if contents.wrapped(role).is_none() {
            return Err(Error::NoPin);
        }
        wait(&self.path, wait_after(contents.wrong_pins[role as usize]));
        let master = match pin::check_len(pin) {
            Ok(()) => MasterKey::unwrap(&contents, role, pin, self.backend)?,
            Err(_) => None,
        };
        match master {
            Some(master) => {
                self.verify(&contents, &master)?;
                if contents.wrong_pins[role as usize] != 0 {
                    self.count_wrong_pins(role, |_| 0)?;
                }
                Ok(master)
            }
            None => {
                let count = self.count_wrong_pins(role, |count| count.saturating_add(1))?;
                Err(Error::WrongPin(count))
            }
        }
    }

    fn count_wrong_pins(&self, role: Role, next: impl FnOnce(u32) -> u32) -> Result<u32> {
        let lock = file::lock(&self.path)?;
        let mut contents = self.existing()?;
        let count = &mut contents.wrong_pins[role as usize];
        *count = next(*count);
        let count = *count;
        file::replace(&lock, &self.path, &contents)?;
        Ok(count)
    }

    /// Whether the file is what the last holder of the master key has written. One of another token
    /// is not.
    pub fn verify(&self, contents: &Contents, master: &MasterKey) -> Result<()> {
        match master.verify(contents)? {
            true => Ok(()),
            false => Err(Error::Damaged(
                self.path.clone(),
                "its seal is wrong, so somebody without a PIN changed it".to_owned(),
            )),
        }
    }

    /// Changes the token: reads the file, lets the caller change it, and replaces it, while no
    /// other process can. If the caller fails, nothing changes.
    pub fn change<T>(
        &self,
        master: &MasterKey,
        change: impl FnOnce(&mut Contents) -> Result<T>,
    ) -> Result<(T, Identity, Contents)> {
        let lock = file::lock(&self.path)?;
        let mut contents = self.existing()?;
        self.verify(&contents, master)?;
        let value = change(&mut contents)?;
        let identity = self.write(&lock, master, &mut contents)?;
        Ok((value, identity, contents))
    }

    fn write(&self, lock: &Lock, master: &MasterKey, contents: &mut Contents) -> Result<Identity> {
        contents.written += 1;
        contents.seal = master.sign(contents)?;
        file::replace(lock, &self.path, contents)
    }

    /// Gives a role a new PIN.
    pub fn set_pin(&self, master: &MasterKey, role: Role, pin: &[u8]) -> Result<()> {
        let Contents { serial, costs, .. } = self.existing()?;
        // It takes long, so it is done before the lock is held.
        let wrapped = master.wrap(pin, &serial, role, costs, self.backend)?;
        self.change(master, |contents| {
            contents.wrong_pins[role as usize] = 0;
            place_of(contents, role, wrapped);
            Ok(())
        })?;
        Ok(())
    }

    /// Adds an object, and returns its number.
    pub fn add(
        &self,
        master: &MasterKey,
        is_private: bool,
        attributes: &[u8],
    ) -> Result<(u64, Identity, Contents)> {
        self.change(master, |contents| {
            let id = contents.next_id;
            contents.next_id += 1;
            let record = master.seal(&contents.serial, id, is_private, attributes)?;
            contents.records.push(record);
            Ok(id)
        })
    }

    /// Gives an object other attributes, if it is still the version with this nonce. Returns
    /// whether it was.
    pub fn replace(
        &self,
        master: &MasterKey,
        (id, version): (u64, Nonce),
        is_private: bool,
        attributes: &[u8],
    ) -> Result<(bool, Identity, Contents)> {
        self.change(master, |contents| {
            let serial = contents.serial;
            let found = contents.find(id).map(|at| &mut contents.records[at]);
            let Some(record) = found.filter(|record| record.nonce == version) else {
                return Ok(false);
            };
            *record = master.seal(&serial, id, is_private, attributes)?;
            Ok(true)
        })
    }

    /// Removes an object. Returns whether it was there.
    pub fn remove(&self, master: &MasterKey, id: u64) -> Result<(bool, Identity, Contents)> {
        self.change(master, |contents| {
            let found = contents.find(id);
            found.map(|at| contents.records.remove(at));
            Ok(found.is_some())
        })
    }
}

fn place_of(contents: &mut Contents, role: Role, wrapped: Wrapped) {
    match role {
        Role::SecurityOfficer => contents.security_officer = wrapped,
        Role::User => contents.user = Some(wrapped),
    }
}

fn hexadecimal(number: [u8; 8]) -> [u8; 16] {
    let text = format!("{:016x}", u64::from_be_bytes(number));
    text.into_bytes().try_into().expect("sixteen digits")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::killed;
    use std::os::unix::fs::PermissionsExt;
    use std::sync::atomic::Ordering;
    use std::sync::Mutex;

    /// What logins have waited, by token.
    static WAITS: Mutex<Vec<(PathBuf, Duration)>> = Mutex::new(Vec::new());

    pub fn wait(token: &Path, time: Duration) {
        if killed::AFTER.load(Ordering::Relaxed) >= 0 {
            return; // in a child, where the lock may be held for ever
        }
        WAITS.lock().unwrap().push((token.to_owned(), time));
    }

    /// A folder of a test, removed at its end.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Folder {
            let name = format!("tenrounds-token-{}-{name}", std::process::id());
            let path = std::env::temp_dir().join(name);
            std::fs::create_dir(&path).unwrap();
            Folder(path)
        }

        fn token(&self) -> Token {
            let backend = tenrounds_sys::select(None, 0).backend.unwrap();
            Token::new(self.0.join("deep/token"), backend)
        }

        /// A token with both PINs, and the user's master key.
        fn initialized(&self) -> (Token, MasterKey) {
            let token = self.token();
            token.create(&LABEL, b"officer", Some(b"1234")).unwrap();
            let user = token.login(Role::User, b"1234").unwrap();
            (token, user)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    const LABEL: [u8; LABEL_LEN] = [b'l'; LABEL_LEN];

    fn contents(token: &Token) -> Contents {
        token.read().unwrap().unwrap().1
    }

    /// The attributes of all objects, opened.
    fn opened(token: &Token, master: &MasterKey) -> Vec<(u64, Vec<u8>)> {
        let contents = contents(token);
        token.verify(&contents, master).unwrap();
        let of = |record: &crate::Record| match record.is_private {
            true => master.open(&contents.serial, record).unwrap().to_vec(),
            false => record.attributes.clone(),
        };
        contents.records.iter().map(|r| (r.id, of(r))).collect()
    }

    #[test]
    fn objects_come_and_go() {
        let folder = Folder::new("objects");
        let (token, user) = folder.initialized();
        assert_eq!(token.add(&user, true, b"first").unwrap().0, 1);
        assert_eq!(token.add(&user, false, b"second").unwrap().0, 2);
        let expected = [(1, b"first".to_vec()), (2, b"second".to_vec())];
        assert_eq!(opened(&token, &user), expected);
        let bytes = std::fs::read(token.path()).unwrap();
        let shows = |text: &[u8]| bytes.windows(text.len()).any(|w| w == text);
        assert!(!shows(b"first") && shows(b"second"));

        let version = contents(&token).records[0].nonce;
        let replaced = token.replace(&user, (1, version), true, b"third");
        assert!(replaced.unwrap().0);
        // Somebody else was faster.
        let replaced = token.replace(&user, (1, version), true, b"fourth");
        assert!(!replaced.unwrap().0);
        assert_eq!(opened(&token, &user)[0].1, b"third");

        assert!(token.remove(&user, 1).unwrap().0);
        assert!(!token.remove(&user, 1).unwrap().0);
        assert_eq!(token.add(&user, true, b"").unwrap().0, 3); // no number comes back
    }

    #[test]
    fn pins() {
        let folder = Folder::new("pins");
        let token = folder.token();
        let missing = token.login(Role::User, b"1234");
        assert!(matches!(missing, Err(Error::Missing(_))));
        assert!(matches!(
            token.create(&LABEL, b"123", None),
            Err(Error::PinLength(3))
        ));
        token.create(&LABEL, b"officer", None).unwrap();
        assert!(matches!(
            token.login(Role::User, b"1234"),
            Err(Error::NoPin)
        ));
        let wrong = |role, pin: &[u8]| match token.login(role, pin) {
            Err(Error::WrongPin(count)) => count,
            _ => 0,
        };
        assert_eq!(wrong(Role::SecurityOfficer, b"officeR"), 1);
        assert_eq!(wrong(Role::SecurityOfficer, b""), 2);
        let officer = token.login(Role::SecurityOfficer, b"officer").unwrap();
        assert_eq!(wrong(Role::SecurityOfficer, b"1234"), 1); // counted from the beginning
        token.set_pin(&officer, Role::User, b"1234").unwrap();
        assert_eq!(wrong(Role::User, b"officer"), 1);

        // A new PIN, and the objects are still there.
        let user = token.login(Role::User, b"1234").unwrap();
        token.add(&user, true, b"kept").unwrap();
        token
            .set_pin(&user, Role::User, "p\u{e4}ss".as_bytes())
            .unwrap();
        assert_eq!(wrong(Role::User, b"1234"), 1);
        let user = token.login(Role::User, "p\u{e4}ss".as_bytes()).unwrap();
        assert_eq!(opened(&token, &user)[0].1, b"kept");

        // Again from the beginning, by the security officer alone.
        assert!(matches!(
            token.create(&LABEL, b"officer", None),
            Err(Error::Changed(_))
        ));
        assert!(matches!(
            token.recreate(&LABEL, b"not this", None),
            Err(Error::WrongPin(2))
        ));
        assert_eq!(contents(&token).records.len(), 1);
        token.recreate(&LABEL, b"officer", None).unwrap();
        assert!(contents(&token).records.is_empty() && contents(&token).user.is_none());
        // The old master key is of no use.
        assert!(matches!(
            token.add(&user, true, b"x"),
            Err(Error::Damaged(..))
        ));
    }

    #[test]
    fn waits_grow_to_half_a_minute() {
        let seconds: Vec<u64> = (0..10).map(|n| wait_after(n).as_secs()).collect();
        assert_eq!(seconds, [0, 0, 0, 1, 2, 4, 8, 16, 30, 30]);
        assert_eq!(wait_after(u32::MAX).as_secs(), 30);
    }

    /// Runs something in eight threads at the same time.
    fn at_once<T: Send>(run: impl Fn(u8) -> T + Sync) -> Vec<T> {
        let barrier = std::sync::Barrier::new(8);
        let thread = |i| {
            barrier.wait();
            run(i)
        };
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8).map(|i| scope.spawn(move || thread(i))).collect();
            threads.into_iter().map(|t| t.join().unwrap()).collect()
        })
    }

    #[test]
    fn of_tokens_made_at_the_same_time_one_stays() {
        let folder = Folder::new("made");
        let pin = |i: u8| [b'0' + i; 4];
        let made = at_once(|i| folder.token().create(&LABEL, &pin(i), None));
        let winners: Vec<u8> = (0..8).filter(|i| made[usize::from(*i)].is_ok()).collect();
        assert_eq!(winners.len(), 1, "{winners:?}");
        let officer = Role::SecurityOfficer;
        assert!(folder.token().login(officer, &pin(winners[0])).is_ok());
        let others = made.into_iter().filter_map(Result::err);
        assert!(others.into_iter().all(|e| matches!(e, Error::Changed(_))));

        // The same with a token that is made anew: the others knew the one before.
        let token = folder.token();
        let made = at_once(|_| token.recreate(&LABEL, &pin(winners[0]), None));
        assert!(made.iter().any(Result::is_ok));
        assert!(made
            .iter()
            .all(|made| matches!(made, Ok(()) | Err(Error::Changed(_)))));
    }

    #[test]
    fn each_guess_waits_for_all_before_it() {
        let folder = Folder::new("guesses");
        let (token, _) = folder.initialized();
        let guesses = at_once(|i| token.login(Role::User, &[b'a' + i; 4]));
        assert!(guesses.iter().all(|g| matches!(g, Err(Error::WrongPin(_)))));
        let waits = WAITS.lock().unwrap().clone();
        let of_this = waits.iter().filter(|(path, _)| path == token.path());
        let seconds: Vec<u64> = of_this.map(|(_, time)| time.as_secs()).collect();
        assert_eq!(seconds, [0, 0, 0, 0, 1, 2, 4, 8, 16]); // the first logged in
    }

    #[test]
    fn a_folder_that_others_could_change_is_not_used() {
        let folder = Folder::new("folder");
        let (token, user) = folder.initialized();
        let deep = token.path().parent().unwrap();
        let mode = |mode| {
            std::fs::set_permissions(deep, std::fs::Permissions::from_mode(mode)).unwrap();
        };
        for bad in [0o777, 0o770, 0o702] {
            mode(bad);
            let error = token.add(&user, true, b"x").unwrap_err().to_string();
            assert!(error.contains(&format!("deep has mode {bad:o}")), "{error}");
        }
        for good in [0o700, 0o755, 0o1777] {
            mode(good);
            token.add(&user, true, b"x").unwrap();
        }
        // Nobody makes a token there, either.
        mode(0o777);
        std::fs::remove_file(token.path()).unwrap();
        let refused = token.create(&LABEL, b"officer", None);
        assert!(matches!(refused, Err(Error::Exposed(..))));
        mode(0o700);
        // SAFETY: the function has no arguments and cannot fail.
        if unsafe { libc::geteuid() } != 0 {
            return;
        }
        match std::os::unix::fs::chown(deep, Some(12345), None) {
            // The machine of tests/arm has one user.
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
                let line = b"# SKIP this user namespace has no user 12345\n";
                std::io::Write::write_all(&mut std::io::stderr(), line).unwrap();
            }
            done => {
                done.unwrap();
                let error = token.read().unwrap_err().to_string();
                assert!(error.contains("deep belongs to user 12345"), "{error}");
            }
        }
    }

    #[test]
    fn only_a_regular_file_is_read() {
        let folder = Folder::new("regular");
        let (token, user) = folder.initialized();
        let elsewhere = folder.0.join("elsewhere");
        std::fs::rename(token.path(), &elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, token.path()).unwrap();
        let error = token.add(&user, true, b"x").unwrap_err().to_string();
        assert!(error.contains("symbolic link"), "{error}");
        std::fs::remove_file(token.path()).unwrap();
        let name = std::ffi::CString::new(token.path().to_str().unwrap()).unwrap();
        // SAFETY: the name is a string.
        assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
        let error = token.read().unwrap_err().to_string();
        assert!(error.contains("not a regular file"), "{error}");
    }

    #[test]
    fn a_file_that_others_could_use_is_not_used() {
        let folder = Folder::new("exposed");
        let (token, user) = folder.initialized();
        let mode = |mode| {
            let permissions = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(token.path(), permissions).unwrap();
        };
        for bad in [0o604, 0o640, 0o620, 0o601] {
            mode(bad);
            let error = token.add(&user, true, b"x").unwrap_err().to_string();
            assert!(error.contains(&format!("its mode is {bad:o}")), "{error}");
        }
        mode(0o600);
        token.add(&user, true, b"x").unwrap();
        let made = std::fs::metadata(token.path().parent().unwrap()).unwrap();
        assert_eq!(made.permissions().mode() & 0o777, 0o700);
    }

    #[test]
    fn records_cannot_be_exchanged_without_a_pin() {
        let folder = Folder::new("exchanged");
        let (token, user) = folder.initialized();
        token.add(&user, true, b"one").unwrap();
        token.add(&user, false, b"two").unwrap();
        let right = contents(&token);
        let spoiled: [fn(&mut Contents); 5] = [
            |c| c.records.truncate(1),
            |c| c.records[0].id = 0,
            |c| c.records[1].attributes[0] ^= 1,
            |c| c.label[0] ^= 1,
            |c| c.user = Some(c.security_officer),
        ];
        for (i, spoil) in spoiled.iter().enumerate() {
            let mut contents = right.clone();
            spoil(&mut contents);
            std::fs::write(token.path(), contents.encode().unwrap()).unwrap();
            let refused = token.add(&user, true, b"x");
            assert!(matches!(refused, Err(Error::Damaged(..))), "{i}");
        }
        // A record under another number does not open, even for who skips the seal.
        let mut moved = right.records[0].clone();
        moved.id = 2;
        assert!(user.open(&right.serial, &moved).is_none());
        assert!(user.open(&right.serial, &right.records[0]).is_some());
    }

    /// Runs something in a child, which is killed at a step of the write. Returns whether it was.
    fn killed_at(step: i32, run: impl FnOnce() -> bool) -> bool {
        // SAFETY: the child uses only what this thread has, and no lock is held.
        match unsafe { libc::fork() } {
            0 => {
                killed::AFTER.store(step, Ordering::Relaxed);
                // SAFETY: the child ends here.
                unsafe { libc::_exit(if run() { 0 } else { 1 }) }
            }
            child => {
                let mut status = 0;
                // SAFETY: the pointer is valid.
                assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
                assert!(libc::WIFSIGNALED(status) || libc::WEXITSTATUS(status) == 0);
                libc::WIFSIGNALED(status)
            }
        }
    }

    /// Kills a child at each step of what it runs. Before that, `prepare` makes the token as it
    /// was; afterwards, `happened` looks whether the change is there, and panics if half of it is.
    /// If the call has returned, the change has to be there.
    fn killed_at_each_step(
        what: &str,
        mut prepare: impl FnMut(),
        run: impl Fn() -> bool,
        happened: impl Fn() -> bool,
    ) {
        let mut seen = [0; 2]; // by whether the change was there
        loop {
            prepare();
            let steps = seen[0] + seen[1];
            let killed = killed_at(steps, &run);
            let there = happened();
            seen[usize::from(there)] += 1;
            if !killed {
                assert!(there, "{what}: acknowledged and lost");
                break;
            }
        }
        // Before the rename and after it.
        assert!(seen[0] >= 5 && seen[1] >= 3, "{what}: {seen:?}");
    }

    /// Gives the token PINs whose check costs little.
    fn cheapen(token: &Token, master: &MasterKey) {
        let mut contents = contents(token);
        let (memory, passes, lanes) = (8, 1, 1);
        contents.costs = crate::format::Costs {
            memory,
            passes,
            lanes,
        };
        let wrap = |pin, role| {
            let (serial, costs) = (&contents.serial, contents.costs);
            master
                .wrap(pin, serial, role, costs, token.backend)
                .unwrap()
        };
        contents.security_officer = wrap(b"officer", Role::SecurityOfficer);
        contents.user = Some(wrap(b"1234", Role::User));
        contents.wrong_pins = [0; 2];
        let lock = file::lock(token.path()).unwrap();
        token.write(&lock, master, &mut contents).unwrap();
    }

    #[test]
    fn killed_at_each_step_objects_are_whole() {
        let folder = Folder::new("killed");
        let (token, user) = folder.initialized();
        cheapen(&token, &user);
        // A child has no master key of its parent's.
        let again = || token.login(Role::User, b"1234").unwrap();
        let objects = || {
            let opened = opened(&token, &user);
            let texts = opened.into_iter().map(|(_, text)| text);
            texts.collect::<Vec<_>>()
        };
        // The token has these two objects before each step, whatever the killed child left.
        let prepare = || {
            let rest: Vec<u64> = contents(&token).records.iter().map(|r| r.id).collect();
            for id in rest {
                token.remove(&user, id).unwrap();
            }
            token.add(&user, true, b"one").unwrap();
            token.add(&user, false, b"two").unwrap();
        };
        let is = |expected: &[&[u8]]| objects() == expected;
        let changed_to = |expected: &[&[u8]]| {
            let before: [&[u8]; 2] = [b"one", b"two"];
            assert!(is(&before) || is(expected), "{:?}", objects());
            is(expected)
        };
        killed_at_each_step(
            "add",
            prepare,
            || token.add(&again(), true, b"three").is_ok(),
            || changed_to(&[b"one", b"two", b"three"]),
        );
        let second = || contents(&token).records[1].clone();
        killed_at_each_step(
            "replace",
            prepare,
            || {
                let of = (second().id, second().nonce);
                matches!(token.replace(&again(), of, false, b"2"), Ok((true, ..)))
            },
            || changed_to(&[b"one", b"2"]),
        );
        killed_at_each_step(
            "remove",
            prepare,
            || matches!(token.remove(&again(), second().id), Ok((true, ..))),
            || changed_to(&[b"one"]),
        );
    }

    #[test]
    fn killed_at_each_step_a_pin_is_the_old_or_the_new_one() {
        let folder = Folder::new("killed-pins");
        let (token, user) = folder.initialized();
        token.add(&user, true, b"kept").unwrap();
        let opens = |role, pin: &[u8]| match token.login(role, pin) {
            Ok(master) => opened(&token, &master)[0].1 == b"kept",
            Err(Error::WrongPin(_)) => false,
            Err(error) => panic!("{error}"),
        };
        for (role, old) in [
            (Role::User, &b"1234"[..]),
            (Role::SecurityOfficer, b"officer"),
        ] {
            killed_at_each_step(
                "set_pin",
                || cheapen(&token, &user),
                || {
                    let master = token.login(role, old).unwrap();
                    token.set_pin(&master, role, b"new pin").is_ok()
                },
                || {
                    let (old, new) = (opens(role, old), opens(role, b"new pin"));
                    assert!(old != new, "{role:?}: {old} {new}");
                    new
                },
            );
        }
        let count = || contents(&token).wrong_pins[Role::User as usize];
        let kept = || opened(&token, &user)[0].1 == b"kept";
        cheapen(&token, &user);
        let before = std::cell::Cell::new(0);
        killed_at_each_step(
            "a wrong PIN",
            || before.set(count()),
            || matches!(token.login(Role::User, b"4321"), Err(Error::WrongPin(_))),
            || {
                assert!(kept() && (0..=1).contains(&(count() - before.get())));
                count() > before.get()
            },
        );
        killed_at_each_step(
            "a right PIN after wrong ones",
            || assert!(count() > 0 || !opens(Role::User, b"4321")),
            || token.login(Role::User, b"1234").is_ok(),
            || {
                assert!(kept());
                count() == 0
            },
        );
    }

    #[test]
    fn killed_at_each_step_a_token_is_whole() {
        let folder = Folder::new("killed-new");
        let token = folder.token();
        let officer = Role::SecurityOfficer;
        killed_at_each_step(
            "create",
            || {
                let _ = std::fs::remove_file(token.path());
            },
            || token.create(&LABEL, b"officer", None).is_ok(),
            || token.read().unwrap().is_some() && token.login(officer, b"officer").is_ok(),
        );
        let master = token.login(officer, b"officer").unwrap();
        token.add(&master, true, b"old").unwrap();
        let old = contents(&token);
        killed_at_each_step(
            "recreate",
            || std::fs::write(token.path(), old.encode().unwrap()).unwrap(),
            || token.recreate(&[b'n'; LABEL_LEN], b"officer", None).is_ok(),
            || {
                let now = contents(&token);
                let master = token.login(officer, b"officer").unwrap();
                token.verify(&now, &master).unwrap();
                assert!(now == old || now.records.is_empty() && now.label == [b'n'; LABEL_LEN]);
                now != old
            },
        );
    }

    /// A child of fork() has zeros in the place of the master key. It must not seal these under a
    /// PIN.
    #[test]
    fn a_child_wraps_no_zeros() {
        let folder = Folder::new("child");
        let (token, user) = folder.initialized();
        cheapen(&token, &user);
        let before = contents(&token);
        let wrap = || {
            user.wrap(
                b"1234",
                &before.serial,
                Role::User,
                before.costs,
                token.backend,
            )
        };
        assert!(wrap().is_ok());
        if crate::pages::is_emulated() {
            return;
        }
        // SAFETY: the child uses only what this thread has, and no lock is held.
        let child = match unsafe { libc::fork() } {
            0 => {
                let refused = matches!(wrap(), Err(Error::Machine(text)) if text.contains("fork"))
                    && token.set_pin(&user, Role::User, b"new pin").is_err();
                // SAFETY: the child ends here.
                unsafe { libc::_exit(i32::from(!refused)) }
            }
            child => child,
        };
        let mut status = 0;
        // SAFETY: the pointer is valid.
        assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
        assert_eq!(status, 0, "the child has wrapped zeros");
        assert_eq!(contents(&token), before);
    }

    #[test]
    fn processes_add_at_the_same_time() {
        let folder = Folder::new("processes");
        let (token, user) = folder.initialized();
        cheapen(&token, &user);
        const EACH: usize = 8;
        let add = |name: u8| {
            killed::AFTER.store(i32::MAX, Ordering::Relaxed); // never, and a login notes no wait
            let master = token.login(Role::User, b"1234").unwrap();
            (0..EACH).all(|_| token.add(&master, true, &[name]).is_ok())
        };
        let children: Vec<_> = (0..16)
            // SAFETY: the child uses only what this thread has, and no lock is held.
            .map(|name| match unsafe { libc::fork() } {
                // SAFETY: the child ends here.
                0 => unsafe { libc::_exit(if add(name) { 0 } else { 1 }) },
                child => child,
            })
            .collect();
        for child in children {
            let mut status = 0;
            // SAFETY: the pointer is valid.
            unsafe { libc::waitpid(child, &mut status, 0) };
            assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0);
        }
        let mut counts = [0; 16];
        for (_, text) in opened(&token, &user) {
            counts[usize::from(text[0])] += 1;
        }
        assert_eq!(counts, [EACH; 16]);
    }
}
