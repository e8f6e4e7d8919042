//! The real sandbox server, built from the same tree.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::SystemTime;

/// What to do about a server that is missing or stale.
const BUILD: &str = "run `cargo build -p sandbox-runtime`, with the target folder of these tests";

/// The path of `cog-sandboxd`.
///
/// # Panics
///
/// When it was not built, or before its sources were last changed; the message says what to run.
/// Tests of its clients would otherwise prove something about a server that nobody has.
pub fn sandboxd() -> PathBuf {
    static FOUND: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let found = FOUND.get_or_init(|| {
        let test = std::env::current_exe().map_err(|error| error.to_string())?;
        // A test is `<profile>/deps/<test>`, a program `<profile>/<program>`.
        let profile = test.ancestors().nth(2).ok_or("the test has no profile folder")?;
        look(profile)
    });
    match found {
        Ok(path) => path.clone(),
        Err(why) => panic!("{why}"),
    }
}

fn look(profile: &Path) -> Result<PathBuf, String> {
    let server = profile.join("cog-sandboxd");
    let built =
        changed(&server).ok_or_else(|| format!("the sandbox server is not built: {BUILD}"))?;
    // The compiler's own list of what the program was made of.
    let list = std::fs::read_to_string(server.with_extension("d"))
        .map_err(|_| format!("nothing tells what the sandbox server was made of: {BUILD}"))?;
    match sources(&list).find(|source| changed(source).is_none_or(|changed| changed > built)) {
        Some(newer) => {
            let name = newer.file_name().unwrap_or_default().display();
            Err(format!("the sandbox server is older than its {name}: {BUILD}"))
        }
        None => Ok(server),
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
    fn a_missing_or_stale_server_is_told_with_what_to_run() {
        let profile = tempfile::tempdir().unwrap();
        let at = |name: &str| profile.path().join(name);
        let missing = look(profile.path()).unwrap_err();
        assert!(missing.contains("cargo build -p sandbox-runtime"), "{missing}");

        file(&at("cog-sandboxd"), 100);
        let (old, new) = (at("old file.rs"), at("new.rs"));
        let line = |p: &Path| p.display().to_string().replace(' ', "\\ ");
        let list = format!("{}: {} {}\n", at("cog-sandboxd").display(), line(&old), line(&new));
        std::fs::write(at("cog-sandboxd.d"), list).unwrap();
        file(&old, 50);
        file(&new, 100);
        assert_eq!(look(profile.path()), Ok(at("cog-sandboxd")));
        file(&new, 101);
        let stale = look(profile.path()).unwrap_err();
        assert!(stale.contains("older than its new.rs"), "{stale}");
        std::fs::remove_file(&new).unwrap();
        assert!(look(profile.path()).is_err());
    }
}
