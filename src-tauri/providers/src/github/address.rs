//! Which addresses belong to a configured `api_url`, and which pull requests are theirs (GH-SYNC-06, GH-SYNC-40).

use url::{Host, Url};
use wloop_core::github::RepoName;

use super::error::ConfigFault;

/// The addresses of one GitHub, none with a slash at its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Addresses {
    /// Where REST paths start.
    pub api: String,
    /// The one address of GraphQL.
    pub graphql: String,
    /// Where pages for people start, and `git` clones from.
    pub web: String,
}

/// A text that names no pull request of this GitHub.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddressFault {
    /// Not one of the accepted forms.
    #[error("`{0}` is not a pull request: write `owner/name#number` or its address")]
    Form(String),
    /// Of another host than the configured one.
    #[error("`{text}` is not on `{web}`, the configured github")]
    OtherHost {
        /// What was given.
        text: String,
        /// The configured web address.
        web: String,
    },
}

/// Derives the other addresses from `api_url`; a given `web_url` wins over the derived one.
///
/// # Errors
/// A text that is not an http or https address, and one that carries a user, a password, a query or a fragment.
pub fn addresses(api_url: &str, web_url: Option<&str>) -> Result<Addresses, ConfigFault> {
    let api = checked("plugins.github.api_url", api_url)?;
    let (graphql, derived) = derive(&api);
    let web = match web_url {
        Some(given) => plain(&checked("plugins.github.web_url", given)?),
        None => derived,
    };
    Ok(Addresses { api: plain(&api), graphql, web })
}

/// The address without a slash at its end.
fn plain(url: &Url) -> String {
    url.as_str().trim_end_matches('/').to_owned()
}

fn checked(key: &'static str, text: &str) -> Result<Url, ConfigFault> {
    let fault = |problem: &'static str, shown: &str| ConfigFault::Address { key, shown: shown.to_owned(), problem };
    let url = Url::parse(text.trim()).map_err(|_| fault("is not an address such as `https://api.github.com`", text))?;
    // A user or password in the text may be a secret: it is not repeated.
    if !url.username().is_empty() || url.password().is_some() {
        return Err(fault(
            "carries a user or password; put the token under `plugins.github.token`",
            url.host_str().unwrap_or(""),
        ));
    }
    if !matches!(url.scheme(), "http" | "https") {
        return Err(fault("must start with `https://` or `http://`", text));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(fault("must have no `?` and no `#`", text));
    }
    Ok(url)
}

/// GraphQL and web addresses of an API address.
fn derive(api: &Url) -> (String, String) {
    let root = plain(&with_path(api, ""));
    let path = api.path().trim_end_matches('/');
    let named = match api.host() {
        Some(Host::Domain(name)) => name,
        Some(Host::Ipv4(_) | Host::Ipv6(_)) | None => "",
    };
    if named == "api.github.com" && path.is_empty() {
        return (format!("{root}/graphql"), "https://github.com".to_owned());
    }
    if path == "/api/v3" {
        return (plain(&with_path(api, "/api/graphql")), root);
    }
    let tenant = named.strip_prefix("api.").filter(|rest| rest.ends_with(".ghe.com"));
    if let (Some(tenant), "") = (tenant, path) {
        return (format!("{root}/graphql"), format!("https://{tenant}"));
    }
    let base = plain(api);
    (format!("{base}/graphql"), base)
}

fn with_path(url: &Url, path: &str) -> Url {
    let mut other = url.clone();
    other.set_path(path);
    other
}

impl Addresses {
    /// Reads a name of a pull request: its address (with anything behind the number), `owner/name#number`, or the same with
    /// `github:` before it.
    ///
    /// # Errors
    /// Another form, and an address of another host, which names the configured one.
    pub fn pull_request(&self, text: &str) -> Result<(RepoName, u64), AddressFault> {
        let text = text.trim();
        let form = || AddressFault::Form(text.to_owned());
        if text.starts_with("http://") || text.starts_with("https://") {
            let url = Url::parse(text).map_err(|_| form())?;
            let web = Url::parse(&self.web).map_err(|_| form())?;
            let below = (url.origin() == web.origin()).then(|| url.path().strip_prefix(web.path().trim_end_matches('/')));
            let Some(Some(path)) = below else {
                return Err(AddressFault::OtherHost { text: text.to_owned(), web: self.web.clone() });
            };
            let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
            let [owner, name, "pull", number, ..] = parts.as_slice() else { return Err(form()) };
            return named(&format!("{owner}/{name}"), number).ok_or_else(form);
        }
        let slug = text.strip_prefix("github:").unwrap_or(text);
        slug.split_once('#').and_then(|(repo, number)| named(repo, number)).ok_or_else(form)
    }
}

fn named(repo: &str, number: &str) -> Option<(RepoName, u64)> {
    let digits = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
    let number = digits.then(|| number.parse().ok()).flatten().filter(|n| *n > 0)?;
    Some((repo.parse().ok()?, number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_other_addresses_follow_from_the_api_address() {
        // GH-SYNC-40
        let cases = [
            ("https://api.github.com", "https://api.github.com/graphql", "https://github.com"),
            ("https://api.github.com/", "https://api.github.com/graphql", "https://github.com"),
            ("https://git.example.org/api/v3", "https://git.example.org/api/graphql", "https://git.example.org"),
            ("https://git.example.org:8443/api/v3/", "https://git.example.org:8443/api/graphql", "https://git.example.org:8443"),
            ("https://api.acme.ghe.com", "https://api.acme.ghe.com/graphql", "https://acme.ghe.com"),
            ("http://127.0.0.1:4010", "http://127.0.0.1:4010/graphql", "http://127.0.0.1:4010"),
            ("http://localhost:4010/hub", "http://localhost:4010/hub/graphql", "http://localhost:4010/hub"),
            ("https://api.notghe.com", "https://api.notghe.com/graphql", "https://api.notghe.com"),
        ];
        for (api, graphql, web) in cases {
            let found = addresses(api, None).unwrap();
            assert_eq!((found.graphql.as_str(), found.web.as_str()), (graphql, web), "{api}");
            assert_eq!(found.api, api.trim_end_matches('/'));
        }
        assert_eq!(addresses("http://127.0.0.1:1", Some("http://127.0.0.1:2/")).unwrap().web, "http://127.0.0.1:2");
    }

    #[test]
    fn a_bad_address_is_refused_and_its_secret_is_not_repeated() {
        // GH-SYNC-40
        for wrong in ["", "api.github.com", "ftp://api.github.com", "https://x/?a=1", "https://x/#a", "file:///etc/passwd"] {
            assert!(addresses(wrong, None).is_err(), "{wrong}");
            assert!(addresses("https://api.github.com", Some(wrong)).is_err(), "{wrong}");
        }
        let text = addresses("https://me:hunter2@api.github.com", None).unwrap_err().to_string();
        assert!(text.contains("api.github.com") && !text.contains("hunter2") && !text.contains("me:"), "{text}");
    }

    #[test]
    fn a_pull_request_is_known_by_each_of_its_names() {
        // GH-SYNC-06, GH-SYNC-40
        let here = addresses("https://api.github.com", None).unwrap();
        let repo: RepoName = "acme/web.app".parse().unwrap();
        for name in [
            "acme/web.app#12",
            "github:acme/web.app#12",
            " https://github.com/acme/web.app/pull/12 ",
            "https://github.com/acme/web.app/pull/12/files?w=1#diff",
        ] {
            assert_eq!(here.pull_request(name), Ok((repo.clone(), 12)), "{name}");
        }
        for wrong in
            ["", "acme/web#", "acme/web#0", "acme#3", "acme/web#+3", "https://github.com/acme/web/issues/3", "acme/../x#3"]
        {
            assert!(matches!(here.pull_request(wrong), Err(AddressFault::Form(_))), "{wrong}");
        }
        let other = here.pull_request("https://git.example.org/acme/web/pull/1").unwrap_err().to_string();
        assert!(other.contains("https://github.com"), "{other}");
        assert!(here.pull_request("https://github.com.evil.example/acme/web/pull/1").is_err());
    }
}
