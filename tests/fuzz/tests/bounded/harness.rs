//! Gives a target its inputs.

use std::path::{Path, PathBuf};
use std::thread;

use fuzz_targets::Target;

use crate::mutate::Mutator;

/// How many inputs are made of a corpus.
const GENERATED: usize = 5000;

pub(crate) fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus")
}

pub(crate) fn run(name: &str) {
    let target = Target::named(name).expect("a target of that name");
    let files = read(&corpus().join(name));
    let check = |name: &str, input: &[u8]| {
        let _shown = Shown { name, input };
        (target.check)(input);
    };
    for (path, input) in &files {
        check(&path.display().to_string(), input);
    }
    let mut mutator = Mutator::new(files.into_iter().map(|(_, input)| input).collect());
    for number in 0..GENERATED {
        check(&format!("generated input {number}"), &mutator.input());
    }
}

/// The files of a folder, in the order of their names.
fn read(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let files = std::fs::read_dir(folder).expect("each target has a folder");
    let mut files: Vec<_> = files
        .map(|file| {
            let path = file.unwrap().path();
            let bytes = std::fs::read(&path).unwrap();
            (path, bytes)
        })
        .collect();
    files.sort();
    assert!(!files.is_empty(), "{} has no file", folder.display());
    files
}

/// Says which input was at work when the target panicked.
struct Shown<'a> {
    name: &'a str,
    input: &'a [u8],
}

impl Drop for Shown<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!("{}: \"{}\"", self.name, self.input.escape_ascii());
        }
    }
}
