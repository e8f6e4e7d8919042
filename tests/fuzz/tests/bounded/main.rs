//! Every target on its corpus, and on a bounded number of inputs that are made of it.

#[cfg(test)]
mod harness;
#[cfg(test)]
mod mutate;

#[cfg(test)]
use harness::{corpus, run};

/// A test per target, so that they run side by side and one finding does not hide another.
macro_rules! targets {
    ($($name:ident),+ $(,)?) => {
        $(#[test]
        fn $name() {
            run(stringify!($name));
        })+

        #[test]
        fn every_target_has_its_test_and_its_corpus() {
            let tests = [$(stringify!($name)),+];
            assert_eq!(fuzz_targets::TARGETS.iter().map(|t| t.name).collect::<Vec<_>>(), tests);
            let folders = std::fs::read_dir(corpus()).unwrap();
            let mut folders: Vec<_> =
                folders.map(|f| f.unwrap().file_name().into_string().unwrap()).collect();
            folders.sort();
            assert_eq!(folders, tests);
        }
    };
}

targets!(
    bindings,
    card_settings,
    extensions,
    headers,
    json_rpc,
    page_tokens,
    parts,
    rest,
    security_settings,
    sse_writer,
    types,
    v03,
    webhook_guard,
);
