//! Reads a `text/event-stream`: what it needs of the format, fed in pieces of any size.

/// Collects lines until a blank one ends a message.
#[derive(Debug, Default)]
pub(super) struct Parser {
    line: Vec<u8>,
    data: Option<String>,
    after_return: bool,
}

impl Parser {
    /// Takes the next bytes and gives the data of every message that they complete. Comments, which keep the connection alive,
    /// and messages without data give nothing; a message that the connection broke off is dropped with the parser.
    pub(super) fn feed(&mut self, bytes: &[u8]) -> Vec<String> {
        let mut complete = Vec::new();
        for &byte in bytes {
            match byte {
                // `\r\n` is one end of line, also when a piece ends between the two.
                b'\n' if self.after_return => self.after_return = false,
                b'\n' | b'\r' => {
                    self.after_return = byte == b'\r';
                    let line = std::mem::take(&mut self.line);
                    complete.extend(self.end_line(&line));
                }
                _ => {
                    self.after_return = false;
                    self.line.push(byte);
                }
            }
        }
        complete
    }

    fn end_line(&mut self, line: &[u8]) -> Option<String> {
        if line.is_empty() {
            return self.data.take();
        }
        let text = String::from_utf8_lossy(line);
        if let Some(value) = text.strip_prefix("data:") {
            let value = value.strip_prefix(' ').unwrap_or(value);
            match &mut self.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                None => self.data = Some(value.to_owned()),
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::Parser;

    // EVT-13
    #[test]
    fn the_same_messages_come_out_however_the_bytes_are_cut() {
        let text = ": hello\n\nid: 1\ndata: {\"a\":\ndata: 1}\n\nevent: x\r\ndata:two\r\n\r\nid: 9\n\ndata: brok";
        let whole = Parser::default().feed(text.as_bytes());
        assert_eq!(whole, ["{\"a\":\n1}", "two"]);
        for size in 1..7 {
            let mut parser = Parser::default();
            let pieces: Vec<String> = text.as_bytes().chunks(size).flat_map(|piece| parser.feed(piece)).collect();
            assert_eq!(pieces, whole, "in pieces of {size}");
        }
    }
}
