//! Lists the files of `migrations/` for `src/migrations.rs`.

use std::error::Error;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../migrations").canonicalize()?;
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut files = Vec::new();
    for entry in fs::read_dir(&folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "sql") {
            println!("cargo::rerun-if-changed={}", path.display());
            files.push(path);
        }
    }
    files.sort();
    let mut list =
        String::from("/// The files of `migrations/`.\npub const MIGRATIONS: &[Migration] = &[\n");
    for path in files {
        let name = path.file_stem().and_then(|name| name.to_str()).ok_or("a file name in UTF-8")?;
        let path = path.to_str().ok_or("a path in UTF-8")?;
        writeln!(list, "    Migration {{ name: {name:?}, sql: include_str!({path:?}) }},")?;
    }
    list.push_str("];\n");
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("OUT_DIR is set by cargo")?);
    fs::write(out.join("migrations.rs"), list)?;
    Ok(())
}
