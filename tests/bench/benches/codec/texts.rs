//! The texts, of about the sizes at which other codecs have been measured.

use std::fmt::Write as _;

/// Parameters of `SendMessage`.
pub(crate) fn send() -> String {
    r#"{"message":{"messageId":"0b1c2d3e-4f50-4617-8293-a4b5c6d7e8f9","contextId":"c-1","role":"ROLE_USER","parts":[{"text":"Analyze sales of 10, 20 and 30 dollars. Give me a CSV and a useful report."}]},"configuration":{"historyLength":10}}"#.to_owned()
}

/// A task after so many turns.
pub(crate) fn task(turns: u32) -> String {
    let mut history = String::new();
    for turn in 0..turns {
        let separator = if turn == 0 { "" } else { "," };
        write!(
            history,
            r#"{separator}{{"messageId":"user-{turn}","contextId":"5f0f6a3e-0000-4000-8000-00000000c0de","taskId":"5f0f6a3e-0000-4000-8000-0000000074c5","role":"ROLE_USER","parts":[{{"text":"Analyze sales of 10, 20 and 30 dollars, and give me a CSV and a report."}}],"metadata":{{"client":"web","attempt":{turn}}}}},{{"messageId":"agent-{turn}","contextId":"5f0f6a3e-0000-4000-8000-00000000c0de","taskId":"5f0f6a3e-0000-4000-8000-0000000074c5","role":"ROLE_AGENT","parts":[{{"text":"The total is 60 dollars; the mean is 20 dollars. I have written both files."}}]}}"#
        )
        .unwrap();
    }
    format!(
        r#"{{"id":"5f0f6a3e-0000-4000-8000-0000000074c5","contextId":"5f0f6a3e-0000-4000-8000-00000000c0de","status":{{"state":"TASK_STATE_COMPLETED","timestamp":"2026-01-02T03:04:05.678Z","message":{{"messageId":"last","role":"ROLE_AGENT","parts":[{{"text":"Both files are ready."}}]}}}},"artifacts":[{{"artifactId":"a-1","name":"sales.csv","description":"The numbers and what was computed of them.","parts":[{{"raw":"bnVtYmVyLHZhbHVlCjEsMTAKMiwyMAozLDMwCg==","mediaType":"text/csv","filename":"sales.csv"}},{{"data":{{"count":3,"sum":60,"mean":20.0,"values":[10,20,30]}},"mediaType":"application/json"}}]}}],"history":[{history}],"metadata":{{"source":"bench","numbers":[1,2,3]}}}}"#
    )
}
