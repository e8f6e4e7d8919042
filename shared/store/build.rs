//! Lists the files of `migrations/` for `src/migrations.rs`.

use std::error::Error;
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
        list.push_str(&format!(
            "    Migration {{ name: {name:?}, sql: include_str!({path:?}) }},\n"
        ));
    }
    list.push_str("];\n");
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("OUT_DIR is set by cargo")?);
    fs::write(out.join("migrations.rs"), list)?;
    Ok(())
}
