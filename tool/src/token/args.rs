// SPDX-License-Identifier: BSD-2-Clause
//! The command line of `token`.

use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;
use tenrounds_pkcs11::keyring;

#[derive(Args, Debug)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub struct TokenArgs {
    #[command(subcommand)]
    pub action: Action,
}

#[derive(Subcommand, Debug)]
pub enum Action {
    /// Make a token, and set the PINs of its security officer and its user
    Init(InitArgs),
    /// Give the user a new PIN, by the security officer's
    Pin(PinArgs),
    /// List the keys and data of a token
    List(ListArgs),
    /// Store a key from a file
    Import(ImportArgs),
    /// Write a key to a new file, as it is or wrapped by another key
    Export(ExportArgs),
    /// Delete a key or data
    Delete(DeleteArgs),
}

/// Which token, and how its user logs in.
#[derive(Args, Debug)]
pub struct AccessArgs {
    /// The token's file, instead of the configured one
    #[arg(long, value_name = "PATH")]
    pub token: Option<PathBuf>,

    /// Read the user's PIN from the first line of FILE, instead of asking on the terminal
    ///
    /// Only its owner may have rights to the file (mode 600).
    #[arg(long, value_name = "FILE")]
    pub pin_file: Option<PathBuf>,

    /// Write JSON instead of text
    #[arg(long)]
    pub json: bool,
}

#[derive(Args, Debug)]
pub struct InitArgs {
    #[command(flatten)]
    pub access: AccessArgs,

    /// The name of the token, at most 32 bytes
    #[arg(long, default_value = "tenrounds")]
    pub label: String,

    /// Read the security officer's PIN from the first line of FILE, instead of asking
    #[arg(long, value_name = "FILE")]
    pub so_pin_file: Option<PathBuf>,

    /// Make an existing token anew: all its keys are lost
    ///
    /// It needs the security officer's PIN of the existing token.
    #[arg(long)]
    pub force: bool,
}

#[derive(Args, Debug)]
pub struct PinArgs {
    #[command(flatten)]
    pub access: AccessArgs,

    /// Read the security officer's PIN from the first line of FILE, instead of asking
    #[arg(long, value_name = "FILE")]
    pub so_pin_file: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub struct ListArgs {
    #[command(flatten)]
    pub access: AccessArgs,
}

/// What a key is for.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Use {
    /// Encryption and decryption
    Encrypt,
    /// AES-CMAC and GMAC
    Sign,
    /// Wrapping and unwrapping other keys
    Wrap,
}

impl From<Use> for keyring::Use {
    fn from(purpose: Use) -> keyring::Use {
        match purpose {
            Use::Encrypt => keyring::Use::Encrypt,
            Use::Sign => keyring::Use::Sign,
            Use::Wrap => keyring::Use::Wrap,
        }
    }
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum KeyType {
    /// 16, 24 or 32 bytes
    Aes,
    /// Both keys of XTS, one after the other: 32 or 64 bytes
    AesXts,
}

impl From<KeyType> for keyring::KeyType {
    fn from(key_type: KeyType) -> keyring::KeyType {
        match key_type {
            KeyType::Aes => keyring::KeyType::Aes,
            KeyType::AesXts => keyring::KeyType::AesXts,
        }
    }
}

#[derive(Args, Debug)]
pub struct ImportArgs {
    #[command(flatten)]
    pub access: AccessArgs,

    /// The file with the key, or - for standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    /// The key's name in the token (CKA_LABEL); Java calls it the alias
    #[arg(long)]
    pub label: String,

    /// The key's CKA_ID in hexadecimal
    #[arg(long, value_name = "HEX")]
    pub id: Option<String>,

    /// The file has hexadecimal digits instead of bytes
    #[arg(long)]
    pub hex: bool,

    /// The type of the key
    #[arg(long = "type", value_name = "TYPE", default_value = "aes")]
    pub key_type: KeyType,

    /// What the key may do
    ///
    /// Let a key that wraps others do nothing else: who may also decrypt with it can read what it
    /// wrapped.
    #[arg(
        long = "use",
        value_name = "USE[,USE]",
        value_delimiter = ',',
        default_value = "encrypt"
    )]
    pub uses: Vec<Use>,

    /// The key may leave the token, wrapped by another key
    #[arg(long)]
    pub extractable: bool,

    /// The key may leave the token as it is, so everybody who knows the PIN can read it
    #[arg(long)]
    pub readable: bool,

    /// The file has a key that this key of the token has wrapped (AES-KWP)
    #[arg(long, value_name = "NAME")]
    pub unwrap_with: Option<String>,
}

#[derive(Args, Debug)]
pub struct ExportArgs {
    #[command(flatten)]
    pub access: AccessArgs,

    /// The key's label, its CKA_ID in hexadecimal, or # and its number
    pub name: String,

    /// The file to be created, of mode 600, or - for standard output
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    /// Write hexadecimal digits instead of bytes
    #[arg(long)]
    pub hex: bool,

    /// Wrap it by this key of the token (AES-KWP)
    #[arg(long, value_name = "NAME")]
    pub wrap_with: Option<String>,
}

#[derive(Args, Debug)]
pub struct DeleteArgs {
    #[command(flatten)]
    pub access: AccessArgs,

    /// The object's label, its CKA_ID in hexadecimal, or # and its number
    pub name: String,

    /// Do not ask
    #[arg(long)]
    pub yes: bool,
}
