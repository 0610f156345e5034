// SPDX-License-Identifier: BSD-2-Clause
//! `token`: the keys in a token file of the PKCS#11 module, without a PKCS#11 program.
//! docs/pkcs11.md says what a token is.

pub mod args;
mod key_file;
mod pin;
mod shown;

use crate::error::{Error, Result};
use crate::output;
use args::{AccessArgs, Action, DeleteArgs, ExportArgs, ImportArgs, InitArgs, PinArgs, TokenArgs};
use shown::{hexadecimal, named, Shown};
use std::path::{Path, PathBuf};
use tenrounds_pkcs11::keyring::{self, Entry, Keyring, NewKey};
use token::{place, Contents, Role, LABEL_LEN};

pub fn run(args: &TokenArgs) -> Result<()> {
    match &args.action {
        Action::Init(args) => init(args),
        Action::Pin(args) => set_pin(args),
        Action::List(args) => list(&args.access),
        Action::Import(args) => import(args),
        Action::Export(args) => export(args),
        Action::Delete(args) => delete(args),
    }
}

/// The token that is named or configured.
fn path_of(access: &AccessArgs) -> Result<PathBuf> {
    if let Some(path) = &access.token {
        return Ok(path.clone());
    }
    let (paths, wrong) = place::tokens();
    if let Some(line) = wrong.first() {
        return Err(Error::failure(format!(
            "{line}; correct that, or use --token PATH"
        )));
    }
    match &paths[..] {
        [path] => Ok(path.clone()),
        [] => Err(Error::failure(
            "no place for a token: neither HOME nor XDG_DATA_HOME is set; use --token PATH",
        )),
        several => {
            let list: Vec<_> = several
                .iter()
                .map(|path| path.display().to_string())
                .collect();
            Err(Error::usage(format!(
                "several tokens are configured; say which by --token: {}",
                list.join(", ")
            )))
        }
    }
}

fn contents_of(path: &Path) -> Result<Contents> {
    let token = keyring::token(path.to_owned()).map_err(Error::from_reason)?;
    let read = token.read().map_err(Error::from_reason)?;
    let missing = || Error::from_reason(token::Error::Missing(path.to_owned()));
    read.map(|(_, contents)| contents).ok_or_else(missing)
}

fn init(args: &InitArgs) -> Result<()> {
    let path = path_of(&args.access)?;
    let mut label = [b' '; LABEL_LEN];
    let given = args.label.as_bytes();
    let room = label.get_mut(..given.len()).ok_or_else(|| {
        Error::usage(format!(
            "--label has {} bytes; at most {LABEL_LEN} fit",
            given.len()
        ))
    })?;
    room.copy_from_slice(given);
    let token = keyring::token(path.clone()).map_err(Error::from_reason)?;
    let existing = token.read().map_err(Error::from_reason)?;
    if let (Some((_, contents)), false) = (&existing, args.force) {
        return Err(Error::failure(format!(
            "there is a token with {} objects in {} already, which was not changed; --force destroys \
             them and makes it anew, --token makes another one",
            contents.records.len(),
            path.display()
        )));
    }
    let officer = match &existing {
        Some(_) => pin::known(
            "existing token's security officer",
            "--so-pin-file",
            args.so_pin_file.as_deref(),
        ),
        None => pin::new(
            "security officer",
            "--so-pin-file",
            args.so_pin_file.as_deref(),
        ),
    }?;
    let user = pin::new("user", "--pin-file", args.access.pin_file.as_deref())?;
    let (officer, user) = (officer.as_bytes(), Some(user.as_bytes()));
    match existing {
        Some(_) => token.recreate(&label, officer, user),
        None => token.create(&label, officer, user),
    }
    .map_err(Error::from_reason)?;
    let shown = Shown::new("init", &path, &contents_of(&path)?, &[]);
    shown.write(args.access.json, |_| {
        format!("The token {} is ready.\n", path.display())
    })
}

/// The security officer gives the user a PIN, also if there is none or nobody knows it.
fn set_pin(args: &PinArgs) -> Result<()> {
    let path = path_of(&args.access)?;
    contents_of(&path)?;
    let token = keyring::token(path.clone()).map_err(Error::from_reason)?;
    let officer = pin::known(
        "security officer",
        "--so-pin-file",
        args.so_pin_file.as_deref(),
    )?;
    let master = token.login(Role::SecurityOfficer, officer.as_bytes());
    let master = master.map_err(Error::from_reason)?;
    let user = pin::new("user", "--pin-file", args.access.pin_file.as_deref())?;
    token
        .set_pin(&master, Role::User, user.as_bytes())
        .map_err(Error::from_reason)?;
    let shown = Shown::new("pin", &path, &contents_of(&path)?, &[]);
    shown.write(args.access.json, |_| {
        format!("The user of {} has a new PIN.\n", path.display())
    })
}

/// The token after its user has logged in, and where it is.
fn opened(access: &AccessArgs) -> Result<(Keyring, PathBuf)> {
    let path = path_of(access)?;
    // A missing or damaged file is named before anybody types a PIN.
    contents_of(&path)?;
    let pin = pin::known("user", "--pin-file", access.pin_file.as_deref())?;
    let keyring = Keyring::open(path.clone(), pin.as_bytes()).map_err(Error::from_reason)?;
    Ok((keyring, path))
}

fn list(access: &AccessArgs) -> Result<()> {
    let (keyring, path) = opened(access)?;
    let entries = keyring.entries().map_err(Error::from_reason)?;
    let shown = Shown::new("list", &path, &contents_of(&path)?, &entries);
    shown.write(access.json, Shown::listed)
}

/// The one object that a name means.
fn find<'a>(entries: &'a [Entry], name: &str) -> Result<&'a Entry> {
    let number = name
        .strip_prefix('#')
        .and_then(|number| number.parse().ok());
    let id = name.to_ascii_lowercase();
    let is_meant = |entry: &&Entry| {
        let has_id = !entry.id.is_empty() && hexadecimal(&entry.id) == id;
        entry.label == name || has_id || Some(entry.number) == number
    };
    let found: Vec<&Entry> = entries.iter().filter(is_meant).collect();
    match &found[..] {
        [entry] => Ok(entry),
        [] => Err(Error::failure(format!(
            "the token has no object '{name}'{}; 'tenrounds token list' shows its objects",
            crate::error::suggestion(name, entries.iter().map(|entry| &entry.label[..]))
        ))),
        several => {
            let list: Vec<String> = several.iter().map(|entry| named(entry)).collect();
            Err(Error::failure(format!(
                "'{name}' means {} objects; say # and the number of one: {}",
                several.len(),
                list.join(", ")
            )))
        }
    }
}

fn import(args: &ImportArgs) -> Result<()> {
    if args.label.is_empty() {
        return Err(Error::usage("--label is empty; give the key a name"));
    }
    let id = args.id.as_deref().unwrap_or_default();
    let id = key_file::from_hexadecimal(id)
        .ok_or_else(|| Error::usage(format!("--id '{id}' is not hexadecimal")))?;
    let (keyring, path) = opened(&args.access)?;
    let entries = keyring.entries().map_err(Error::from_reason)?;
    if let Some(entry) = entries.iter().find(|entry| entry.label == args.label) {
        return Err(Error::failure(format!(
            "the token has {} already; choose another label, or delete it first",
            named(entry)
        )));
    }
    let mut value = key_file::read(&args.file, args.hex)?;
    if let Some(by) = &args.unwrap_with {
        let by = find(&entries, by)?;
        value = keyring
            .unwrap(&value, by.number)
            .map_err(|error| not_done("unwrap with", by, &error))?;
    }
    let key_type = keyring::KeyType::from(args.key_type);
    key_file::check_len(&args.file, key_type, value.len())?;
    let uses: Vec<keyring::Use> = args.uses.iter().map(|purpose| (*purpose).into()).collect();
    let key = NewKey {
        key_type,
        label: &args.label,
        id: &id,
        value: &value,
        uses: &uses,
        sensitive: !args.readable,
        extractable: args.extractable || args.readable,
    };
    let number = keyring.import(&key).map_err(Error::from_reason)?;
    let entries = keyring.entries().map_err(Error::from_reason)?;
    let entry = find(&entries, &format!("#{number}"))?;
    let shown = Shown::new(
        "import",
        &path,
        &contents_of(&path)?,
        std::slice::from_ref(entry),
    );
    shown.write(args.access.json, |_| {
        format!("{} has {} now.\n", path.display(), named(entry))
    })
}

fn not_done(what: &str, entry: &Entry, error: &keyring::Error) -> Error {
    Error::failure(format!("cannot {what} {}: {error}", named(entry)))
}

fn export(args: &ExportArgs) -> Result<()> {
    let (keyring, path) = opened(&args.access)?;
    let entries = keyring.entries().map_err(Error::from_reason)?;
    let entry = find(&entries, &args.name)?;
    let value = match &args.wrap_with {
        Some(by) => {
            let by = find(&entries, by)?;
            let wrapped = keyring.wrap(entry.number, by.number);
            wrapped.map(Into::into).map_err(|error| {
                let what = format!("wrap with {}", named(by));
                not_done(&what, entry, &error)
            })?
        }
        None => keyring.value(entry.number).map_err(|error| {
            let hint = match entry.extractable {
                true => "; wrap it by another key: --wrap-with NAME",
                false => "; it was stored without --extractable and stays in the token",
            };
            Error::failure(format!("cannot export {}: {error}{hint}", named(entry)))
        })?,
    };
    key_file::write(&args.file, &value, args.hex)?;
    if key_file::is_stream(&args.file) {
        return Ok(()); // standard output has the key
    }
    let shown = Shown::new(
        "export",
        &path,
        &contents_of(&path)?,
        std::slice::from_ref(entry),
    );
    shown.write(args.access.json, |_| {
        let how = if args.wrap_with.is_some() {
            ", wrapped"
        } else {
            ""
        };
        format!("{} has {}{how}.\n", args.file.display(), named(entry))
    })
}

fn delete(args: &DeleteArgs) -> Result<()> {
    let (keyring, path) = opened(&args.access)?;
    let entries = keyring.entries().map_err(Error::from_reason)?;
    let entry = find(&entries, &args.name)?;
    if !args.yes && !confirmed(entry)? {
        return Err(Error::failure("nothing was deleted"));
    }
    if !keyring.delete(entry.number).map_err(Error::from_reason)? {
        return Err(Error::failure(format!(
            "another process has deleted {} meanwhile",
            named(entry)
        )));
    }
    let shown = Shown::new(
        "delete",
        &path,
        &contents_of(&path)?,
        std::slice::from_ref(entry),
    );
    shown.write(args.access.json, |_| format!("Deleted {}.\n", named(entry)))
}

/// Asks on the terminal, and without one fails.
fn confirmed(entry: &Entry) -> Result<bool> {
    use std::io::{BufRead, IsTerminal};
    let stdin = std::io::stdin();
    if !stdin.is_terminal() {
        return Err(Error::usage(
            "cannot ask, because standard input is no terminal; use --yes to delete without asking",
        ));
    }
    output::err(format!("Delete {} for ever? [y/N] ", named(entry)));
    let mut answer = String::new();
    let read = stdin.lock().read_line(&mut answer);
    read.map_err(|error| Error::failure(format!("cannot read the answer: {error}")))?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
