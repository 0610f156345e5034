// SPDX-License-Identifier: BSD-2-Clause
//! A headless Chromium, driven by the DevTools protocol through two pipes: messages in JSON, each
//! ended by a byte 0.

use crate::support::{Guarded, Place};
use serde_json::{json, Value};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, ChildStdout, Stdio};

/// The first of these that is installed is used. The first one is Debian's smallest package of
/// Chromium: it cannot show a window.
const PROGRAMS: [&str; 3] = ["chromium-headless-shell", "chromium", "google-chrome"];

/// Starts the browser with the protocol at its descriptors 3 and 4. It writes its complaints to a
/// file, because there are some on every machine without a session bus. Without the sandbox, root
/// can run it.
const START: &str = "exec timeout 600 \"$0\" --headless --no-sandbox --disable-gpu \
    --no-first-run --remote-debugging-pipe --user-data-dir=profile \
    3<&0 4>&1 </dev/null >/dev/null 2>browser.log";

pub struct Browser {
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    number: u64,
    session: Option<String>,
    /// Events since the last page was opened.
    events: Vec<Value>,
    /// The last field, so that the pipes are closed first.
    _child: Guarded,
}

/// How a page is shown.
#[derive(Debug, Clone, Copy)]
pub struct View {
    pub width: u32,
    /// "light" or "dark".
    pub scheme: &'static str,
    /// "screen" or "print".
    pub media: &'static str,
}

impl Browser {
    /// None if no browser is installed.
    pub fn start(place: &Place) -> Option<Browser> {
        let path = std::env::var_os("PATH")?;
        let is_there = |name: &&&str| {
            let mut folders = std::env::split_paths(&path);
            folders.any(|folder| folder.join(name).is_file())
        };
        let program = PROGRAMS.iter().find(is_there)?;
        let mut shell = place.program("sh");
        shell
            .args(["-c", START, program])
            .env("HOME", place.path(""));
        let shell = shell.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = Guarded(shell.spawn().unwrap());
        let mut browser = Browser {
            to: child.0.stdin.take().unwrap(),
            from: BufReader::new(child.0.stdout.take().unwrap()),
            number: 0,
            session: None,
            events: Vec::new(),
            _child: child,
        };
        let target = browser.call("Target.createTarget", json!({ "url": "about:blank" }));
        let page = json!({ "targetId": target["targetId"], "flatten": true });
        let attached = browser.call("Target.attachToTarget", page);
        browser.session = Some(attached["sessionId"].as_str().unwrap().to_owned());
        for domain in ["Page", "Network", "Runtime", "Debugger", "Log"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        Some(browser)
    }

    fn receive(&mut self) -> Value {
        let mut message = Vec::new();
        self.from.read_until(0, &mut message).unwrap();
        assert_eq!(message.pop(), Some(0), "the browser has ended");
        serde_json::from_slice(&message).unwrap()
    }

    fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.number += 1;
        let mut message = json!({ "id": self.number, "method": method, "params": parameters });
        if let Some(session) = &self.session {
            message["sessionId"] = session.as_str().into();
        }
        let text = message.to_string() + "\0";
        self.to.write_all(text.as_bytes()).unwrap();
        loop {
            let answer = self.receive();
            if answer["id"] == self.number {
                assert!(answer.get("result").is_some(), "{method}: {answer}");
                return answer["result"].clone();
            }
            self.events.push(answer);
        }
    }

    /// Opens a file and waits until all that it asks for is there or has failed.
    pub fn open(&mut self, file: &Path, obey_policy: bool) {
        self.call("Page.setBypassCSP", json!({ "enabled": !obey_policy }));
        self.events.clear();
        let address = format!("file://{}", file.display());
        self.call("Page.navigate", json!({ "url": address }));
        while self.named("Page.loadEventFired").is_empty() {
            let event = self.receive();
            self.events.push(event);
        }
        // An answer means that what was posted before, such as a handler of errors, has run.
        self.evaluate("new Promise(done => setTimeout(done, 50))");
    }

    fn named(&self, method: &str) -> Vec<&Value> {
        let events = self.events.iter();
        events.filter(|event| event["method"] == method).collect()
    }

    /// The addresses that the page asked for, without its own.
    pub fn requests(&self) -> Vec<String> {
        let requests = self.named("Network.requestWillBeSent");
        let address = |event: &&Value| {
            event["params"]["request"]["url"]
                .as_str()
                .unwrap()
                .to_owned()
        };
        requests.iter().skip(1).map(address).collect()
    }

    /// What the browser says of scripts: that one was compiled, threw, or was refused.
    pub fn scripts(&self) -> Vec<String> {
        let compiled = self.named("Debugger.scriptParsed");
        // The tests' own scripts have no address.
        let compiled = compiled
            .into_iter()
            .filter(|event| event["params"]["url"] != "");
        let others = [
            "Runtime.exceptionThrown",
            "Log.entryAdded",
            "Page.javascriptDialogOpening",
        ];
        let others = others.iter().flat_map(|method| self.named(method));
        compiled
            .chain(others)
            .map(|event| event["params"].to_string())
            .collect()
    }

    pub fn show(&mut self, view: View) {
        let size = json!({
            "width": view.width, "height": 800, "deviceScaleFactor": 1, "mobile": false
        });
        self.call("Emulation.setDeviceMetricsOverride", size);
        let features = json!([{ "name": "prefers-color-scheme", "value": view.scheme }]);
        let media = json!({ "media": view.media, "features": features });
        self.call("Emulation.setEmulatedMedia", media);
    }

    /// The value of an expression in the page.
    pub fn evaluate(&mut self, expression: &str) -> Value {
        let expression = json!({
            "expression": expression, "returnByValue": true, "awaitPromise": true
        });
        let answer = self.call("Runtime.evaluate", expression);
        assert!(answer.get("exceptionDetails").is_none(), "{answer:#}");
        answer["result"]["value"].clone()
    }

    /// A picture of the whole page, as a PNG file.
    pub fn picture(&mut self, place: &Place, file: &str) -> PathBuf {
        let whole = json!({ "captureBeyondViewport": true, "format": "png", "clip": {
            "x": 0, "y": 0, "scale": 1,
            "width": self.evaluate("document.documentElement.scrollWidth"),
            "height": self.evaluate("document.documentElement.scrollHeight"),
        } });
        let picture = self.call("Page.captureScreenshot", whole);
        let coded = place.file("picture.base64", picture["data"].as_str().unwrap());
        let picture = Path::new(env!("CARGO_TARGET_TMPDIR")).join(file);
        let out = std::fs::File::create(&picture).unwrap();
        let mut decode = place.program("base64");
        decode.arg("-d").arg(coded).stdout(out);
        assert!(decode.status().unwrap().success());
        picture
    }
}
