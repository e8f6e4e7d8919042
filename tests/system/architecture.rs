//! The arrows between our crates, who may use which outside crate, and the rules of size.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Left may use right; nothing else.
const ALLOWED: &[(&str, &[&str])] = &[
    ("domain", &[]),
    ("sandbox-protocol", &[]),
    ("lambda-kit", &[]),
    ("messages", &["domain"]),
    ("a2a", &["domain"]),
    ("agent", &["domain"]),
    ("cloud", &["domain", "lambda-kit", "messages"]),
    ("store", &["domain", "messages"]),
    ("model", &["agent", "domain"]),
    ("dispatch", &["cloud", "domain", "lambda-kit", "messages", "store"]),
    ("published", &["cloud", "domain", "store"]),
    ("view", &["a2a", "agent", "cloud", "domain", "published", "store"]),
    ("sealing", &[]),
    ("webhook", &["domain", "sealing"]),
    ("sandbox-runtime", &["sandbox-protocol"]),
];

/// Only these of ours may use the outside crates that match.
const OWNED_BY: &[(&str, &[&str])] = &[
    ("tokio-postgres", &["store"]),
    ("deadpool-postgres", &["store"]),
    ("rusqlite", &["store"]),
    ("aws-config", &["cloud"]),
    ("aws-sdk-", &["cloud"]),
    ("s3s", &["cognition-local"]),
    ("axum", &["sandbox-runtime"]),
    ("lambda_runtime", FUNCTIONS),
    ("lambda_http", &["a2a-ingress", "cognition-local"]),
];

const FUNCTIONS: &[&str] = &[
    "a2a-ingress",
    "artifact-publisher",
    "push-notifier",
    "run-orchestrator",
    "sandbox-controller",
    "sweeper",
];

/// May use everything of ours, as wirings and tests do.
const WIRINGS: &[&str] =
    &["codec-bench", "cognition-local", "fuzz-targets", "system-tests", "testkit"];

/// What runs beside untrusted code must not even link these.
const NOT_IN_THE_SANDBOX: &[&str] = &["aws-", "tokio-postgres", "rusqlite", "reqwest", "rustls"];

/// Licences that this project may depend on (SPDX terms).
const LICENCES: &[&str] = &[
    "MIT",
    "MIT-0",
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "ISC",
    "MPL-2.0",
    "Zlib",
    "Unicode-3.0",
    "CC0-1.0",
    "CDLA-Permissive-2.0",
    "0BSD",
    "OpenSSL",
    "Unlicense",
    "BSL-1.0",
];

struct Workspace {
    metadata: Value,
}

impl Workspace {
    fn read() -> Self {
        let output = Command::new(env!("CARGO"))
            .args(["metadata", "--format-version", "1", "--locked"])
            .current_dir(root())
            .output()
            .expect("cargo runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Self { metadata: serde_json::from_slice(&output.stdout).expect("cargo prints JSON") }
    }

    fn packages(&self) -> impl Iterator<Item = &Value> {
        self.metadata["packages"].as_array().unwrap().iter()
    }

    fn ours(&self) -> impl Iterator<Item = &Value> {
        self.packages().filter(|p| p["source"].is_null())
    }
}

/// Names of everything that a build of `name` alone links. Cargo's tree, unlike its metadata, has the
/// features that this one package asks for, not those of the whole workspace.
fn linked(name: &str) -> BTreeSet<String> {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--package", name, "--edges", "normal", "--prefix", "none", "--locked"])
        .current_dir(root())
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let tree = String::from_utf8(output.stdout).expect("cargo prints text");
    let names = tree.lines().filter_map(|line| line.split_whitespace().next());
    names.map(str::to_owned).collect()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

fn name(package: &Value) -> &str {
    package["name"].as_str().unwrap()
}

fn dependencies(package: &Value) -> impl Iterator<Item = (&str, bool)> {
    package["dependencies"]
        .as_array()
        .unwrap()
        .iter()
        .map(|d| (d["name"].as_str().unwrap(), d["kind"].as_str() == Some("dev")))
}

#[test]
fn arrows_between_our_crates_are_the_allowed_ones() {
    let workspace = Workspace::read();
    let ours: BTreeSet<&str> = workspace.ours().map(name).collect();
    let mut wrong = Vec::new();
    for package in workspace.ours() {
        let from = name(package);
        for (to, dev) in dependencies(package).filter(|(to, _)| ours.contains(to)) {
            let fine = if WIRINGS.contains(&from) {
                from != "testkit" || !FUNCTIONS.contains(&to)
            } else if to == "testkit" {
                dev
            } else if FUNCTIONS.contains(&from) {
                !FUNCTIONS.contains(&to) && to != "sandbox-runtime" && !WIRINGS.contains(&to)
            } else {
                let allowed = ALLOWED.iter().find(|(crate_, _)| *crate_ == from);
                allowed.is_some_and(|(_, to_)| to_.contains(&to))
            };
            if !fine {
                wrong.push(format!("{from} must not use {to}"));
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn an_outside_system_has_one_owner() {
    let workspace = Workspace::read();
    let mut wrong = Vec::new();
    for package in workspace.ours() {
        for (to, dev) in dependencies(package).filter(|(_, dev)| !dev) {
            let _ = dev;
            for (outside, owners) in OWNED_BY {
                let matches = to == *outside || (outside.ends_with('-') && to.starts_with(outside));
                if matches && !owners.contains(&name(package)) {
                    wrong.push(format!(
                        "{} must go through {owners:?} instead of using {to}",
                        name(package)
                    ));
                }
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn what_runs_beside_untrusted_code_links_no_cloud_and_no_database() {
    let linked = linked("sandbox-runtime");
    for crate_ in &linked {
        for banned in NOT_IN_THE_SANDBOX {
            assert!(!crate_.starts_with(banned), "sandbox-runtime links {crate_}");
        }
    }
    assert!(linked.contains("tokio"), "the walk found what the runtime links");
}

#[test]
fn every_dependency_comes_from_the_registry_under_a_known_licence() {
    let mut wrong = Vec::new();
    for package in Workspace::read().packages().filter(|p| !p["source"].is_null()) {
        let source = package["source"].as_str().unwrap();
        if !source.starts_with("registry+") && !source.starts_with("sparse+") {
            wrong.push(format!("{} comes from elsewhere", name(package)));
        }
        let licence = package["license"].as_str().unwrap_or_default();
        // One known term of an `OR` is enough; every term of an `AND` must be known.
        let known = licence.replace('/', " OR ").split(" OR ").any(|choice| {
            choice.split(" AND ").all(|term| {
                let term = term.trim_matches(|c: char| c == '(' || c == ')' || c == ' ');
                LICENCES.contains(&term.split(" WITH ").next().unwrap_or_default())
            })
        });
        if !known {
            wrong.push(format!("{}: {licence:?}", name(package)));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn a_main_is_short_and_says_little() {
    for function in std::fs::read_dir(root().join("functions")).unwrap() {
        let main = function.unwrap().path().join("src/main.rs");
        let lines = std::fs::read_to_string(&main).unwrap().lines().count();
        assert!(lines <= 40, "{} has {lines} lines", main.display());
    }
}
