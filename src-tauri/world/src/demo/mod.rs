//! Sample work: one repository, a few colleagues, and three pull requests that ask for the viewer's review.

use crate::error::WorldError;
use crate::github::SmallGithub;
use crate::model::{AccountKind, CheckOutcome, NewPullRequest};

/// The repository of the demo.
pub const REPOSITORY: &str = "acme/api";

/// What was put into the world.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DemoWorld {
    /// The viewer's login.
    pub viewer: String,
    /// The viewer's token.
    pub token: String,
    /// `owner/name` of the repository.
    pub repository: String,
    /// The pull requests, in the order of their numbers.
    pub pulls: Vec<DemoPull>,
}

/// One pull request of the demo.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DemoPull {
    /// Its number.
    pub number: u64,
    /// Its web address.
    pub url: String,
    /// Its title.
    pub title: String,
    /// Who wrote it.
    pub author: String,
}

const BASE: [(&str, &str); 9] = [
    ("README.md", include_str!("files/base/README.md")),
    ("migrations/0001_start.sql", include_str!("files/base/0001_start.sql")),
    ("migrations/0006_orders_by_customer.sql", include_str!("files/base/0006_orders_by_customer.sql")),
    ("shop/__init__.py", ""),
    ("shop/http.py", include_str!("files/base/http.py")),
    ("shop/money.py", include_str!("files/base/money.py")),
    ("shop/orders.py", include_str!("files/base/orders.py")),
    ("shop/store.py", include_str!("files/base/store.py")),
    ("tests/test_orders.py", include_str!("files/base/test_orders.py")),
];

struct Sample {
    author: &'static str,
    branch: &'static str,
    title: &'static str,
    body: &'static str,
    files: &'static [(&'static str, &'static str)],
}

const SAMPLES: [Sample; 3] = [
    Sample {
        author: "ines",
        branch: "round-discounts",
        title: "Round discounts to the nearest cent",
        body: "`percent_of` cut the fraction off, so 15 % of 4.99 took 0.74 off instead of 0.75.\n\n\
               It now rounds half up in whole numbers. A test holds the case a customer reported.",
        files: &[
            ("shop/money.py", include_str!("files/fix/money.py")),
            ("tests/test_orders.py", include_str!("files/fix/test_orders.py")),
        ],
    },
    Sample {
        author: "tomas",
        branch: "drop-customer-phone",
        title: "Move phone numbers to the contacts service",
        body: "Drops `customers.phone` and keeps the id of the contact instead.\n\n\
               The contacts service has had every number since last week.",
        files: &[
            ("migrations/0007_drop_customer_phone.sql", include_str!("files/migration/0007_drop_customer_phone.sql")),
            ("shop/store.py", include_str!("files/migration/store.py")),
        ],
    },
    Sample {
        author: "yuki",
        branch: "routes-apart",
        title: "Separate the routes from the HTTP server",
        body: "No change in behaviour: what a path answers is now a function of store and path, without a socket.",
        files: &[
            ("shop/http.py", include_str!("files/refactor/http.py")),
            ("shop/routes.py", include_str!("files/refactor/routes.py")),
        ],
    },
];

/// Fills a world with the sample work for `viewer`, who is added with the token that is answered.
///
/// # Errors
/// When the repository exists already, or git refuses.
pub fn seed(world: &SmallGithub, viewer: &str) -> Result<DemoWorld, WorldError> {
    let token = format!("demo-token-of-{viewer}");
    world.add_user(viewer, AccountKind::User);
    world.add_token(viewer, &token);
    world.add_repository(REPOSITORY, &BASE)?;
    let colleagues: Vec<&str> = SAMPLES.iter().map(|sample| sample.author).collect();
    world.add_team("acme", "backend", &[&[viewer], colleagues.as_slice()].concat());
    let mut pulls = Vec::new();
    for sample in &SAMPLES {
        let number = world.open_pull_request(NewPullRequest {
            repo: REPOSITORY.to_owned(),
            author: sample.author.to_owned(),
            title: sample.title.to_owned(),
            body: sample.body.to_owned(),
            branch: sample.branch.to_owned(),
            files: sample.files.iter().map(|(path, content)| ((*path).to_owned(), Some((*content).to_owned()))).collect(),
            ..NewPullRequest::default()
        })?;
        world.set_check(REPOSITORY, number, "tests", CheckOutcome::Completed("success".to_owned()))?;
        world.request_review(REPOSITORY, number, sample.author, viewer)?;
        pulls.push(DemoPull {
            number,
            url: world.pull_url(REPOSITORY, number),
            title: sample.title.to_owned(),
            author: sample.author.to_owned(),
        });
    }
    Ok(DemoWorld { viewer: viewer.to_owned(), token, repository: REPOSITORY.to_owned(), pulls })
}
