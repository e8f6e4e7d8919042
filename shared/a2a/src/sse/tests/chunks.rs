//! A reader that gets a stream in pieces, as the network cuts it.

use super::*;

/// Keeps what is no whole line yet. Splits where the HTML standard does: CR, LF, and both at once.
#[derive(Default)]
struct Reader {
    rest: Vec<u8>,
    data: Vec<String>,
    after_cr: bool,
    events: Vec<String>,
}

impl Reader {
    fn feed(&mut self, bytes: &[u8]) {
        for byte in bytes {
            match byte {
                b'\n' if self.after_cr => {}
                b'\n' | b'\r' => self.line(),
                byte => self.rest.push(*byte),
            }
            self.after_cr = *byte == b'\r';
        }
    }

    fn line(&mut self) {
        let line = String::from_utf8(std::mem::take(&mut self.rest)).unwrap();
        if line.is_empty() {
            if !self.data.is_empty() {
                self.events.push(std::mem::take(&mut self.data).join("\n"));
            }
        } else if let Some(data) = line.strip_prefix("data:") {
            self.data.push(data.strip_prefix(' ').unwrap_or(data).to_owned());
        }
    }
}

/// Cuts at these places and nowhere else.
fn read_cut(stream: &[u8], cuts: &[usize]) -> Vec<String> {
    let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut % (stream.len() + 1)).collect();
    cuts.sort_unstable();
    let mut reader = Reader::default();
    let mut from = 0;
    for cut in cuts.into_iter().chain([stream.len()]) {
        reader.feed(&stream[from..cut]);
        from = cut;
    }
    assert!(reader.rest.is_empty(), "a stream ends with a whole line");
    reader.events
}

fn text_of(event: &str) -> String {
    serde_json::from_str::<serde_json::Value>(event).unwrap()["text"].as_str().unwrap().to_owned()
}

fn frame_of(id: i64, text: &str) -> Bytes {
    frame(Some(id), None, serde_json::json!({ "text": text }).to_string().as_bytes())
}

proptest! {
    /// S1, S3: a text that is told in pieces is the same text, wherever its pieces end and wherever
    /// the network cuts the bytes, also within a character, a line end or a field's name.
    #[test]
    fn a_text_in_pieces_arrives_whole_however_the_bytes_are_cut(
        pieces in proptest::collection::vec(hostile_text(), 1..8),
        cuts in proptest::collection::vec(any::<usize>(), 0..40),
    ) {
        let mut stream = Vec::new();
        for (id, piece) in (1..).zip(&pieces) {
            stream.extend_from_slice(&frame_of(id, piece));
            stream.extend_from_slice(&PING);
        }
        let events = read_cut(&stream, &cuts);
        prop_assert_eq!(events.len(), pieces.len());
        let whole: String = events.iter().map(|event| text_of(event)).collect();
        prop_assert_eq!(whole, pieces.concat());
    }
}

/// S6: each place, one after the other.
#[test]
fn no_single_cut_changes_what_is_read() {
    let stream = [
        &frame_of(1, "data: x\r\ndata: y\n\n\u{2028}😀")[..],
        &PING,
        &frame(None, Some("error"), b"{\"text\":\"\\r\"}"),
    ]
    .concat();
    let whole = read_cut(&stream, &[]);
    assert_eq!(
        whole.iter().map(|e| text_of(e)).collect::<Vec<_>>(),
        ["data: x\r\ndata: y\n\n\u{2028}😀", "\r"]
    );
    for cut in 0..stream.len() {
        assert_eq!(read_cut(&stream, &[cut]), whole, "cut at {cut}");
    }
}

#[test]
fn a_mebibyte_is_one_event_in_pieces_of_any_size() {
    let text = "data: \r\n\u{2029}😀\u{85}x".repeat(1024 * 1024 / 19);
    let framed = frame_of(1, &text);
    assert!(framed.len() > 1024 * 1024);
    for size in [1, 7, 4096, 65_537] {
        let mut reader = Reader::default();
        framed.chunks(size).for_each(|piece| reader.feed(piece));
        assert_eq!(reader.events.len(), 1);
        assert!(text_of(&reader.events[0]) == text, "in pieces of {size}");
    }
}
