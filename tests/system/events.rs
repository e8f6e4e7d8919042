//! The samples of `events/`: everything that travels or is stored, read into the type that the code
//! takes, and printed back.
//!
//! **A file that nothing reads fails, and so does a kind of which there is no file.** An old version
//! stays: it is the proof for what is still in flight.

mod kinds;
mod readers;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use readers::READERS;

/// What runs inside the sandbox takes no event; its bodies are in `http`.
const WITHOUT_EVENTS: &str = "sandbox-runtime";

/// One file of `events/`.
pub(crate) struct Sample {
    /// From `events/` on: `store/envelope.json`.
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    pub(crate) text: String,
}

/// All files whose names begin so, sorted.
pub(crate) fn samples(prefix: &str) -> Vec<Sample> {
    let root = project().join("events");
    let mut found = Vec::new();
    for folder in folders(&root) {
        for file in fs::read_dir(root.join(&folder)).unwrap() {
            let path = file.unwrap().path();
            let name = format!("{folder}/{}", path.file_name().unwrap().display());
            if name.starts_with(prefix) {
                found.push(Sample { text: fs::read_to_string(&path).unwrap(), name, path });
            }
        }
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    found
}

fn project() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

fn folders(root: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path());
    let folders = entries.filter(|path| path.is_dir());
    folders.map(|path| path.file_name().unwrap().to_str().unwrap().to_owned()).collect()
}

#[test]
fn every_sample_is_read_by_what_the_code_takes_and_printed_back() {
    for sample in samples("") {
        let reader = READERS.iter().find(|(prefix, _)| sample.name.starts_with(prefix));
        let (_, read) = reader.unwrap_or_else(|| panic!("nothing reads events/{}", sample.name));
        // The harness shows what a failing test has printed: which sample it was.
        println!("events/{}", sample.name);
        read(&sample.text);
    }
}

#[test]
fn everything_that_travels_or_is_stored_has_a_sample() {
    let missing: Vec<_> =
        READERS.iter().map(|(prefix, _)| *prefix).filter(|p| samples(p).is_empty()).collect();
    assert_eq!(missing, Vec::<&str>::new());
}

#[test]
fn every_function_has_a_sample_of_its_event() {
    let functions = folders(&project().join("functions"));
    for function in functions.iter().filter(|function| *function != WITHOUT_EVENTS) {
        let prefix = format!("{function}/");
        assert!(!samples(&prefix).is_empty(), "there is no events/{prefix}*.json");
    }
    let others = folders(&project().join("events")).into_iter();
    let others: Vec<_> = others.filter(|folder| !functions.contains(folder)).collect();
    assert_eq!(others, ["http", "store"], "a folder of events is named like its function");
}
