//! A plain HTTP client that shows what came over the wire: one connection per request, no retries, no redirects.

use http::{HeaderMap, Request};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;

#[derive(Clone)]
pub(crate) struct Client {
    pub(crate) base: String,
    pub(crate) headers: Vec<(String, String)>,
}

#[derive(Debug)]
pub(crate) struct Got {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl Got {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap()
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }
}

impl Client {
    pub(crate) fn new(base: &str, token: &str) -> Self {
        Self { base: base.to_owned(), headers: vec![("authorization".to_owned(), format!("Bearer {token}"))] }
    }

    pub(crate) fn anonymous(base: &str) -> Self {
        Self { base: base.to_owned(), headers: Vec::new() }
    }

    pub(crate) fn with(&self, name: &str, value: &str) -> Self {
        let mut other = self.clone();
        other.headers.push((name.to_owned(), value.to_owned()));
        other
    }

    /// The answer, or why none came whole.
    pub(crate) async fn send(&self, method: &str, path: &str, body: Option<Value>) -> Result<Got, String> {
        let address = self.base.strip_prefix("http://").unwrap();
        let stream = TcpStream::connect(address).await.map_err(|error| error.to_string())?;
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(|error| error.to_string())?;
        let driver = tokio::spawn(connection);
        let mut request = Request::builder().method(method).uri(path).header("host", address);
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let bytes = body.map(|body| body.to_string()).unwrap_or_default();
        let request = request.body(Full::new(Bytes::from(bytes))).unwrap();
        let answer = async {
            let response = sender.send_request(request).await?;
            let (head, body) = response.into_parts();
            let bytes = body.collect().await?.to_bytes();
            let text = String::from_utf8_lossy(&bytes).into_owned();
            Ok::<_, hyper::Error>(Got { status: head.status.as_u16(), headers: head.headers, text })
        };
        let answer = answer.await.map_err(|error| error.to_string());
        driver.abort();
        answer
    }

    pub(crate) async fn get(&self, path: &str) -> Got {
        self.send("GET", path, None).await.unwrap()
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Got {
        self.send("POST", path, Some(body)).await.unwrap()
    }

    /// The whole body of a GraphQL answer.
    pub(crate) async fn graphql(&self, query: &str, variables: Value) -> Value {
        let got = self.post("/graphql", serde_json::json!({"query": query, "variables": variables})).await;
        assert_eq!(got.status, 200, "{}", got.text);
        got.json()
    }

    /// The data of an answer that must have no errors.
    pub(crate) async fn data(&self, query: &str, variables: Value) -> Value {
        let body = self.graphql(query, variables).await;
        assert!(body.get("errors").is_none(), "{}", body["errors"]);
        body["data"].clone()
    }
}
