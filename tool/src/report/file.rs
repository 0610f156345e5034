// SPDX-License-Identifier: BSD-2-Clause
//! A file that is replaced whole or not at all: the new text is written beside it, and renamed.

use crate::error::{Error, Result};
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

/// A file that can be written, as far as can be known before it is.
pub struct Replaced {
    /// As it was named, for messages.
    named: PathBuf,
    /// Behind all symbolic links.
    path: PathBuf,
    /// The file that gets the new text. None for a device or a pipe, which is written itself.
    beside: Option<PathBuf>,
}

impl Replaced {
    /// Tries what `fill` will do, so that an error shows before the report is made.
    pub fn prepare(named: &Path) -> Result<Replaced> {
        let failed = |why: &dyn std::fmt::Display| cannot_write(named, why);
        let path = named.canonicalize().unwrap_or_else(|_| named.to_owned());
        let beside = match fs::metadata(&path) {
            Ok(meta) if meta.is_dir() => {
                return Err(failed(&"it is a directory; name a file in it"))
            }
            Ok(meta) if !meta.is_file() => None,
            // The directory may be writable although the file is not.
            Ok(_) => {
                let file = OpenOptions::new().append(true).open(&path);
                file.map_err(|error| failed(&error))?;
                Some(beside(&path))
            }
            Err(_) => Some(beside(&path)),
        };
        if let Some(beside) = &beside {
            create(beside)
                .and_then(|_| fs::remove_file(beside))
                .map_err(|error| failed(&error))?;
        }
        let named = named.to_owned();
        Ok(Replaced {
            named,
            path,
            beside,
        })
    }

    /// Writes the text, and puts it in the place of the file.
    pub fn fill(self, text: &str) -> Result<()> {
        let done = match &self.beside {
            None => fs::write(&self.path, text),
            Some(beside) => {
                let done = self.renamed(beside, text);
                if done.is_err() {
                    let _ = fs::remove_file(beside);
                }
                done
            }
        };
        done.map_err(|error| cannot_write(&self.named, &error))
    }

    fn renamed(&self, beside: &Path, text: &str) -> std::io::Result<()> {
        let mut file = create(beside)?;
        if let Ok(meta) = fs::metadata(&self.path) {
            file.set_permissions(meta.permissions())?;
        }
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(beside, &self.path)
    }
}

fn create(path: &Path) -> std::io::Result<File> {
    OpenOptions::new().write(true).create_new(true).open(path)
}

/// A hidden file of this process in the same directory.
fn beside(path: &Path) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{}", std::process::id()));
    path.with_file_name(name)
}

fn cannot_write(path: &Path, why: &dyn std::fmt::Display) -> Error {
    Error::failure(format!("cannot write {}: {why}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A directory in which the file cannot be renamed keeps the old file.
    #[test]
    fn the_old_file_stays_whole_if_the_new_one_cannot_be_written() {
        let dir = std::env::temp_dir().join(format!("tenrounds-report-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        let file = dir.join("page.html");
        fs::write(&file, "old").unwrap();
        let replaced = Replaced::prepare(&file).unwrap();
        // Something takes the name of the file beside meanwhile.
        fs::create_dir(beside(&file)).unwrap();
        assert!(replaced.fill("new").is_err());
        assert_eq!(fs::read_to_string(&file).unwrap(), "old");
        fs::remove_dir(beside(&file)).unwrap();
        Replaced::prepare(&file).unwrap().fill("new").unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
        assert_eq!(fs::read_dir(&dir).unwrap().count(), 1);
        fs::remove_dir_all(&dir).unwrap();
    }
}
