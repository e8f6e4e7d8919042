use proptest::prelude::*;

use super::*;

const LIMITS: Limits = Limits { running: 2, kept_bytes: 100 };

fn reserve(journal: &Journal, id: &str) -> Result<Arc<Record>, Refusal> {
    match journal.reserve(id, [0; 32], LIMITS)? {
        Reserved::New(record, _) | Reserved::Known(record) => Ok(record),
    }
}

fn end(record: &Record, printed: usize) {
    let mut stdout = Window::new(1_000);
    stdout.push(&vec![b'x'; printed]);
    *record.output() = Output::Streams { stdout, stderr: Window::new(0) };
    let state = ExecState::Exited;
    record.end(Outcome { state, exit_code: Some(0), signal: None, duration: Duration::ZERO });
}

#[test]
fn scenario_28_an_id_with_another_body_is_refused() {
    let journal = Journal::default();
    reserve(&journal, "a").unwrap();
    assert!(matches!(journal.reserve("a", [0; 32], LIMITS), Ok(Reserved::Known(_))));
    assert_eq!(journal.reserve("a", [1; 32], LIMITS).unwrap_err(), OTHER_BODY);
}

#[test]
fn scenario_30_one_command_too_many_is_turned_away_and_may_come_again() {
    let journal = Journal::default();
    let first = reserve(&journal, "a").unwrap();
    reserve(&journal, "b").unwrap();
    assert_eq!(reserve(&journal, "c").unwrap_err(), BUSY);
    reserve(&journal, "b").unwrap();
    end(&first, 0);
    reserve(&journal, "c").unwrap();
}

#[test]
fn scenario_29_what_was_acknowledged_is_unknown_and_cannot_be_started_again() {
    let journal = Journal::default();
    let record = reserve(&journal, "a").unwrap();
    assert_eq!(journal.acknowledge("a"), Err(RUNNING));
    end(&record, 0);
    journal.acknowledge("a").unwrap();
    journal.acknowledge("a").unwrap();
    assert_eq!(journal.find("a").unwrap_err(), UNKNOWN);
    assert_eq!(reserve(&journal, "a").unwrap_err(), ACKNOWLEDGED);
    assert!(journal.list().execs.is_empty());
}

#[test]
fn an_id_whose_start_failed_is_free_again() {
    let journal = Journal::default();
    let record = reserve(&journal, "a").unwrap();
    journal.release(&record);
    assert!(matches!(journal.reserve("a", [1; 32], LIMITS), Ok(Reserved::New(..))));
}

#[test]
fn the_oldest_output_makes_room_and_its_outcome_stands() {
    let journal = Journal::default();
    for id in ["a", "b", "c"] {
        end(&reserve(&journal, id).unwrap(), 50);
    }
    reserve(&journal, "d").unwrap();
    let status = |id| journal.find(id).unwrap().status(0, 0);
    assert!(status("a").output_dropped);
    assert_eq!((status("a").state, status("a").exit_code), (ExecState::Exited, Some(0)));
    assert!(!status("b").output_dropped && !status("c").output_dropped);
}

#[test]
fn an_id_is_a_short_plain_word() {
    let journal = Journal::default();
    for bad in ["", "a/b", "a b", "é", &"a".repeat(129)] {
        assert_eq!(reserve(&journal, bad).unwrap_err(), BAD_ID, "{bad}");
    }
    reserve(&journal, &"a".repeat(128)).unwrap();
}

#[test]
fn output_is_kept_of_no_more_than_so_many_finished_commands() {
    let journal = Journal::default();
    let limits = Limits { kept_bytes: usize::MAX, ..LIMITS };
    for number in 0..=MAX_KEPT + 1 {
        let reserved = journal.reserve(&number.to_string(), [0; 32], limits).unwrap();
        let Reserved::New(record, _) = reserved else { panic!("{number} is new") };
        end(&record, 1);
    }
    let dropped = |id| journal.find(id).unwrap().status(0, 0).output_dropped;
    assert!(dropped("0") && !dropped("1"));
}

#[test]
fn what_still_runs_keeps_its_output() {
    let journal = Journal::default();
    let record = reserve(&journal, "a").unwrap();
    let mut stdout = Window::new(1_000);
    stdout.push(&[b'x'; 500]);
    *record.output() = Output::Streams { stdout, stderr: Window::new(0) };
    reserve(&journal, "b").unwrap();
    assert_eq!(record.status(0, 0).stdout.unwrap().total, 500);
}

#[test]
fn the_oldest_of_very_many_ids_is_forgotten_and_never_one_that_runs() {
    let journal = Journal::default();
    let running = reserve(&journal, "running").unwrap();
    let mut entries = journal.lock();
    for number in 1..MAX_KNOWN {
        entries.by_id.insert(number.to_string(), Entry::Acknowledged);
        entries.order.push_back(number.to_string());
    }
    drop(entries);
    reserve(&journal, "one-more").unwrap();
    assert_eq!(journal.lock().order.len(), MAX_KNOWN);
    assert!(Arc::ptr_eq(&journal.find("running").unwrap(), &running));
    assert_eq!(journal.acknowledge("1"), Err(UNKNOWN), "it was the oldest that did not run");
    assert_eq!(journal.acknowledge("2"), Ok(()));
}

#[test]
fn an_id_that_was_given_back_and_taken_again_is_listed_once() {
    let journal = Journal::default();
    journal.release(&reserve(&journal, "a").unwrap());
    reserve(&journal, "a").unwrap();
    assert_eq!(journal.list().execs.len(), 1);
}

#[tokio::test]
async fn nobody_waits_for_a_command_whose_start_failed() {
    let journal = Journal::default();
    let record = reserve(&journal, "a").unwrap();
    let stopping = journal.stop_running(Duration::ZERO);
    journal.release(&record);
    let gone = timeout(Duration::from_secs(10), stopping.gone(Duration::from_hours(1)));
    assert!(gone.await.is_ok());
}

proptest! {
    /// Whatever happens in whatever order, an id is new at most once.
    #[test]
    fn no_id_is_started_twice(steps in prop::collection::vec((0..4_u8, 0..3_usize), 0..60)) {
        let journal = Journal::default();
        let mut started = [0; 3];
        for (step, which) in steps {
            let id = ["a", "b", "c"][which];
            match step {
                0 | 1 => {
                    if let Ok(Reserved::New(..)) = journal.reserve(id, [0; 32], LIMITS) {
                        started[which] += 1;
                    }
                }
                2 => if let Ok(record) = journal.find(id) { end(&record, 60) },
                _ => drop(journal.acknowledge(id)),
            }
        }
        prop_assert!(started.iter().all(|times| *times <= 1));
    }
}
