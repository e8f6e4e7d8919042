//! What every tool takes and refuses.

use std::time::Duration;

use domain::{About, ArtifactContent, ArtifactId};
use serde_json::{Value, json};

use super::*;

fn parsed(name: &str, args: &Value) -> Result<ToolRequest, ToolError> {
    parse(name, args.as_object().unwrap())
}

fn ok(name: &str, args: &Value) -> ToolRequest {
    parsed(name, args).unwrap_or_else(|error| panic!("{name} {args}: {}", error.text))
}

/// The code and what follows the first line of its text.
fn refused(name: &str, args: &Value) -> (ToolCode, Vec<String>) {
    let error = parsed(name, args).unwrap_err();
    (error.code, error.text.lines().skip(1).map(str::to_owned).collect())
}

fn violations(name: &str, args: &Value) -> Vec<String> {
    let (code, lines) = refused(name, args);
    assert_eq!(code, ToolCode::InvalidArguments, "{name} {args}");
    lines
}

fn path(text: &str) -> WorkspacePath {
    WorkspacePath::parse(text).unwrap()
}

#[test]
fn every_tool_reads_its_arguments_and_fills_in_its_defaults() {
    assert_eq!(ok("ls", &json!({"path": ""})), ToolRequest::Ls(Ls { path: path(".") }));
    assert_eq!(
        ok("read_file", &json!({"file_path": "a"})),
        ToolRequest::ReadFile(ReadFile {
            path: ReadPath::Workspace(path("a")),
            offset: 0,
            limit: 100
        })
    );
    assert_eq!(
        ok("write_file", &json!({"file_path": "/workspace/a", "content": "x\r\n"})),
        ToolRequest::WriteFile(WriteFile { path: path("a"), content: "x\r\n".into() })
    );
    assert_eq!(
        ok("edit_file", &json!({"file_path": "a", "old_string": "x", "new_string": ""})),
        ToolRequest::EditFile(EditFile {
            path: path("a"),
            old: "x".into(),
            new: String::new(),
            replace_all: false
        })
    );
    assert_eq!(
        ok("delete", &json!({"file_path": "a"})),
        ToolRequest::Delete(Delete { path: path("a") })
    );
    assert_eq!(
        ok("glob", &json!({"pattern": "*.py", "path": null})),
        ToolRequest::Glob(Glob { pattern: "*.py".into(), path: path(".") })
    );
    assert_eq!(
        ok(
            "grep",
            &json!({"pattern": "x", "glob": "*.py", "output_mode": "count", "max_count": 5})
        ),
        ToolRequest::Grep(Grep {
            pattern: "x".into(),
            path: path("."),
            glob: Some("*.py".into()),
            mode: GrepMode::Counts,
            max_count: 5
        })
    );
    assert_eq!(
        ok("publish_artifact", &json!({"path": "/workspace/a.csv"})),
        ToolRequest::PublishArtifact(PublishArtifact {
            path: path("a.csv"),
            media_type: "application/octet-stream".into()
        })
    );
}

#[test]
fn t17_a_commands_time_limit_has_a_default_and_a_maximum() {
    let timeout = |timeout: Value| match ok("execute", &json!({"command": "x", "timeout": timeout}))
    {
        ToolRequest::Execute(Execute { timeout, .. }) => timeout,
        other => panic!("{other:?}"),
    };
    assert_eq!(timeout(Value::Null), Duration::from_mins(2));
    assert_eq!(timeout(json!(0)), Duration::from_hours(1));
    assert_eq!(timeout(json!(1)), Duration::from_secs(1));
    assert_eq!(timeout(json!(7.0)), Duration::from_secs(7));
    assert_eq!(timeout(json!(3600)), Duration::from_hours(1));
    let (code, _) = refused("execute", &json!({"command": "x", "timeout": 99_999}));
    assert_eq!(code, ToolCode::TimeoutTooLarge);
    let (code, _) = refused("execute", &json!({"command": "x", "timeout": 3601}));
    assert_eq!(code, ToolCode::TimeoutTooLarge);
    let negative = violations("execute", &json!({"command": "x", "timeout": -1}));
    assert_eq!(negative, ["/timeout must be at least 0"]);
}

#[test]
fn t20_every_violation_is_named_by_its_pointer_and_no_value_is_repeated() {
    let args = json!({
        "pattern": 7,
        "output_mode": "canary",
        "max_count": 0,
        "a/b~c": "canary",
        "path": ["canary"],
    });
    assert_eq!(
        violations("grep", &args),
        [
            "/pattern must be a string",
            "/path must be a string",
            "/output_mode must be one of files_with_matches, content, count",
            "/max_count must be at least 1",
            "/a~1b~0c is not an argument of this tool",
        ]
    );
    assert_eq!(
        violations("write_file", &json!({})),
        ["/file_path is required", "/content is required"]
    );
    let wrong = json!({"file_path": "a", "offset": 1.5, "limit": "9"});
    assert_eq!(
        violations("read_file", &wrong),
        ["/offset must be an integer", "/limit must be an integer"]
    );
    let wrong =
        json!({"file_path": null, "old_string": "a", "new_string": "b", "replace_all": "yes"});
    assert_eq!(
        violations("edit_file", &wrong),
        ["/file_path must be a string", "/replace_all must be true or false"]
    );
}

#[test]
fn t20_an_unknown_tool_is_told_which_there_are() {
    let error = parsed("fly", &json!({})).unwrap_err();
    assert_eq!(error.code, ToolCode::UnknownTool);
    for tool in BuiltIn::ALL {
        assert!(error.text.contains(tool.name()));
    }
}

#[test]
fn an_edit_that_changes_nothing_or_everywhere_is_refused() {
    let edit =
        |old: &str, new: &str| json!({"file_path": "a", "old_string": old, "new_string": new});
    assert_eq!(violations("edit_file", &edit("", "x")), ["/old_string must not be empty"]);
    assert_eq!(
        violations("edit_file", &edit("x", "x")),
        ["/new_string must differ from old_string"]
    );
}

#[test]
fn empty_patterns_and_commands_are_refused() {
    assert_eq!(violations("grep", &json!({"pattern": ""})), ["/pattern must not be empty"]);
    assert_eq!(violations("glob", &json!({"pattern": ""})), ["/pattern must not be empty"]);
    assert_eq!(violations("execute", &json!({"command": " \n"})), ["/command must not be empty"]);
    let nul = violations("execute", &json!({"command": "a\0b"}));
    assert_eq!(nul, ["/command must not hold a NUL character"]);
}

#[test]
fn a_media_type_is_one_line() {
    for bad in ["text/csv\r\nx: y", "", " ", "a\u{0}", &"x".repeat(256)] {
        let args = json!({"path": "/workspace/a", "media_type": bad});
        assert_eq!(
            violations("publish_artifact", &args),
            ["/media_type must be a media type on one line"]
        );
    }
}

#[test]
fn t12_a_path_outside_the_workspace_is_refused_by_every_tool() {
    for path in ["../x", "~/x", "C:\\x", "/a/../b", "/etc/passwd"] {
        for (tool, args) in [
            ("ls", json!({"path": path})),
            ("read_file", json!({"file_path": path})),
            ("write_file", json!({"file_path": path, "content": ""})),
            ("edit_file", json!({"file_path": path, "old_string": "a", "new_string": "b"})),
            ("delete", json!({"file_path": path})),
            ("glob", json!({"pattern": "*", "path": path})),
            ("grep", json!({"pattern": "x", "path": path})),
            ("publish_artifact", json!({"path": path})),
        ] {
            assert_eq!(refused(tool, &args).0, ToolCode::InvalidPath, "{tool} {path}");
        }
    }
}

#[test]
fn only_read_file_takes_what_the_client_sent() {
    let part = "/artifacts/a2a-input-1";
    assert!(parsed("read_file", &json!({"file_path": part})).is_ok());
    let (code, _) = refused("write_file", &json!({"file_path": part, "content": ""}));
    assert_eq!(code, ToolCode::InvalidPath);
    assert_eq!(refused("delete", &json!({"file_path": part})).0, ToolCode::InvalidPath);
}

#[test]
fn the_workspace_itself_cannot_be_deleted() {
    for path in ["", ".", "/", "/workspace", "/workspace/"] {
        assert_eq!(refused("delete", &json!({"file_path": path})).0, ToolCode::InvalidPath);
    }
}

#[test]
fn a_file_may_have_two_mebibytes_and_not_a_byte_more() {
    let write = |bytes| json!({"file_path": "a", "content": "x".repeat(bytes)});
    assert!(parsed("write_file", &write(MAX_WRITE_BYTES)).is_ok());
    assert_eq!(refused("write_file", &write(MAX_WRITE_BYTES + 1)).0, ToolCode::TooLarge);
}

#[test]
fn every_class_of_repetition_is_as_the_specification_has_it() {
    let class = |name, args| ok(name, &args).idempotency().as_str();
    assert_eq!(class("ls", json!({"path": "."})), "pure");
    assert_eq!(class("read_file", json!({"file_path": "a"})), "pure");
    assert_eq!(class("glob", json!({"pattern": "*"})), "pure");
    assert_eq!(class("grep", json!({"pattern": "x"})), "pure");
    assert_eq!(class("write_file", json!({"file_path": "a", "content": ""})), "idempotent");
    assert_eq!(class("publish_artifact", json!({"path": "/workspace/a"})), "idempotent");
    let edit = json!({"file_path": "a", "old_string": "a", "new_string": "b"});
    assert_eq!(class("edit_file", edit), "verify");
    assert_eq!(class("delete", json!({"file_path": "a"})), "verify");
    assert_eq!(class("execute", json!({"command": "x"})), "journaled");
}

#[test]
fn the_schemas_are_closed_objects_whose_defaults_the_parser_agrees_with() {
    let specs = specs();
    let names: Vec<_> = specs.iter().map(|spec| spec.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "ls",
            "read_file",
            "write_file",
            "edit_file",
            "delete",
            "glob",
            "grep",
            "execute",
            "publish_artifact",
            "ask_client",
            "decline_task",
            "reply_directly",
            "conclude",
            "put_artifact",
        ]
    );
    for spec in &specs {
        let schema = &spec.input_schema;
        assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
        assert_eq!(schema["type"], "object");
        assert_eq!(schema["additionalProperties"], false);
        // With every required argument present and every default spelled out, the request is the
        // same as with the defaults left out.
        let mut least = serde_json::Map::new();
        for name in schema["required"].as_array().unwrap() {
            let name = name.as_str().unwrap();
            let value = if name.contains("path") { "/workspace/a" } else { name };
            least.insert(name.to_owned(), value.into());
        }
        if spec.name == "put_artifact" {
            // One of its contents is required, which a schema of one level cannot say.
            least.insert("text".to_owned(), "x".into());
        }
        let mut full = least.clone();
        for (name, property) in schema["properties"].as_object().unwrap() {
            assert!(property["description"].is_string());
            if let Some(default) = property.get("default") {
                full.insert(name.clone(), default.clone());
            }
        }
        let least = ok(&spec.name, &least.into());
        assert_eq!(least, ok(&spec.name, &full.into()));
        assert_eq!(least.tool().name(), spec.name);
    }
}

#[test]
fn only_the_tools_that_change_a_file_name_it_as_changed() {
    let write = ok("write_file", &json!({"file_path": "a", "content": ""}));
    assert_eq!((write.writes_path(), write.reads_path()), (Some(&path("a")), None));
    let publish = ok("publish_artifact", &json!({"path": "/workspace/a"}));
    assert_eq!((publish.writes_path(), publish.reads_path()), (None, Some(&path("a"))));
    let run = ok("execute", &json!({"command": "x"}));
    assert_eq!((run.writes_path(), run.reads_path()), (None, None));
}

fn put(args: &Value) -> PutArtifact {
    match ok("put_artifact", args) {
        ToolRequest::Say(Say::Put(put)) => put,
        other => panic!("{other:?}"),
    }
}

/// O13, O14: one content and only one; null alone is the JSON value null.
#[test]
fn an_artifact_has_exactly_one_content() {
    let data = |json: &str| ArtifactContent::Data { json: json.to_owned() };
    let whole = put(&json!({"text": "x"}));
    assert_eq!((whole.append, whole.last_chunk, whole.artifact), (false, true, None));
    assert_eq!(whole.content, ArtifactContent::Text { text: "x".into() });
    for value in [json!({"a": [1, null]}), json!([]), json!("x"), json!(3), json!(true)] {
        assert_eq!(put(&json!({"data": value})).content, data(&value.to_string()));
    }
    assert_eq!(put(&json!({"data": null})).content, data("null"));
    assert_eq!(put(&json!({"data": null, "text": null, "url": null})).content, data("null"));
    let text = put(&json!({"data": null, "text": "", "url": null}));
    assert_eq!(text.content, ArtifactContent::Text { text: String::new() });
    let url = "https://example.com/output.txt";
    let link = put(&json!({"url": url, "filename": "output.txt", "media_type": "text/plain",
        "name": "n", "description": "d", "extensions": ["urn:e"], "artifact_id": "a"}));
    assert_eq!(link.content, ArtifactContent::Link { url: url.into() });
    assert_eq!((link.name.as_deref(), link.artifact), (Some("n"), Some(ArtifactId("a".into()))));
    let about = About {
        description: Some("d".into()),
        extensions: vec!["urn:e".into()],
        media_type: Some("text/plain".into()),
        filename: Some("output.txt".into()),
    };
    assert_eq!(link.about, about);
    for wrong in [
        json!({}),
        json!({"text": null}),
        json!({"text": "x", "url": url}),
        json!({"text": "x", "data": 0}),
        json!({"url": "output.txt"}),
        json!({"url": "x:a b"}),
        json!({"text": "x", "artifact_id": "a\nb"}),
        json!({"text": "x", "extensions": [1]}),
        json!({"text": "x", "filename": ""}),
    ] {
        assert_eq!(violations("put_artifact", &wrong).len(), 1, "{wrong}");
    }
}

#[test]
fn a_last_word_is_a_text_that_can_be_stored() {
    use crate::speech::{LastWord, Need};

    let word = |tool, args: Value| match ok(tool, &args) {
        ToolRequest::Say(Say::LastWord(word)) => word,
        other => panic!("{other:?}"),
    };
    let asked = |need| LastWord::Asked { question: "which?".into(), need };
    assert_eq!(word("ask_client", json!({"question": "which?"})), asked(Need::Input));
    let authorization = json!({"question": "which?", "need": "authorization"});
    assert_eq!(word("ask_client", authorization), asked(Need::Authorization));
    assert_eq!(
        word("conclude", json!({"message": "m"})),
        LastWord::Concluded { message: "m".into() }
    );
    for (tool, name) in [
        ("ask_client", "question"),
        ("decline_task", "reason"),
        ("reply_directly", "text"),
        ("conclude", "message"),
    ] {
        for wrong in ["", " \n", "a\u{0}"] {
            assert_eq!(violations(tool, &json!({name: wrong})).len(), 1, "{tool} {wrong:?}");
        }
    }
    assert!(BuiltIn::ALL.iter().filter(|tool| tool.is_client_tool()).count() == 5);
}
