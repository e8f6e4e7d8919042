//! Real programs, built from the same tree: first of all the sandbox server.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::SystemTime;

/// The path of `cog-sandboxd`.
///
/// # Panics
///
/// When it was not built, or before its sources were last changed; the message says what to run.
/// Tests of its clients would otherwise prove something about a server that nobody has.
pub fn sandboxd() -> PathBuf {
    static FOUND: OnceLock<PathBuf> = OnceLock::new();
    FOUND.get_or_init(|| program("cog-sandboxd", "sandbox-runtime")).clone()
}

/// The path of a program of this workspace, and of the same tree as the test.
///
/// # Panics
///
/// As [`sandboxd`] does.
pub fn program(name: &str, package: &str) -> PathBuf {
    let found = profile().and_then(|profile| look(&profile, name));
    found.unwrap_or_else(|why| {
        panic!("{why}: run `cargo build -p {package}`, with the target folder of these tests")
    })
}

fn profile() -> Result<PathBuf, String> {
    let test = std::env::current_exe().map_err(|error| error.to_string())?;
    // A test is `<profile>/deps/<test>`, a program `<profile>/<program>`.
    test.ancestors().nth(2).map(Path::to_owned).ok_or("the test has no profile folder".to_owned())
}

fn look(profile: &Path, name: &str) -> Result<PathBuf, String> {
    let program = profile.join(name);
    let built = changed(&program).ok_or_else(|| format!("{name} is not built"))?;
    // The compiler's own list of what the program was made of.
    let list = std::fs::read_to_string(program.with_extension("d"))
        .map_err(|_| format!("nothing tells what {name} was made of"))?;
    match sources(&list).find(|source| changed(source).is_none_or(|changed| changed > built)) {
        Some(newer) => {
            let newer = newer.file_name().unwrap_or_default().display();
            Err(format!("{name} is older than its {newer}"))
        }
        None => Ok(program),
    }
}

fn changed(file: &Path) -> Option<SystemTime> {
    file.metadata().ok()?.modified().ok()
}

/// The files right of the colon; a space in a name is escaped.
fn sources(list: &str) -> impl Iterator<Item = PathBuf> {
    let files = list.lines().next().and_then(|line| line.split_once(": ")).map_or("", |l| l.1);
    let files = files.replace("\\ ", "\0");
    let files: Vec<_> =
        files.split_whitespace().map(|file| PathBuf::from(file.replace('\0', " "))).collect();
    files.into_iter()
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::time::Duration;

    use super::*;

    fn file(path: &Path, age: u64) {
        let file = File::create(path).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(age)).unwrap();
    }

    #[test]
    fn a_missing_or_stale_program_is_told() {
        let profile = tempfile::tempdir().unwrap();
        let at = |name: &str| profile.path().join(name);
        let look = || look(profile.path(), "cog-sandboxd");
        assert_eq!(look(), Err("cog-sandboxd is not built".to_owned()));

        file(&at("cog-sandboxd"), 100);
        let (old, new) = (at("old file.rs"), at("new.rs"));
        let line = |p: &Path| p.display().to_string().replace(' ', "\\ ");
        let list = format!("{}: {} {}\n", at("cog-sandboxd").display(), line(&old), line(&new));
        std::fs::write(at("cog-sandboxd.d"), list).unwrap();
        file(&old, 50);
        file(&new, 100);
        assert_eq!(look(), Ok(at("cog-sandboxd")));
        file(&new, 101);
        assert_eq!(look(), Err("cog-sandboxd is older than its new.rs".to_owned()));
        std::fs::remove_file(&new).unwrap();
        assert!(look().is_err());
    }

    #[test]
    #[should_panic(expected = "no-such-program is not built: run `cargo build -p its-package`")]
    fn what_to_run_is_told_too() {
        program("no-such-program", "its-package");
    }
}
