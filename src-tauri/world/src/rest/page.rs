//! Paging as REST does it: `page`, `per_page` and the `Link` header.

use serde_json::Value;

use crate::answer::{Answer, Asked};

/// One page of a list, 30 items unless asked otherwise, 100 at most.
pub(crate) fn page(base: &str, asked: &Asked, items: Vec<Value>) -> Answer {
    let read = |name: &str| asked.parameter(name).and_then(|text| text.parse::<usize>().ok()).filter(|n| *n > 0);
    let per_page = read("per_page").unwrap_or(30).min(100);
    let number = read("page").unwrap_or(1);
    let last = items.len().div_ceil(per_page).max(1);
    let shown: Vec<Value> = items.into_iter().skip((number - 1).saturating_mul(per_page)).take(per_page).collect();
    let answer = Answer::json(200, Value::Array(shown));
    let address = |page: usize| {
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        for (key, value) in url::form_urlencoded::parse(asked.query.as_bytes()).filter(|(key, _)| key != "page") {
            query.append_pair(&key, &value);
        }
        query.append_pair("page", &page.to_string());
        format!("{base}{}?{}", asked.path, query.finish())
    };
    let mut links = Vec::new();
    if number > 1 {
        links.push((number - 1, "prev"));
    }
    if number < last {
        links.push((number + 1, "next"));
        links.push((last, "last"));
    }
    if number > 1 {
        links.push((1, "first"));
    }
    if links.is_empty() {
        return answer;
    }
    let link: Vec<String> = links.iter().map(|(page, rel)| format!("<{}>; rel=\"{rel}\"", address(*page))).collect();
    answer.with("link", &link.join(", "))
}
