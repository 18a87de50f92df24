//! A request as the routes read it, and the answer they give.

use serde_json::{Value, json};

use crate::reviews::Refusal;

/// A request whose body has been read.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) query: String,
    /// Names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Asked {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn json(&self) -> Option<Value> {
        serde_json::from_slice(&self.body).ok()
    }

    pub(crate) fn parameter(&self, name: &str) -> Option<String> {
        url::form_urlencoded::parse(self.query.as_bytes()).find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
    }

    pub(crate) fn has_parameter(&self, name: &str) -> bool {
        self.parameter(name).is_some()
    }

    /// The parts of the path, decoded.
    pub(crate) fn parts(&self) -> Vec<String> {
        self.path
            .split('/')
            .filter(|part| !part.is_empty())
            .map(|part| percent_encoding::percent_decode_str(part).decode_utf8_lossy().into_owned())
            .collect()
    }
}

/// What is answered.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) content: Content,
    /// Which quota it is counted on.
    pub(crate) resource: Option<&'static str>,
}

#[derive(Debug, Clone)]
pub(crate) enum Content {
    Empty,
    Json(Value),
    Bytes(&'static str, Vec<u8>),
}

impl Answer {
    pub(crate) fn json(status: u16, body: Value) -> Self {
        Self { status, headers: Vec::new(), content: Content::Json(body), resource: None }
    }

    pub(crate) fn text(status: u16, kind: &'static str, text: String) -> Self {
        Self { status, headers: Vec::new(), content: Content::Bytes(kind, text.into_bytes()), resource: None }
    }

    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn error(status: u16, message: &str) -> Self {
        Self::json(
            status,
            json!({
                "message": message, "documentation_url": "https://docs.github.com/rest",
                "status": status.to_string(),
            }),
        )
    }

    pub(crate) fn not_found() -> Self {
        Self::error(404, "Not Found")
    }

    pub(crate) fn value(&self) -> Option<&Value> {
        match &self.content {
            Content::Json(value) => Some(value),
            Content::Empty | Content::Bytes(..) => None,
        }
    }

    pub(crate) fn bytes(&self) -> (Option<&'static str>, Vec<u8>) {
        match &self.content {
            Content::Empty => (None, Vec::new()),
            Content::Json(value) => (Some("application/json; charset=utf-8"), value.to_string().into_bytes()),
            Content::Bytes(kind, bytes) => ((!kind.is_empty()).then_some(*kind), bytes.clone()),
        }
    }
}

impl From<Refusal> for Answer {
    fn from(refusal: Refusal) -> Self {
        let mut answer = Self::error(refusal.status, &refusal.message);
        if let Content::Json(body) = &mut answer.content
            && !refusal.errors.is_empty()
        {
            body["errors"] = json!(refusal.errors);
        }
        answer
    }
}
