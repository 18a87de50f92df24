//! HTTP on the socket by hand, for what our own client would never send.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A request as it is written on the wire.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct RawRequest {
    /// The method.
    pub method: String,
    /// The target, with its query.
    pub target: String,
    /// Headers; `Host: wloop` is added when none is among them.
    pub headers: Vec<(String, String)>,
    /// The body; none is sent without a `Content-Length` of 0.
    pub body: String,
}

impl RawRequest {
    /// A `GET`.
    #[must_use]
    pub fn get(target: &str) -> Self {
        Self { method: "GET".to_owned(), target: target.to_owned(), ..Self::default() }
    }

    /// A `POST` with a body of JSON.
    #[must_use]
    pub fn post(target: &str, body: &Value) -> Self {
        Self { method: "POST".to_owned(), target: target.to_owned(), body: body.to_string(), ..Self::default() }
    }

    /// The same with one more header.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Sends it and reads the whole answer.
    ///
    /// # Errors
    /// What the system says, such as that nobody listens.
    pub fn send(&self, socket: &Path) -> std::io::Result<RawAnswer> {
        let mut stream = UnixStream::connect(socket)?;
        stream.set_read_timeout(Some(Duration::from_secs(60)))?;
        let mut text =
            format!("{} {} HTTP/1.1\r\nConnection: close\r\nContent-Length: {}\r\n", self.method, self.target, self.body.len());
        if !self.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
            text.push_str("Host: wloop\r\n");
        }
        for (name, value) in &self.headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        text.push_str("\r\n");
        text.push_str(&self.body);
        stream.write_all(text.as_bytes())?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer)?;
        Ok(RawAnswer::of(&String::from_utf8_lossy(&answer)))
    }
}

/// An answer.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct RawAnswer {
    /// The status; 0 when what came was no HTTP.
    pub status: u16,
    /// The headers, their names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body as JSON; null when it is none.
    pub body: Value,
}

impl RawAnswer {
    fn of(text: &str) -> Self {
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((text, ""));
        let mut lines = head.lines();
        let status = lines.next().and_then(|line| line.split(' ').nth(1)).and_then(|s| s.parse().ok()).unwrap_or(0);
        let headers = lines.filter_map(|line| line.split_once(": ")).map(|(n, v)| (n.to_lowercase(), v.to_owned())).collect();
        Self { status, headers, body: serde_json::from_str(body).unwrap_or(Value::Null) }
    }

    /// A header by its name in lower case.
    #[must_use]
    pub fn header(&self, name: &str) -> &str {
        self.headers.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
    }
}
