// SPDX-License-Identifier: BSD-2-Clause
//! The one writer of the page. Names of tags, classes and heads of columns are of this program;
//! everything else is escaped.

use super::chart::Chart;
use crate::trace::verdict::{bound, percent};
use serde::Serialize;
use std::fmt::Display;
use terminal::gigabytes;
use terminal::markup::escape;
use terminal::style::grouped;

#[derive(Default)]
pub struct Html(String);

impl Html {
    /// The page, from its first byte, with this in its head.
    pub fn new(title: &str, style: &'static str) -> Html {
        let mut html = Html::default();
        html.0 += "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n";
        html.0 += POLICY;
        html.0 += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
        html.0 += "<meta name=\"color-scheme\" content=\"light dark\">\n<title>";
        html.text(title);
        html.0 += "</title>\n<style>\n";
        html.0 += style;
        html.0 += "</style>\n</head>\n<body>\n";
        html
    }

    pub fn end(mut self) -> String {
        self.0 += "</body>\n</html>\n";
        self.0
    }

    /// An element with what is in it.
    pub fn tag(&mut self, name: &'static str, class: &'static str, inside: impl FnOnce(&mut Html)) {
        self.0 += "<";
        self.0 += name;
        if !class.is_empty() {
            self.attribute("class", class);
        }
        self.0 += ">";
        inside(self);
        self.0 += "</";
        self.0 += name;
        self.0 += ">";
        if !matches!(name, "span" | "b" | "code") {
            self.0 += "\n";
        }
    }

    /// An element with a text.
    pub fn line(&mut self, name: &'static str, class: &'static str, text: impl Display) {
        self.tag(name, class, |html| html.text(text));
    }

    /// A part of the page with a name of its own.
    pub fn section(
        &mut self,
        id: &'static str,
        title: &'static str,
        inside: impl FnOnce(&mut Html),
    ) {
        self.0 += "<section";
        self.attribute("id", id);
        self.0 += ">\n";
        self.line("h2", "", title);
        inside(self);
        self.0 += "</section>\n";
    }

    pub fn text(&mut self, text: impl Display) {
        escape(&mut self.0, &text.to_string());
    }

    fn attribute(&mut self, name: &'static str, value: &str) {
        self.0 += " ";
        self.0 += name;
        self.0 += "=\"";
        escape(&mut self.0, value);
        self.0 += "\"";
    }

    /// A figure: as people read it, and as the JSON document has it.
    fn figure(&mut self, value: impl Serialize, shown: &str) {
        let value = serde_json::to_string(&value).expect("a number serialises");
        self.0 += "<data";
        self.attribute("value", &value);
        self.0 += ">";
        self.text(shown);
        self.0 += "</data>";
    }

    pub fn count(&mut self, count: impl TryInto<u64>) {
        let count = count.try_into().unwrap_or(u64::MAX);
        self.figure(count, &grouped(count));
    }

    /// A number that is no count: no digits are grouped.
    pub fn number(&mut self, number: impl Serialize + Display + Copy) {
        self.figure(number, &number.to_string());
    }

    /// The place of code without a name.
    pub fn address(&mut self, address: u64) {
        self.figure(address, &format!("+{address:#x}"));
    }

    /// A fraction as percent.
    pub fn share(&mut self, share: f64) {
        self.figure(share, &percent(share));
    }

    /// A fraction that is an upper bound.
    pub fn bound(&mut self, share: f64) {
        self.figure(share, &bound(share));
    }

    pub fn rate(&mut self, bytes_per_second: f64) {
        self.figure(
            bytes_per_second,
            &format!("{} GB/s", gigabytes(bytes_per_second)),
        );
    }

    pub fn times(&mut self, ratio: f64) {
        self.figure(ratio, &format!("{ratio:.2}×"));
    }

    pub fn seconds(&mut self, seconds: f64) {
        self.figure(seconds, &format!("{seconds:.1} s"));
    }

    pub fn bytes(&mut self, bytes: usize) {
        self.figure(bytes, &terminal::size_name(bytes));
    }

    pub fn chart(&mut self, chart: &Chart) {
        self.tag("figure", "chart", |html| html.0 += chart.svg());
    }

    /// A table with these heads; those that begin with ">" are of figures.
    pub fn table(&mut self, heads: &'static [&'static str], rows: impl FnOnce(&mut Table)) {
        let head = |head: &'static str| match head.strip_prefix('>') {
            Some(head) => ("figure", head),
            None => ("", head),
        };
        self.tag("table", "", |html| {
            html.tag("thead", "", |html| {
                html.tag("tr", "", |html| {
                    heads.iter().for_each(|name| {
                        let (class, name) = head(name);
                        html.line("th", class, name);
                    });
                });
            });
            html.tag("tbody", "", |html| rows(&mut Table { html, heads }));
        });
    }
}

/// A table that gets rows.
pub struct Table<'h> {
    html: &'h mut Html,
    heads: &'static [&'static str],
}

pub type Cell<'c> = Box<dyn FnOnce(&mut Html) + 'c>;

/// A cell with a text.
pub fn cell<'c>(text: impl Display + 'c) -> Cell<'c> {
    Box::new(move |html| html.text(text))
}

/// A cell with a figure, or "-" where there is none.
pub fn figure<'c, T: 'c>(value: Option<T>, show: fn(&mut Html, T)) -> Cell<'c> {
    Box::new(move |html| match value {
        Some(value) => show(html, value),
        None => html.text("-"),
    })
}

impl Table<'_> {
    /// A row with a cell for each head. On a narrow screen the head stands before its cell.
    pub fn row<const N: usize>(&mut self, cells: [Cell<'_>; N]) {
        assert_eq!(N, self.heads.len(), "{:?}", self.heads);
        let heads = self.heads;
        self.html.tag("tr", "", |html| {
            for (head, cell) in heads.iter().zip(cells) {
                html.0 += "<td";
                if head.starts_with('>') {
                    html.attribute("class", "figure");
                }
                html.attribute("data-head", head.trim_start_matches('>'));
                html.0 += ">";
                cell(html);
                html.0 += "</td>";
            }
        });
    }
}

/// Nothing is loaded, and no script is executed.
const POLICY: &str = "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_leaves_its_place() {
        let mut html = Html::default();
        let hostile = "<img src=x onerror='a()'>&\"\n\u{202e}lmth";
        html.line("p", "", hostile);
        html.attribute("title", hostile);
        let safe = "&lt;img src=x onerror=&#39;a()&#39;&gt;&amp;&quot;\u{fffd}\u{fffd}lmth";
        assert_eq!(html.0, format!("<p>{safe}</p>\n title=\"{safe}\""));
    }

    #[test]
    fn figures_are_those_of_the_document() {
        let mut html = Html::default();
        html.rate(5_123_456_789.25);
        html.share(0.1134);
        html.count(1234_usize);
        assert_eq!(
            html.0,
            "<data value=\"5123456789.25\">5.12 GB/s</data>\
             <data value=\"0.1134\">11 %</data><data value=\"1234\">1,234</data>"
        );
    }
}
