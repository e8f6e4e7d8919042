//! The demo model in a loop with tools that really write, run and read in a folder.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use agent::conversation::Block;
use agent::render::{self, MessageContext};
use agent::route::{self, Checked, Next, Outcome};
use agent::tools::{self, Execute, ToolRequest, command, files};
use agent::turn::StepKey;
use agent::{Message, ToolCode, ToolResult, history};
use domain::{Ids, PartKind, StoredPart};
use futures_util::StreamExt as _;

use super::*;
use crate::collect;

/// A sandbox that is a folder, some of whose calls fail.
struct Sandbox {
    folder: tempfile::TempDir,
    /// How often calls of a tool fail before they work.
    failures: BTreeMap<&'static str, u32>,
    failure: ToolCode,
    /// What every command exits with, having done nothing.
    exit: Option<i32>,
    /// What a failed call says.
    says: &'static str,
    /// A failed call takes the workspace with it.
    forgets: bool,
    published: BTreeMap<String, String>,
    /// Spoils what the awk command prints.
    spoiled: bool,
}

impl Sandbox {
    fn new(failures: &[(&'static str, u32)]) -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            failures: failures.iter().copied().collect(),
            failure: ToolCode::ToolFailed,
            exit: None,
            says: "The sandbox did not answer.",
            forgets: false,
            published: BTreeMap::new(),
            spoiled: false,
        }
    }

    fn run(&mut self, ids: &Ids, request: &ToolRequest) -> ToolResult {
        if let Some(left) = self.failures.get_mut(request.tool().name())
            && *left > 0
        {
            *left -= 1;
            if self.forgets {
                self.folder = tempfile::tempdir().unwrap();
            }
            return ToolResult::error(self.failure, self.says);
        }
        match request {
            ToolRequest::WriteFile(file) => {
                fs::write(self.folder.path().join(file.path.relative()), &file.content).unwrap();
                files::written(&file.path)
            }
            ToolRequest::Execute(_) if self.exit.is_some() => {
                command::render(&command::CommandOutput {
                    exit_code: self.exit,
                    ..command::CommandOutput::default()
                })
            }
            ToolRequest::Execute(Execute { command, .. }) => {
                let mut shell = Command::new("sh");
                shell.args(["-c", command]).current_dir(self.folder.path());
                let output = shell.output().unwrap();
                let mut text = String::from_utf8(output.stdout).unwrap();
                if self.spoiled {
                    text = text.replace("sum=", "sum=1");
                }
                command::render(&command::CommandOutput {
                    output: text,
                    exit_code: output.status.code(),
                    ..command::CommandOutput::default()
                })
            }
            ToolRequest::PublishArtifact(file) => {
                let Ok(bytes) = fs::read(self.folder.path().join(file.path.relative())) else {
                    return ToolResult::error(ToolCode::FileNotFound, "There is no such file.");
                };
                let size = bytes.len() as u64;
                let content = String::from_utf8(bytes).unwrap();
                let name = file.path.file_name().to_owned();
                assert!(self.published.insert(name, content).is_none(), "published twice");
                files::published(ids.publication(), &file.path, &file.media_type, size, "00")
            }
            other => panic!("the demo has no use for {other:?}"),
        }
    }
}

/// How a whole run went.
struct Run {
    log: Vec<Message>,
    outcome: Outcome,
    answer: String,
    /// The names of the tools of each step.
    steps: Vec<Vec<String>>,
}

async fn run(sandbox: &mut Sandbox, parts: &[StoredPart], without: &[&str]) -> Run {
    let ids = Ids::seeded(1);
    let content = render::content(parts, MessageContext::default());
    let mut log = vec![Message::user(ids.message(), content)];
    let mut steps = vec![];
    let run = ids.run();
    for step in 1..30 {
        match route::next(&log) {
            Next::Finish(outcome) => {
                let answer = history::answer(&log);
                return Run { log, outcome, answer, steps };
            }
            Next::Model => {
                // A fresh model each time: nothing may be kept between calls.
                let model = DemoModel::new(Duration::ZERO);
                let mut offered = tools::specs();
                offered.retain(|tool| !without.contains(&tool.name.as_str()));
                let messages = history::for_model(&log, &[]);
                let request =
                    ModelRequest { model: String::new(), system: vec![], messages, tools: offered };
                let timeout = Duration::from_secs(9);
                let context = CallContext { run, step, attempt: 1, timeout };
                let turn = collect(model.stream(request, context).await.unwrap()).await.unwrap();
                let at = StepKey { run, step, attempt: 1, provider: "demo", model: "" };
                log.push(turn.into_message(at, &history::call_ids(&log)));
            }
            Next::Tools(open) => {
                let message = log.iter().rev().find(|m| !m.calls().is_empty()).unwrap().clone();
                let mut names = vec![];
                for (id, name, checked) in route::check(&message, &[], &[]) {
                    assert!(open.contains(&id));
                    let Checked::Run(request) = checked else { panic!("{checked:?}") };
                    let result = sandbox.run(&ids, &request);
                    log.push(result.into_message(ids.message(), &id, &name));
                    names.push(name);
                }
                steps.push(names);
            }
        }
    }
    panic!("the demo does not come to an end");
}

fn text(value: &str) -> StoredPart {
    part(PartKind::Text, value)
}

fn part(kind: PartKind, value: &str) -> StoredPart {
    StoredPart {
        part_id: "a2a-input-77".into(),
        kind,
        value: value.to_owned(),
        media_type: None,
        filename: None,
        metadata: None,
    }
}

const DEMO: &str =
    "Analyze sales of 10, 20 and 30 dollars. Give me a CSV and a useful downloadable report.";

fn done() -> Outcome {
    Outcome::Completed { truncated: false }
}

#[tokio::test]
async fn the_sentence_of_the_demonstration_becomes_a_csv_and_a_report() {
    let mut sandbox = Sandbox::new(&[]);
    let run = run(&mut sandbox, &[text(DEMO)], &[]).await;
    assert_eq!(run.outcome, done());
    assert_eq!(
        run.steps,
        [
            vec!["write_file"],
            vec!["execute"],
            vec!["write_file"],
            vec!["publish_artifact", "publish_artifact"]
        ]
    );
    assert_eq!(sandbox.published["sales.csv"], "sale,amount_usd\n1,10\n2,20\n3,30\n");
    let report = &sandbox.published["report.md"];
    for line in [
        "# Sales report",
        "3 sales with a total of 60 USD: 20 USD on average, from 10 USD to 30 USD.",
        "| Median | 20 USD |",
        "| Standard deviation (sample) | 10 USD |",
        "| 3 | 30 | 50.0 % | ████████████████████████ |",
        "The figures were computed in the sandbox from sales.csv",
    ] {
        assert!(report.contains(line), "{line} is not in\n{report}");
    }
    let sizes = [("sales.csv", 31), ("report.md", report.len())];
    for (name, bytes) in sizes {
        assert!(run.answer.contains(&format!("- {name} ({bytes} bytes)")), "{}", run.answer);
    }
    assert!(run.answer.contains("total of 60 USD"));
    assert!(run.log[1].text().starts_with("I found 3 sales in your request: 10, 20 and 30."));
}

#[tokio::test]
async fn the_report_is_made_of_what_the_sandbox_computed() {
    let mut sandbox = Sandbox::new(&[]);
    run(&mut sandbox, &[text("Costs: €1,200.50, -3 and 0.1 in report2.csv of Q3")], &[]).await;
    assert_eq!(sandbox.published["costs.csv"], "cost,amount_eur\n1,1200.50\n2,-3\n3,0.1\n");
    let report = &sandbox.published["report.md"];
    assert!(report.contains("| Total | 1197.6 EUR |"), "{report}");
    assert!(report.contains("| Mean | 399.2 EUR |"), "{report}");
}

#[tokio::test]
async fn a_wrong_result_of_the_sandbox_is_not_believed() {
    let mut sandbox = Sandbox::new(&[]);
    sandbox.spoiled = true;
    let run = run(&mut sandbox, &[text(DEMO)], &[]).await;
    assert_eq!(run.steps[1..3], [["execute"], ["execute"]], "it is tried once more");
    assert!(sandbox.published["report.md"].contains("| Total | 60 USD |"));
    assert!(sandbox.published["report.md"].contains("the model computed the figures itself"));
    assert!(run.answer.contains("I computed these figures myself"));
}

#[tokio::test]
async fn a_request_without_numbers_is_answered_kindly_and_without_tools() {
    for said in ["Hello!", "Write report2.txt for Q3 of 2024-01-05", ""] {
        let run = run(&mut Sandbox::new(&[]), &[text(said)], &[]).await;
        assert_eq!((run.outcome, run.steps.len()), (done(), 0));
        assert_eq!(run.answer, report::NO_NUMBERS);
    }
}

#[tokio::test]
async fn one_failure_anywhere_is_made_good() {
    for tool in ["write_file", "execute", "publish_artifact"] {
        let mut sandbox = Sandbox::new(&[(tool, 1)]);
        let run = run(&mut sandbox, &[text(DEMO)], &[]).await;
        assert_eq!(run.outcome, done());
        assert_eq!(sandbox.published["sales.csv"], "sale,amount_usd\n1,10\n2,20\n3,30\n");
        assert!(sandbox.published["report.md"].contains("| Total | 60 USD |"));
        assert!(!run.answer.contains("could not"), "{tool}: {}", run.answer);
    }
}

#[tokio::test]
async fn a_file_that_write_file_cannot_write_is_written_by_a_command() {
    let mut sandbox = Sandbox::new(&[("write_file", 99)]);
    let run = run(&mut sandbox, &[text(DEMO)], &[]).await;
    assert_eq!(sandbox.published["sales.csv"], "sale,amount_usd\n1,10\n2,20\n3,30\n");
    assert!(sandbox.published["report.md"].ends_with('\n'));
    assert!(!run.answer.contains("could not"));
}

#[tokio::test]
async fn a_dead_sandbox_leaves_the_figures_and_an_honest_answer() {
    let all = [("write_file", 99), ("execute", 99), ("publish_artifact", 99)];
    let mut sandbox = Sandbox::new(&all);
    let run = run(&mut sandbox, &[text(DEMO)], &[]).await;
    assert_eq!(run.outcome, done());
    assert!(run.answer.contains("total of 60 USD"));
    assert!(run.answer.contains("- sales.csv (TOOL_FAILED)"), "{}", run.answer);
    assert!(run.answer.contains("- report.md (TOOL_FAILED)"));
    assert!(run.steps.len() <= 3, "{:?}", run.steps);
}

#[tokio::test]
async fn a_command_that_exits_with_an_error_has_not_written_the_file() {
    let mut sandbox = Sandbox::new(&[("write_file", 99)]);
    sandbox.exit = Some(1);
    let run = run(&mut sandbox, &[text(DEMO)], &[]).await;
    assert!(sandbox.published.is_empty());
    assert!(run.answer.contains("- sales.csv (TOOL_FAILED)"), "{}", run.answer);
}

#[tokio::test]
async fn a_tool_that_is_not_to_be_had_is_asked_for_once() {
    let mut sandbox = Sandbox::new(&[("execute", 99), ("publish_artifact", 99)]);
    sandbox.failure = ToolCode::ToolBlocked;
    let run = run(&mut sandbox, &[text(DEMO)], &[]).await;
    let asked = |tool: &str| run.steps.iter().flatten().filter(|name| *name == tool).count();
    assert_eq!((asked("execute"), asked("publish_artifact")), (1, 2));
    assert!(run.answer.contains("- report.md (TOOL_BLOCKED)"));
}

#[tokio::test]
async fn a_failed_publication_is_said_and_the_other_file_delivered() {
    let mut sandbox = Sandbox::new(&[("publish_artifact", 7)]);
    let run = run(&mut sandbox, &[text(DEMO)], &[]).await;
    assert_eq!(sandbox.published.keys().collect::<Vec<_>>(), ["report.md"]);
    assert!(run.answer.contains("so you cannot download them:\n- sales.csv (TOOL_FAILED)"));
}

#[tokio::test]
async fn a_publication_is_tried_four_times_while_sandboxes_are_replaced() {
    for (failures, delivered) in [(6, 2), (7, 1), (8, 0)] {
        let mut sandbox = Sandbox::new(&[("publish_artifact", failures)]);
        sandbox.failure = ToolCode::PublicationFailed;
        sandbox.says = "The file was not published: SANDBOX_REPLACED.";
        let run = run(&mut sandbox, &[text(DEMO)], &[]).await;
        let asked = run.steps.iter().flatten().filter(|name| *name == "publish_artifact").count();
        assert_eq!((sandbox.published.len(), asked), (delivered, 8));
        let said = run.answer.contains("you cannot download");
        assert_eq!(said, delivered < 2, "{}", run.answer);
    }
}

#[tokio::test]
async fn a_publication_that_is_not_allowed_is_asked_for_once() {
    for reason in ["PUBLICATION_DISABLED", "OUTPUT_BYTES_EXCEEDED", "OUTPUT_ARTIFACTS_EXCEEDED"] {
        let mut sandbox = Sandbox::new(&[("publish_artifact", 99)]);
        sandbox.failure = ToolCode::PublicationFailed;
        sandbox.says = reason;
        let run = run(&mut sandbox, &[text(DEMO)], &[]).await;
        assert_eq!(run.steps.len(), 4, "{reason}: {:?}", run.steps);
        assert!(run.answer.contains("- report.md (PUBLICATION_FAILED)"));
    }
}

#[tokio::test]
async fn a_file_that_went_with_its_sandbox_is_written_anew() {
    // One failure: the CSV's. The report is then not found, the CSV neither.
    for failures in 1..4 {
        let mut sandbox = Sandbox::new(&[("publish_artifact", failures)]);
        sandbox.failure = ToolCode::PublicationFailed;
        sandbox.says = "The file was not published: SANDBOX_REPLACED.";
        sandbox.forgets = true;
        let run = run(&mut sandbox, &[text(DEMO)], &[]).await;
        assert_eq!(sandbox.published["sales.csv"], "sale,amount_usd\n1,10\n2,20\n3,30\n");
        assert!(sandbox.published["report.md"].contains("| Total | 60 USD |"));
        assert!(!run.answer.contains("could not"), "{}", run.answer);
    }
}

#[tokio::test]
async fn a_workspace_that_is_always_lost_ends_in_an_honest_answer() {
    let mut sandbox = Sandbox::new(&[("publish_artifact", 99)]);
    sandbox.failure = ToolCode::FileNotFound;
    let run = run(&mut sandbox, &[text(DEMO)], &[]).await;
    assert_eq!(run.outcome, done());
    assert!(run.answer.contains("- sales.csv (FILE_NOT_FOUND)\n- report.md (FILE_NOT_FOUND)"));
}

#[tokio::test]
async fn what_was_not_used_is_named_at_once_in_the_report_and_in_the_answer() {
    let mut sandbox = Sandbox::new(&[]);
    let data = part(PartKind::Data, r#"{"a": 1e300, "b": 9999999999999999, "c": 5}"#);
    let run = run(&mut sandbox, &[text("7, 1.234,56 and 100,200,300"), data], &[]).await;
    let csv = &sandbox.published["numbers.csv"];
    assert_eq!(csv, "number,amount\n1,7\n2,100\n3,200\n4,300\n5,5\n");
    for told in [&run.log[1].text(), &sandbox.published["report.md"], &run.answer] {
        assert!(told.contains("I left out: 1.234,56; 1e+300; 9999999999999999."), "{told}");
        assert!(told.contains("in more than one way: 100,200,300."), "{told}");
    }
}

#[tokio::test]
async fn a_request_of_unreadable_numbers_alone_names_them() {
    let run = run(&mut Sandbox::new(&[]), &[text("1,000,2,000 and 1e308")], &[]).await;
    assert!(run.answer.starts_with(report::NO_NUMBERS));
    assert!(run.answer.contains("I left out: 1,000,2,000; 1e308."), "{}", run.answer);
}

#[tokio::test]
async fn tools_that_are_not_offered_are_not_called() {
    let run = run(&mut Sandbox::new(&[]), &[text(DEMO)], &["publish_artifact", "execute"]).await;
    assert_eq!(run.steps, [["write_file"], ["write_file"]]);
    assert!(run.answer.contains("- sales.csv (UNSUPPORTED)"));
    assert!(run.answer.contains("total of 60 USD"));
}

#[tokio::test]
async fn numbers_come_from_every_part_and_not_from_what_the_server_adds() {
    let mut named = text("40\n50");
    named.filename = Some("q3-2024.csv".into());
    let data = part(PartKind::Data, r#"{"1": 60, "list": [70.5, 8e1, "90 and $100"], "x": null}"#);
    let raw = part(PartKind::Raw, "MTIz");
    let url = part(PartKind::Url, "https://example.com/123");
    let mut sandbox = Sandbox::new(&[]);
    run(&mut sandbox, &[text("Add 10"), named, data, raw, url], &[]).await;
    let csv = &sandbox.published["numbers.csv"];
    assert_eq!(csv, "number,amount_usd\n1,10\n2,40\n3,50\n4,60\n5,70.5\n6,80\n7,90\n8,100\n");
}

#[tokio::test]
async fn a_second_request_starts_anew() {
    let mut sandbox = Sandbox::new(&[]);
    let first = run(&mut sandbox, &[text(DEMO)], &[]).await;
    let mut log = first.log;
    let ids = Ids::seeded(2);
    log.push(Message::user(ids.message(), vec![Block::text("And orders of 1 and 2?")]));
    let turn = plan::next(&log, |_| true);
    assert_eq!(turn.calls.len(), 1);
    assert_eq!(turn.calls[0].1["file_path"], "/workspace/orders.csv");
    log.push(Message::user(ids.message(), vec![Block::text("Thanks!")]));
    assert_eq!(plan::next(&log, |_| true).text, report::NO_NUMBERS);
}

#[tokio::test]
async fn the_most_numbers_that_are_read_pass_through_every_tool() {
    let mut sandbox = Sandbox::new(&[("write_file", 1)]);
    let said = "1234567890.12345 ".repeat(numbers::MAX_NUMBERS + 5);
    let run = run(&mut sandbox, &[text(&said)], &[]).await;
    assert_eq!(sandbox.published["numbers.csv"].lines().count(), numbers::MAX_NUMBERS + 1);
    assert!(run.log[1].text().contains("5 more are left out"), "{}", run.log[1].text());
    assert!(sandbox.published["report.md"].contains("1800 more are in numbers.csv."));
    assert!(run.answer.contains("2000 numbers"));
}

#[tokio::test(start_paused = true)]
async fn a_call_takes_the_time_that_it_is_told_to_in_many_pieces() {
    let model = DemoModel::new(Duration::from_secs(2));
    let ids = Ids::seeded(1);
    let request = ModelRequest {
        model: String::new(),
        system: vec![],
        messages: vec![Message::user(ids.message(), vec![Block::text(DEMO)])],
        tools: tools::specs(),
    };
    let context =
        CallContext { run: ids.run(), step: 1, attempt: 1, timeout: Duration::from_secs(9) };
    let start = tokio::time::Instant::now();
    let mut stream = model.stream(request, context).await.unwrap();
    let (mut pieces, mut before) = (0, Duration::ZERO);
    while let Some(event) = stream.next().await {
        event.unwrap();
        assert!(start.elapsed() <= before + Duration::from_millis(250));
        before = start.elapsed();
        pieces += 1;
    }
    assert_eq!(before, Duration::from_secs(2));
    assert!(pieces > 10);
}
