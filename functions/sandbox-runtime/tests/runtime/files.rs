//! Files, through every route that touches them.

use std::os::unix::fs::MetadataExt as _;

use sandbox_protocol::client::Error;
use sandbox_protocol::compat::{DownloadReply, UploadRequest};
use sandbox_protocol::exec::StartExec;
use sandbox_protocol::files::{
    BoundedRead, DeleteRequest, EditReply, EditRequest, LsRequest, MkdirRequest, ReadRequest,
    StatRequest, WriteRequest,
};
use sandbox_protocol::search::{GlobRequest, GrepRequest};
use sandbox_protocol::{ErrorCode, RelativePath};

use crate::support::{Server, answer, code};

fn path(text: &str) -> RelativePath {
    RelativePath::parse(text).unwrap()
}

fn write(path: &str, content: &str) -> WriteRequest {
    WriteRequest { path: path.to_owned(), content: content.to_owned() }
}

#[tokio::test]
async fn a_file_s_life_through_the_tools() {
    let server = Server::start().await;
    let client = server.client();
    let written = client.write(&write("src/a.txt", "one\ntwo\n")).await.unwrap();
    assert_eq!((written.path.as_str(), written.bytes), ("src/a.txt", 8));
    let replaced = client.write(&write("src/a.txt", "one\ntwo\nthree\n")).await.unwrap();
    assert_ne!(replaced.sha256, written.sha256);
    client.mkdir(&MkdirRequest { path: "src/deep/er".to_owned() }).await.unwrap();
    client.mkdir(&MkdirRequest { path: "src/deep/er".to_owned() }).await.unwrap();
    let ls = client.ls(&LsRequest { path: "src".to_owned() }).await.unwrap();
    let entries: Vec<_> = ls.entries.iter().map(|e| (e.path.as_str(), e.is_dir)).collect();
    assert_eq!(entries, [("src/a.txt", false), ("src/deep", true)]);
    let stat = StatRequest { path: "src/a.txt".to_owned(), sha256: true, follow: false };
    let stat = client.stat(&stat).await.unwrap();
    assert_eq!((stat.size, stat.sha256), (14, Some(replaced.sha256)));
    let read = ReadRequest { path: "src/a.txt".to_owned(), offset: 1, ..ReadRequest::default() };
    let page = client.read(&read).await.unwrap();
    assert_eq!((page.content.as_str(), page.start_line), ("two\nthree", Some(2)));
    let glob = GlobRequest { pattern: "*.txt".to_owned(), path: None };
    assert_eq!(client.glob(&glob).await.unwrap().paths, ["src/a.txt"]);
    let grep = GrepRequest { pattern: "thr".to_owned(), ..GrepRequest::default() };
    let found = client.grep(&grep).await.unwrap().matches;
    assert_eq!((found.len(), found[0].line, found[0].text.as_str()), (1, 3, "three"));
    let delete = DeleteRequest { path: "src".to_owned() };
    assert_eq!(client.delete(&delete).await.unwrap().removed, 4);
    assert!(matches!(client.delete(&delete).await, Err(Error::NotFound)));
}

#[tokio::test]
async fn an_edit_can_be_repeated_and_happens_once() {
    let server = Server::start().await;
    let client = server.client();
    client.write(&write("f", "a b")).await.unwrap();
    let edit = EditRequest {
        path: "f".to_owned(),
        old: "a".to_owned(),
        new: "aa".to_owned(),
        ..EditRequest::default()
    };
    let dry = client.edit(&EditRequest { dry_run: true, ..edit.clone() }).await.unwrap();
    let EditReply::Edited { occurrences: 1, sha256_before, sha256_after } = dry else {
        panic!("{dry:?}")
    };
    assert_eq!(std::fs::read(server.workspace().join("f")).unwrap(), b"a b");
    let (if_sha256, done_sha256) = (Some(sha256_before), Some(sha256_after.clone()));
    let guarded = EditRequest { if_sha256, done_sha256, ..edit };
    let done = client.edit(&guarded).await.unwrap();
    assert!(matches!(done, EditReply::Edited { .. }), "{done:?}");
    let again = client.edit(&guarded).await.unwrap();
    assert_eq!(again, EditReply::AlreadyDone { sha256: sha256_after });
    assert_eq!(std::fs::read(server.workspace().join("f")).unwrap(), b"aa b");
    client.write(&write("f", "a c")).await.unwrap();
    assert!(matches!(client.edit(&guarded).await.unwrap(), EditReply::Stale { .. }));
    std::fs::write(server.workspace().join("bytes"), [0xff, b'a']).unwrap();
    let bytes = EditRequest { path: "bytes".to_owned(), old: "a".into(), ..Default::default() };
    assert_eq!(client.edit(&bytes).await.unwrap(), EditReply::NotText);
}

#[tokio::test]
async fn scenario_34_all_bytes_go_up_and_come_down() {
    let server = Server::start().await;
    let bytes: Vec<u8> = (0..=255).collect();
    server.client().put_file(&path("d/é ?&#.bin"), bytes.clone().into()).await.unwrap();
    let read = server.client().read_bounded(&path("d/é ?&#.bin"), 256).await.unwrap();
    assert_eq!(read.bytes, bytes);
    let down = serde_json::json!({ "path": server.workspace().join("d/é ?&#.bin") });
    let down = server
        .request("POST", "/download")
        .header("content-type", "application/json")
        .body(down.to_string())
        .send()
        .await
        .unwrap();
    let down: DownloadReply = serde_json::from_slice(&down.bytes().await.unwrap()).unwrap();
    let up = UploadRequest {
        path: "copy".to_owned(),
        content_base64: Some(down.content_base64),
        content: None,
        encoding: None,
    };
    let up = server
        .request("POST", "/upload")
        .header("content-type", "application/json")
        .body(serde_json::to_vec(&up).unwrap());
    assert_eq!(answer(up).await.0, 200);
    assert_eq!(std::fs::read(server.workspace().join("copy")).unwrap(), bytes);
    let down = server.request("GET", "/download?path=copy&max_bytes=255");
    assert_eq!(answer(down).await, (413, "too_large".to_owned()));
}

#[tokio::test]
async fn scenario_34_a_parent_that_is_a_file_and_a_target_that_is_a_link_are_refused() {
    let server = Server::start().await;
    let client = server.client();
    client.write(&write("file", "x")).await.unwrap();
    assert_eq!(code(client.put_file(&path("file/x"), "y".into()).await), ErrorCode::Conflict);
    let outside = server.folder.path().join("outside");
    std::fs::write(&outside, "untouched").unwrap();
    std::os::unix::fs::symlink(&outside, server.workspace().join("link")).unwrap();
    assert_eq!(code(client.put_file(&path("link"), "y".into()).await), ErrorCode::InvalidPath);
    assert_eq!(code(client.write(&write("link", "y")).await), ErrorCode::InvalidPath);
    let edit = EditRequest { path: "link".into(), old: "u".into(), ..Default::default() };
    assert_eq!(code(client.edit(&edit).await), ErrorCode::InvalidPath);
    assert_eq!(std::fs::read(&outside).unwrap(), b"untouched");
    // The link itself can go.
    client.delete(&DeleteRequest { path: "link".to_owned() }).await.unwrap();
    assert!(outside.exists() && !server.workspace().join("link").exists());
}

#[tokio::test]
async fn a_delete_does_not_follow_links_out_of_the_folder() {
    let server = Server::start().await;
    let outside = server.folder.path().join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("kept"), "x").unwrap();
    std::fs::create_dir(server.workspace().join("dir")).unwrap();
    if let Some(uid) = server.uid {
        std::os::unix::fs::chown(server.workspace().join("dir"), Some(uid), Some(uid)).unwrap();
    }
    std::os::unix::fs::symlink(&outside, server.workspace().join("dir/link")).unwrap();
    server.client().delete(&DeleteRequest { path: "dir".to_owned() }).await.unwrap();
    assert!(outside.join("kept").exists());
}

#[tokio::test]
async fn an_upload_with_another_digest_or_another_predecessor_changes_nothing() {
    let server = Server::start().await;
    let first = server.client().write(&write("f", "first")).await.unwrap();
    let put = |name: &'static str, value: &str| {
        server.request("PUT", "/v1/files?path=f").header(name, value).body("second")
    };
    let wrong = answer(put("x-content-sha256", &first.sha256)).await;
    assert_eq!(wrong, (400, "bad_request".to_owned()));
    let other = answer(put("if-match", &"0".repeat(64))).await;
    assert_eq!(other, (409, "conflict".to_owned()));
    assert_eq!(std::fs::read(server.workspace().join("f")).unwrap(), b"first");
    assert_eq!(answer(put("if-match", &format!("\"{}\"", first.sha256))).await.0, 200);
    assert_eq!(std::fs::read(server.workspace().join("f")).unwrap(), b"second");
}

#[tokio::test]
async fn scenario_36_a_bounded_read_takes_only_plain_paths() {
    let server = Server::start().await;
    server.client().write(&write("a/b", "x")).await.unwrap();
    for bad in ["../secret", "/etc/passwd", "a/../b", "a//b", ".", "", "a/./b", "a\\b", "a\0b"] {
        let body = BoundedRead { path: bad.to_owned(), max_bytes: 10 };
        let request = server
            .request("POST", "/v1/read-bounded")
            .header("content-type", "application/json")
            .body(serde_json::to_vec(&body).unwrap());
        assert_eq!(answer(request).await, (400, "invalid_path".to_owned()), "{bad:?}");
    }
}

#[tokio::test]
async fn scenario_37_the_limit_of_a_bounded_read_is_inclusive_and_itself_limited() {
    let server = Server::start().await;
    let client = server.client();
    let ten = 10 * 1024 * 1024;
    client.put_file(&path("ten"), vec![b'x'; ten].into()).await.unwrap();
    client.put_file(&path("empty"), "".into()).await.unwrap();
    assert_eq!(client.read_bounded(&path("ten"), ten as u64).await.unwrap().bytes.len(), ten);
    let less = client.read_bounded(&path("ten"), ten as u64 - 1).await;
    assert!(matches!(less, Err(Error::TooLarge)), "{less:?}");
    assert!(client.read_bounded(&path("empty"), 1).await.unwrap().bytes.is_empty());
    for limit in [0, ten as u64 + 1] {
        let refused = client.read_bounded(&path("empty"), limit).await;
        assert_eq!(code(refused), ErrorCode::BadRequest);
    }
}

#[tokio::test]
async fn scenario_39_protected_files_are_not_changed_by_any_route() {
    let server = Server::start().await;
    let client = server.client();
    let x = ".cognition/x".to_owned();
    assert_eq!(code(client.write(&write(&x, "y")).await), ErrorCode::PermissionDenied);
    assert_eq!(code(client.put_file(&path(&x), "y".into()).await), ErrorCode::PermissionDenied);
    let edit = EditRequest { path: x.clone(), old: "a".into(), ..EditRequest::default() };
    assert_eq!(code(client.edit(&edit).await), ErrorCode::PermissionDenied);
    let delete = DeleteRequest { path: ".cognition".to_owned() };
    assert_eq!(code(client.delete(&delete).await), ErrorCode::PermissionDenied);
    let mkdir = MkdirRequest { path: x };
    assert_eq!(code(client.mkdir(&mkdir).await), ErrorCode::PermissionDenied);
    client.write(&write(".cognitionfoo/x", "y")).await.unwrap();
    for root in ["", "."] {
        let delete = DeleteRequest { path: root.to_owned() };
        assert_eq!(code(client.delete(&delete).await), ErrorCode::InvalidPath);
    }
}

#[tokio::test]
async fn scenario_40_files_of_commands_and_of_routes_have_the_same_owner() {
    let server = Server::start().await;
    server.client().write(&write("by/route", "x")).await.unwrap();
    server
        .run(1, &StartExec::shell("mkdir -p by2 && touch by2/command && echo y >> by/route"))
        .await;
    let owner = |path: &str| {
        let stat = std::fs::metadata(server.workspace().join(path)).unwrap();
        (stat.uid(), stat.gid())
    };
    for path in ["by", "by/route", "by2", "by2/command"] {
        let expected = server.uid.map_or_else(|| owner("by"), |uid| (uid, uid));
        assert_eq!(owner(path), expected, "{path}");
    }
    assert_eq!(std::fs::read(server.workspace().join("by/route")).unwrap(), b"xy\n");
}

#[tokio::test]
async fn what_the_workload_may_not_open_a_route_does_not_open_for_it() {
    use std::os::unix::fs::PermissionsExt as _;
    let server = Server::start().await;
    // Without a user of its own the workload is us, and then nothing here is closed to it.
    if server.uid.is_none() {
        return;
    }
    let closed = server.workspace().join("closed");
    std::fs::write(&closed, "x").unwrap();
    std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o600)).unwrap();
    let read = server.client().read_bounded(&path("closed"), 10).await;
    assert_eq!(code(read), ErrorCode::PermissionDenied);
}

#[tokio::test]
async fn an_edit_that_names_no_change_is_refused() {
    let server = Server::start().await;
    server.client().write(&write("f", "a b")).await.unwrap();
    for (old, new) in [("", "x"), ("a", "a")] {
        let (old, new) = (old.to_owned(), new.to_owned());
        let path = "f".to_owned();
        let edit = EditRequest { path, old, new, replace_all: true, ..EditRequest::default() };
        assert_eq!(code(server.client().edit(&edit).await), ErrorCode::BadRequest);
    }
    assert_eq!(std::fs::read(server.workspace().join("f")).unwrap(), b"a b");
}

#[tokio::test]
async fn a_folder_that_is_nested_too_deeply_is_not_removed() {
    let server = Server::start().await;
    let folder = vec!["d"; 257].join("/");
    server.client().mkdir(&MkdirRequest { path: folder.clone() }).await.unwrap();
    let delete = DeleteRequest { path: "d".to_owned() };
    assert_eq!(code(server.client().delete(&delete).await), ErrorCode::LimitExceeded);
    assert!(server.workspace().join(folder).exists());
    // From its second level on it is not too deep.
    let delete = DeleteRequest { path: "d/d".to_owned() };
    assert_eq!(server.client().delete(&delete).await.unwrap().removed, 256);
}
