//! Runs one target in libFuzzer: `fuzz-engine <target>`, with libFuzzer's own arguments in
//! `BOLERO_LIBFUZZER_ARGS`. `tests/fuzz/fuzz.sh` builds and calls it.

use fuzz_targets::Target;

fn main() {
    let name = std::env::args().nth(1).unwrap_or_default();
    let Some(target) = Target::named(&name) else {
        let names: Vec<_> = fuzz_targets::TARGETS.iter().map(|target| target.name).collect();
        eprintln!("no target is named {name:?}; there are {}", names.join(", "));
        std::process::exit(2);
    };
    bolero::check!().for_each(|input: &[u8]| (target.check)(input));
}
