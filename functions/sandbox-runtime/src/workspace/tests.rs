use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::time::{Duration, Instant};

use proptest::prelude::*;
use sandbox_protocol::files::StatRequest;
use sandbox_protocol::glob::Pattern;
use sandbox_protocol::limits::{
    MAX_ENTRIES, MAX_GLOB_MATCHES, MAX_MATCHED_LINE, MAX_SEARCHED_FILE,
};
use tempfile::TempDir;

use super::draft::Draft;
use super::grep::Grep;
use super::*;

fn path(text: &str) -> RelativePath {
    RelativePath::parse(text).unwrap()
}

/// A workspace beside a file that must stay out of reach.
fn workspace() -> (TempDir, Workspace) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("w")).unwrap();
    std::fs::write(folder.path().join("secret"), "secret").unwrap();
    let workspace = Workspace::new(folder.path().join("w"));
    (folder, workspace)
}

fn write(workspace: &Workspace, to: &str, content: &str) -> Result<(), Refusal> {
    let mut draft = Draft::begin(workspace, &path(to))?;
    draft.append(content.as_bytes())?;
    draft.land(&path(to), None).map(drop)
}

fn code<T>(result: Result<T, Refusal>) -> ErrorCode {
    result.map(drop).unwrap_err().0
}

fn later() -> Instant {
    Instant::now() + Duration::from_mins(1)
}

#[test]
fn scenario_36_what_is_no_regular_file_of_the_workspace_is_not_read() {
    let (folder, workspace) = workspace();
    let root = workspace.root();
    symlink("../secret", root.join("leaf")).unwrap();
    symlink(folder.path(), root.join("parent")).unwrap();
    std::fs::create_dir(root.join("dir")).unwrap();
    std::fs::write(root.join("file"), "x").unwrap();
    std::fs::hard_link(folder.path().join("secret"), root.join("hard")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(root.join("socket")).unwrap();
    let fifo = std::process::Command::new("mkfifo").arg(root.join("fifo")).status();
    assert!(fifo.unwrap().success());
    let read = |text| code(workspace.read_bounded(&path(text), 10));
    assert_eq!(read("leaf"), ErrorCode::InvalidPath);
    assert_eq!(read("parent/secret"), ErrorCode::InvalidPath);
    assert_eq!(read("dir"), ErrorCode::IsDirectory);
    assert_eq!(read("file/x"), ErrorCode::Conflict);
    assert_eq!(read("hard"), ErrorCode::NotAFile);
    assert_eq!(read("socket"), ErrorCode::NotAFile);
    assert_eq!(read("fifo"), ErrorCode::NotAFile, "and without waiting for a writer");
    assert_eq!(read("nothing"), ErrorCode::NotFound);
    assert_eq!(workspace.read_bounded(&path("file"), 10).unwrap().bytes, b"x");
}

#[test]
fn scenario_36_a_device_is_not_read() {
    let devices = Workspace::new("/dev".into());
    assert_eq!(code(devices.read_bounded(&path("zero"), 10)), ErrorCode::NotAFile);
}

#[test]
fn scenario_36_a_root_that_is_a_link_is_no_root() {
    let (folder, workspace) = workspace();
    write(&workspace, "file", "x").unwrap();
    symlink(workspace.root(), folder.path().join("link")).unwrap();
    let linked = Workspace::new(folder.path().join("link"));
    assert_eq!(code(linked.read_bounded(&path("file"), 10)), ErrorCode::InvalidPath);
    assert_eq!(code(write(&linked, "other", "x")), ErrorCode::InvalidPath);
}

#[test]
fn scenario_37_the_limit_is_inclusive() {
    let (_folder, workspace) = workspace();
    write(&workspace, "file", "12345").unwrap();
    write(&workspace, "empty", "").unwrap();
    assert_eq!(workspace.read_bounded(&path("file"), 5).unwrap().bytes, b"12345");
    assert_eq!(code(workspace.read_bounded(&path("file"), 4)), ErrorCode::TooLarge);
    assert_eq!(workspace.read_bounded(&path("empty"), 1).unwrap().bytes, b"");
}

/// No room is made for what its size says.
#[test]
fn scenario_37_a_file_of_any_size_is_refused() {
    let (_folder, workspace) = workspace();
    let file = File::create(workspace.root().join("huge")).unwrap();
    file.set_len(1 << 43).unwrap();
    assert_eq!(code(workspace.read_bounded(&path("huge"), 10)), ErrorCode::TooLarge);
}

#[test]
fn scenario_37_a_file_that_changes_while_it_is_read_is_refused() {
    let (_folder, workspace) = workspace();
    write(&workspace, "file", "12345").unwrap();
    let grow = |text: &str| {
        let opened = workspace.open_file(&path("file")).unwrap();
        std::fs::write(workspace.root().join("file"), text).unwrap();
        opened
    };
    let (file, stat) = grow("123456");
    assert_eq!(code(bounded::read_whole(file, &stat, 100)), ErrorCode::ChangedDuringRead);
    let (file, stat) = grow("1234567");
    assert_eq!(code(bounded::read_whole(file, &stat, 6)), ErrorCode::TooLarge);
}

#[test]
fn scenario_34_a_link_is_never_written_through() {
    let (folder, workspace) = workspace();
    symlink("../secret", workspace.root().join("leaf")).unwrap();
    symlink(folder.path(), workspace.root().join("parent")).unwrap();
    symlink("nowhere", workspace.root().join("dangling")).unwrap();
    for target in ["leaf", "parent/secret", "parent/new", "dangling", "leaf/x"] {
        assert_eq!(code(write(&workspace, target, "x")), ErrorCode::InvalidPath, "{target}");
    }
    assert_eq!(std::fs::read(folder.path().join("secret")).unwrap(), b"secret");
    assert!(!folder.path().join("new").exists());
    write(&workspace, "file", "x").unwrap();
    assert_eq!(code(write(&workspace, "file/x", "x")), ErrorCode::Conflict);
    assert_eq!(code(workspace.make_directory(&path("parent/new"))), ErrorCode::InvalidPath);
}

#[test]
fn a_draft_that_does_not_land_leaves_nothing_and_is_never_listed() {
    let (_folder, workspace) = workspace();
    write(&workspace, "file", "old").unwrap();
    let mut draft = Draft::begin(&workspace, &path("file")).unwrap();
    draft.append(b"new").unwrap();
    assert_eq!(std::fs::read_dir(workspace.root()).unwrap().count(), 2);
    assert_eq!(workspace.list(&RelativePath::ROOT).unwrap().entries.len(), 1);
    drop(draft);
    assert_eq!(std::fs::read_dir(workspace.root()).unwrap().count(), 1);
    assert_eq!(std::fs::read(workspace.root().join("file")).unwrap(), b"old");
}

#[test]
fn scenario_34_what_stands_at_a_target_is_looked_at_before_a_draft_is_begun() {
    let (_folder, workspace) = workspace();
    symlink("../secret", workspace.root().join("link")).unwrap();
    std::fs::create_dir(workspace.root().join("dir")).unwrap();
    assert_eq!(code(Draft::begin(&workspace, &path("link"))), ErrorCode::InvalidPath);
    assert_eq!(code(Draft::begin(&workspace, &path("dir"))), ErrorCode::IsDirectory);
}

#[test]
fn scenario_34_what_came_to_stand_at_a_target_meanwhile_is_not_replaced() {
    let (_folder, workspace) = workspace();
    let link = workspace.root().join("file");
    let draft = Draft::begin(&workspace, &path("file")).unwrap();
    symlink("../secret", &link).unwrap();
    assert_eq!(code(draft.land(&path("file"), None)), ErrorCode::InvalidPath);
    assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
}

#[test]
fn a_file_that_changed_since_it_was_read_is_not_replaced() {
    let (_folder, workspace) = workspace();
    write(&workspace, "file", "read").unwrap();
    let (_, read) = workspace.open_file(&path("file")).unwrap();
    let mut draft = Draft::begin(&workspace, &path("file")).unwrap();
    draft.append(b"edited").unwrap();
    write(&workspace, "file", "changed").unwrap();
    assert_eq!(code(draft.land(&path("file"), Some(&read))), ErrorCode::ChangedDuringRead);
    assert_eq!(std::fs::read(workspace.root().join("file")).unwrap(), b"changed");
}

#[test]
fn a_replaced_file_keeps_its_mode_and_a_new_one_is_plain() {
    let (_folder, workspace) = workspace();
    let file = workspace.root().join("file");
    write(&workspace, "file", "x").unwrap();
    let mode = || std::fs::metadata(&file).unwrap().mode() & 0o777;
    assert_eq!(mode() & 0o111, 0);
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o750)).unwrap();
    write(&workspace, "file", "y").unwrap();
    assert_eq!(mode(), 0o750);
}

#[test]
fn reading_follows_links_inside_the_workspace_and_none_out_of_it() {
    let (folder, workspace) = workspace();
    let root = workspace.root();
    write(&workspace, "dir/file", "x").unwrap();
    symlink("dir", root.join("relative")).unwrap();
    symlink(root.join("dir/file"), root.join("absolute")).unwrap();
    symlink(folder.path().join("secret"), root.join("out")).unwrap();
    symlink("loop", root.join("loop")).unwrap();
    let open = |text| workspace.open_file_following(&path(text)).map(drop);
    assert_eq!(open("relative/file"), Ok(()));
    assert_eq!(open("absolute"), Ok(()));
    assert_eq!(code(open("out")), ErrorCode::InvalidPath);
    assert_eq!(code(open("loop")), ErrorCode::InvalidPath);
    assert_eq!(workspace.list(&path("relative")).unwrap().entries[0].path, "relative/file");
    let entries = workspace.list(&RelativePath::ROOT).unwrap().entries;
    let found: Vec<_> = entries.iter().map(|e| (e.path.as_str(), e.kind, e.is_dir)).collect();
    let expected = [
        ("absolute", FileKind::Symlink, false),
        ("dir", FileKind::Directory, true),
        ("loop", FileKind::Symlink, false),
        ("out", FileKind::Symlink, false),
        ("relative", FileKind::Symlink, true),
    ];
    assert_eq!(found, expected);
}

#[test]
fn stat_tells_a_link_from_what_it_leads_to() {
    let (_folder, workspace) = workspace();
    write(&workspace, "file", "abc").unwrap();
    symlink("file", workspace.root().join("link")).unwrap();
    let request = |follow| StatRequest { sha256: true, follow, ..StatRequest::default() };
    let stat = |text, follow| workspace.stat(&path(text), &request(follow)).unwrap();
    assert_eq!((stat("link", false).kind, stat("link", false).sha256), (FileKind::Symlink, None));
    assert_eq!((stat("link", true).kind, stat("link", true).size), (FileKind::File, 3));
    assert_eq!(stat("link", true).sha256, stat("file", false).sha256);
    assert!(stat("file", false).sha256.unwrap().starts_with("ba7816bf"));
    let root = workspace.stat(&RelativePath::ROOT, &request(false)).unwrap();
    assert_eq!((root.kind, root.sha256), (FileKind::Directory, None));
}

fn files(workspace: &Workspace) {
    for file in ["a.py", "src/b.py", "src/deep/c.py", "src/d.rs", ".github/x.yml", "x.yml"] {
        write(workspace, file, "one foo\ntwo\nthree foo\n").unwrap();
    }
}

#[test]
fn t13_globs_find_files_in_order() {
    let (folder, workspace) = workspace();
    files(&workspace);
    symlink("src", workspace.root().join("linked")).unwrap();
    symlink("a.py", workspace.root().join("z.py")).unwrap();
    symlink(folder.path().join("secret"), workspace.root().join("out.py")).unwrap();
    std::fs::create_dir(workspace.root().join("dir.py")).unwrap();
    let glob = |start: &str, pattern| {
        let start = RelativePath::parse_or_root(start).unwrap();
        workspace.glob(&start, &Pattern::parse(pattern).unwrap(), later()).unwrap().paths
    };
    assert_eq!(glob("", "*.py"), ["a.py", "src/b.py", "src/deep/c.py", "z.py"]);
    assert_eq!(glob("", "/*.py"), ["a.py", "z.py"]);
    assert_eq!(glob("", "src/**/*.py"), ["src/b.py", "src/deep/c.py"]);
    assert_eq!(glob("src", "*.{py,rs}"), ["src/b.py", "src/d.rs", "src/deep/c.py"]);
    assert_eq!(glob("src", "/*.rs"), ["src/d.rs"]);
    assert_eq!(glob("", "**/*.yml"), ["x.yml"]);
    assert_eq!(glob("", "*.yml"), [".github/x.yml", "x.yml"]);
    let missing = workspace.glob(&path("none"), &Pattern::parse("*").unwrap(), later());
    assert_eq!(code(missing), ErrorCode::NotFound);
}

fn grep(workspace: &Workspace, start: &str, glob: Option<&str>, max: usize) -> (Vec<String>, bool) {
    let files = glob.map(|glob| Pattern::parse(glob).unwrap());
    let grep = Grep { pattern: "foo".to_owned(), files, max };
    let start = RelativePath::parse_or_root(start).unwrap();
    let found = workspace.grep(&start, &grep, later()).unwrap();
    let lines = found.matches.iter().map(|m| format!("{}:{}:{}", m.path, m.line, m.text));
    (lines.collect(), found.truncated)
}

#[test]
fn grep_finds_lines_literally_in_text_files() {
    let (_folder, workspace) = workspace();
    files(&workspace);
    std::fs::write(workspace.root().join("binary"), b"foo\0").unwrap();
    let (lines, truncated) = grep(&workspace, "src", Some("*.rs"), 10);
    assert_eq!(
        (lines, truncated),
        (vec!["src/d.rs:1:one foo".into(), "src/d.rs:3:three foo".into()], false)
    );
    assert_eq!(grep(&workspace, "a.py", None, 10).0.len(), 2);
    assert_eq!(grep(&workspace, "", None, 100).0.len(), 12);
    assert_eq!(grep(&workspace, "binary", None, 100).0.len(), 0);
}

#[test]
fn t15_exactly_the_cap_is_not_cut_short() {
    let (_folder, workspace) = workspace();
    write(&workspace, "file", &"foo\n".repeat(1_000)).unwrap();
    assert!(!grep(&workspace, "", None, 1_000).1);
    write(&workspace, "file", &"foo\n".repeat(1_001)).unwrap();
    assert_eq!(grep(&workspace, "", None, 1_000).0.len(), 1_000);
    assert!(grep(&workspace, "", None, 1_000).1);
}

#[test]
fn a_search_passes_over_what_is_too_large_and_shows_no_more_than_a_part_of_a_line() {
    let (_folder, workspace) = workspace();
    let most = usize::try_from(MAX_SEARCHED_FILE).unwrap();
    let sized = |size: usize| format!("foo\n{}", "a".repeat(size - 4));
    write(&workspace, "file", &sized(most)).unwrap();
    assert_eq!(grep(&workspace, "", None, 10).0.len(), 1);
    write(&workspace, "file", &sized(most + 1)).unwrap();
    let wanted = Grep { pattern: "foo".to_owned(), files: None, max: 10 };
    let found = workspace.grep(&RelativePath::ROOT, &wanted, later()).unwrap();
    assert_eq!((found.matches.len(), found.skipped), (0, 1));
    write(&workspace, "file", &format!("foo{}", "é".repeat(MAX_MATCHED_LINE))).unwrap();
    let found = workspace.grep(&RelativePath::ROOT, &wanted, later()).unwrap();
    assert_eq!(found.matches[0].text.chars().count(), MAX_MATCHED_LINE);
}

#[test]
fn a_list_and_a_glob_are_cut_short_where_there_is_too_much_and_say_so() {
    let (_folder, workspace) = workspace();
    let most = MAX_GLOB_MATCHES.max(MAX_ENTRIES);
    let make = |number: usize| {
        std::fs::write(workspace.root().join(format!("{number}")), "").unwrap();
    };
    let all = Pattern::parse("*").unwrap();
    let glob = || workspace.glob(&RelativePath::ROOT, &all, later()).unwrap();
    let list = || workspace.list(&RelativePath::ROOT).unwrap();
    (0..most).for_each(make);
    assert_eq!(glob().truncated, most > MAX_GLOB_MATCHES);
    assert_eq!(list().truncated, most > MAX_ENTRIES);
    make(most);
    assert_eq!((glob().paths.len(), glob().truncated), (MAX_GLOB_MATCHES, true));
    assert_eq!((list().entries.len(), list().truncated), (MAX_ENTRIES, true));
}

#[test]
fn folders_are_entered_down_to_a_depth_and_what_lies_deeper_is_said() {
    let (_folder, workspace) = workspace();
    let depth = |levels: usize| vec!["d"; levels].join("/");
    write(&workspace, &format!("{}/in", depth(256)), "").unwrap();
    write(&workspace, &format!("{}/out", depth(257)), "").unwrap();
    let all = Pattern::parse("**/*").unwrap();
    let found = workspace.glob(&RelativePath::ROOT, &all, later()).unwrap();
    assert_eq!((found.paths, found.skipped), (vec![format!("{}/in", depth(256))], 1));
}

#[test]
fn a_search_whose_time_is_up_says_so() {
    let (_folder, workspace) = workspace();
    files(&workspace);
    let pattern = Pattern::parse("*").unwrap();
    let past = Instant::now().checked_sub(Duration::from_secs(1)).unwrap();
    assert!(workspace.glob(&RelativePath::ROOT, &pattern, past).unwrap().truncated);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Folders full of links in all directions, and any accepted path: what is written lies below
    /// the root, and the files beside it stay as they are.
    #[test]
    fn no_accepted_path_changes_anything_outside(
        links in prop::collection::vec(("[abc]", "(\\.\\./){0,2}[abcs.]{0,2}"), 0..4),
        text in "[abc.]{1,2}(/[abc.]{1,2}){0,2}",
    ) {
        let (folder, workspace) = workspace();
        for (name, leads_to) in &links {
            let _ = symlink(leads_to, workspace.root().join(name));
        }
        let before: Vec<_> = std::fs::read_dir(folder.path()).unwrap().flatten()
            .map(|entry| entry.file_name()).collect();
        if let Ok(path) = RelativePath::parse(&text) {
            if write(&workspace, &text, "new").is_ok() {
                let real = std::fs::canonicalize(workspace.root().join(path.as_str())).unwrap();
                let root = std::fs::canonicalize(workspace.root()).unwrap();
                prop_assert!(real.starts_with(root));
            }
            let read = workspace.open_file_following(&path).and_then(|(file, _)| {
                std::io::read_to_string(file).map_err(Refusal::from)
            });
            prop_assert!(read != Ok("secret".to_owned()));
        }
        let after: Vec<_> = std::fs::read_dir(folder.path()).unwrap().flatten()
            .map(|entry| entry.file_name()).collect();
        prop_assert_eq!(before, after);
        prop_assert_eq!(std::fs::read(folder.path().join("secret")).unwrap(), b"secret");
    }
}
