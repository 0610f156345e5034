// SPDX-License-Identifier: BSD-2-Clause
//! Templates of texts that are read line by line.

use minijinja::syntax::SyntaxConfig;
use minijinja::{Environment, UndefinedBehavior};

/// An environment in which a line that has only a tag leaves no line in the text. A name that the
/// data lack is an error.
pub fn environment() -> Environment<'static> {
    let mut syntax = SyntaxConfig::builder();
    syntax.trim_blocks(true).lstrip_blocks(true);
    let syntax = syntax.keep_trailing_newline(true).build();
    let mut environment = Environment::new();
    environment.set_syntax(syntax.expect("the usual delimiters"));
    environment.set_undefined_behavior(UndefinedBehavior::SemiStrict);
    environment
}
