// SPDX-License-Identifier: BSD-2-Clause
//! The page: page.html, filled with the JSON document. Everything is escaped, and a field that the
//! document does not have is an error.

use super::facts::Body;
use evidence::trace::verdict::{bound, percent};
use machine::schema::Document;
use minijinja::value::{Serde, Value};
use minijinja::{context, Environment, Error, ErrorKind, Output, State, UndefinedBehavior};
use std::fmt::Display;
use terminal::markup::escape;
use terminal::style::grouped;
use terminal::{gigabytes, size_name};

pub fn page(document: &Document<Body>, full: bool) -> terminal::error::Result<String> {
    let document = Value::from(Serde(document));
    let page = environment();
    let page = page.get_template("page.html");
    page.and_then(|page| page.render(context! { full, ..document }))
        .map_err(terminal::error::Error::from_reason)
}

fn environment() -> Environment<'static> {
    let mut page = Environment::new();
    page.set_undefined_behavior(UndefinedBehavior::SemiStrict);
    page.set_formatter(write_escaped);
    for (name, text) in [
        ("page.html", include_str!("page.html")),
        ("style.css", include_str!("style.css")),
    ] {
        page.add_template(name, text).expect("it is a template");
    }
    let filters: [(&str, Show); 8] = [
        ("count", |count| grouped(count as u64)),
        ("number", |number| number.to_string()),
        ("share", percent),
        ("bound", bound),
        ("rate", |rate| format!("{} GB/s", gigabytes(rate))),
        ("times", |ratio| format!("{ratio:.2}×")),
        ("seconds", |seconds| format!("{seconds:.1} s")),
        ("size", |bytes| size_name(bytes as usize)),
    ];
    for (name, show) in filters {
        page.add_filter(name, move |value: Value| figure(&value, show));
    }
    // A floating-point number would round addresses of the kernel.
    page.add_filter("address", |at: u64| data(at, format!("+{at:#x}")));
    page
}

/// Writes a number for people.
type Show = fn(f64) -> String;

/// A number as people read it, and as the JSON document has it; "-" for null.
fn figure(value: &Value, show: Show) -> Result<Value, Error> {
    match f64::try_from(value.clone()) {
        Ok(number) => Ok(data(value, show(number))),
        Err(_) if value.is_none() => Ok("-".into()),
        Err(error) => Err(error),
    }
}

fn data(value: impl Display, shown: String) -> Value {
    Value::from_safe_string(format!("<data value=\"{value}\">{shown}</data>"))
}

/// minijinja's own formatter lets characters pass that turn text around.
fn write_escaped(out: &mut Output, _: &mut State, value: &Value) -> Result<(), Error> {
    if value.is_undefined() {
        return Err(ErrorKind::UndefinedError.into());
    }
    let mut text = value.to_string();
    if !value.is_safe() {
        let raw = std::mem::take(&mut text);
        escape(&mut text, &raw);
    }
    Ok(out.write_str(&text)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(template: &str, value: impl Into<Value>) -> String {
        let value = value.into();
        environment()
            .render_named_str("test.html", template, context! { value })
            .unwrap()
    }

    #[test]
    fn nothing_leaves_its_place() {
        let hostile = "<img src=x onerror='a()'>&\"\n\u{202e}lmth";
        let safe = "&lt;img src=x onerror=&#39;a()&#39;&gt;&amp;&quot;\u{fffd}\u{fffd}lmth";
        assert_eq!(
            rendered("<p title=\"{{ value }}\">", hostile),
            format!("<p title=\"{safe}\">")
        );
        let passed = "{% macro m(it) %}<b>{{ it }}</b>{% endmacro %}{{ m(value ~ value[:0]) }}";
        assert_eq!(rendered(passed, hostile), format!("<b>{safe}</b>"));
    }

    #[test]
    fn figures_are_those_of_the_document() {
        let rate = rendered("{{ value|rate }}", 5_123_456_789.25);
        assert_eq!(rate, "<data value=\"5123456789.25\">5.12 GB/s</data>");
        let share = rendered("{{ value|share }}", 0.1134);
        assert_eq!(share, "<data value=\"0.1134\">11 %</data>");
        let count = rendered("{{ value|count }}", 1234);
        assert_eq!(count, "<data value=\"1234\">1,234</data>");
        assert_eq!(rendered("{{ value|share }}", ()), "-");
    }

    #[test]
    fn a_field_that_is_missing_is_an_error() {
        let page = environment();
        let render = |template| page.render_str(template, context! { value => 1 });
        assert!(render("{{ value.absent }}").is_err());
        assert!(render("{{ absent }}").is_err());
        assert!(render("{{ value.absent|rate }}").is_err());
        assert!(render("{{ 'text'|rate }}").is_err());
    }
}
