// SPDX-License-Identifier: BSD-2-Clause
//! Values of arguments that several commands take.

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use std::ffi::OsStr;

/// Any word. Completions offer these; the command itself refuses others, and names the nearest.
#[derive(Clone)]
pub struct Offered(pub fn() -> Vec<String>);

impl TypedValueParser for Offered {
    type Value = String;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new((self.0)().into_iter().map(PossibleValue::new)))
    }
}

/// A parser of a number of seconds in a range.
pub fn seconds(least: f64, most: f64) -> impl Fn(&str) -> Result<f64, String> + Clone {
    move |text| match text.parse::<f64>() {
        Ok(seconds) if (least..=most).contains(&seconds) => Ok(seconds),
        _ => Err(format!("say a number of seconds from {least} to {most}")),
    }
}
