use super::*;
use std::process::Command;

/// A server's repository with a pull request, and room for a person's checkout.
struct Bench {
    dir: tempfile::TempDir,
    base: String,
    first: String,
    head: String,
}

fn git(folder: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main"])
        .args(arguments)
        .current_dir(folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

fn commit(folder: &Path, file: &str, text: &str) -> String {
    std::fs::write(folder.join(file), text).unwrap();
    git(folder, &["add", "."]);
    git(folder, &["commit", "-qm", file]);
    git(folder, &["rev-parse", "HEAD"])
}

fn bench() -> Bench {
    let dir = tempfile::tempdir().unwrap();
    let work = dir.path().join("seed");
    let server = dir.path().join("server/acme/shop.git");
    for folder in [&work, &server] {
        std::fs::create_dir_all(folder).unwrap();
    }
    git(&server, &["init", "-q", "--bare"]);
    git(&work, &["init", "-q"]);
    let base = commit(&work, "a.txt", "one\n");
    git(&work, &["checkout", "-qb", "change"]);
    let first = commit(&work, "a.txt", "two\n");
    let head = commit(&work, "b.txt", "new\n");
    git(&work, &["checkout", "-q", "main"]);
    commit(&work, "later.txt", "main went on\n");
    git(&work, &["tag", "v1"]);
    git(&work, &["push", "-q", server.to_str().unwrap(), "main", "v1", "change:refs/pull/7/head"]);
    Bench { dir, base, first, head }
}

impl Bench {
    fn server(&self) -> PathBuf {
        self.dir.path().join("server/acme/shop.git")
    }

    fn spec(&self) -> WorktreeSpec {
        WorktreeSpec {
            root: self.dir.path().join("root"),
            repos: vec![self.dir.path().join("src")],
            checkout: None,
            repo: "acme/shop".parse().unwrap(),
            clone_url: format!("file://{}", self.server().display()),
            number: 7,
            head: self.head.clone(),
            base: "main".to_owned(),
            linked: None,
            name: "Review acme/shop#7".to_owned(),
            token: None,
            environment: [
                ("PATH".to_owned(), "/usr/local/bin:/usr/bin:/bin".to_owned()),
                ("HOME".to_owned(), self.dir.path().join("nobody").display().to_string()),
            ]
            .into(),
            disposable: vec![".DS_Store".to_owned(), "*.log".to_owned(), ".wloop/**".to_owned()],
            limit: Duration::from_secs(60),
        }
    }

    /// The person's checkout, with everything in it that must survive.
    fn checkout(&self) -> PathBuf {
        let path = self.dir.path().join("src/github.com/acme/shop");
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        git(self.dir.path(), &["clone", "-q", "--no-tags", self.server().to_str().unwrap(), path.to_str().unwrap()]);
        git(&path, &["config", "fetch.prune", "true"]);
        git(&path, &["update-ref", "refs/remotes/origin/gone", "HEAD"]);
        git(&path, &["reset", "-q", "--hard", &self.base]);
        git(&path, &["update-ref", "refs/remotes/origin/main", &self.base]);
        std::fs::write(path.join("a.txt"), "being edited\n").unwrap();
        std::fs::write(path.join("notes"), "mine\n").unwrap();
        let hooks = path.join(".git/hooks");
        for hook in ["post-checkout", "reference-transaction", "post-merge"] {
            use std::os::unix::fs::PermissionsExt as _;
            std::fs::write(hooks.join(hook), format!("#!/bin/sh\ntouch {}\n", self.dir.path().join("hook-ran").display()))
                .unwrap();
            std::fs::set_permissions(hooks.join(hook), std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        path
    }
}

/// Everything about a checkout but what the loop may touch.
fn picture(path: &Path) -> String {
    let refs = git(path, &["for-each-ref", "--format=%(refname) %(objectname)"]);
    let refs: Vec<&str> = refs.lines().filter(|line| !line.starts_with("refs/wloop/")).collect();
    let entries = |folder: &Path| {
        let mut names: Vec<_> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name()).collect();
        names.retain(|name| name != "worktrees" && name != "index");
        names.sort();
        names
    };
    format!(
        "{refs:?} {} {} {:?} {:?} {}",
        git(path, &["status", "--porcelain"]),
        git(path, &["rev-parse", "--symbolic-full-name", "HEAD"]),
        entries(path),
        entries(&path.join(".git")),
        std::fs::read_to_string(path.join(".git/config")).unwrap(),
    )
}

#[tokio::test]
async fn a_worktree_comes_from_the_person_s_checkout_and_changes_nothing_there() {
    // WS-01, WS-02, WS-03, WS-04
    let bench = bench();
    let checkout = bench.checkout();
    let before = picture(&checkout);
    let tree = prepare(&bench.spec()).await.unwrap();
    assert_eq!((tree.source.as_path(), tree.reused), (checkout.as_path(), false));
    assert_eq!((&tree.head, &tree.merge_base), (&bench.head, &bench.base));
    assert_eq!(git(&tree.path, &["rev-parse", "HEAD"]), bench.head);
    assert!(git(&tree.path, &["branch", "--show-current"]).is_empty(), "it is detached");
    assert_eq!(git(&tree.path, &["status", "--porcelain"]), "");
    assert_eq!(picture(&checkout), before);
    assert_eq!(git(&checkout, &["tag"]), "");
    assert!(!bench.dir.path().join("hook-ran").exists(), "a hook of the repository ran");
    let own = git(&checkout, &["for-each-ref", "--format=%(refname)", "refs/wloop"]);
    assert_eq!(own.lines().count(), 3, "{own}");
}

#[tokio::test]
async fn without_a_checkout_a_bare_repository_is_made_once() {
    // WS-01, WS-02
    let bench = bench();
    // A checkout of another repository, and a worktree of the right one, are both none of its main checkouts.
    let other = bench.dir.path().join("src/other");
    std::fs::create_dir_all(&other).unwrap();
    git(&other, &["init", "-q"]);
    git(&other, &["remote", "add", "origin", "https://github.com/acme/shopping.git"]);
    let first = prepare(&bench.spec()).await.unwrap();
    let second = prepare(&bench.spec()).await.unwrap();
    assert_eq!(first.source, second.source);
    assert!(first.source.starts_with(bench.dir.path().join("root/.bare").canonicalize().unwrap()));
    assert_eq!(git(&first.source, &["rev-parse", "--is-bare-repository"]), "true");
    // WS-05: the first one's name is taken.
    let place = bench.dir.path().join("root/acme/shop").canonicalize().unwrap();
    assert_eq!(first.path, place.join("review-acme-shop-7"));
    assert_eq!(second.path, place.join("review-acme-shop-7-2"));
    assert_eq!(git(&first.path, &["diff", "--name-only", &first.merge_base, &first.head]), "a.txt\nb.txt");
}

#[tokio::test]
async fn a_linked_and_clean_worktree_is_moved_to_the_new_head() {
    // WS-01
    let bench = bench();
    let tree = prepare(&WorktreeSpec { head: bench.first.clone(), ..bench.spec() }).await.unwrap();
    std::fs::write(tree.path.join("run.log"), "noise").unwrap();
    std::fs::create_dir(tree.path.join(".wloop")).unwrap();
    std::fs::write(tree.path.join(".wloop/x"), "noise").unwrap();
    let again = prepare(&WorktreeSpec { linked: Some(tree.path.clone()), ..bench.spec() }).await.unwrap();
    assert_eq!((&again.path, again.reused), (&tree.path, true));
    assert_eq!(git(&tree.path, &["rev-parse", "HEAD"]), bench.head);
    assert!(tree.path.join("run.log").exists(), "what does not count is not deleted either");
}

#[tokio::test]
async fn a_linked_worktree_with_work_in_it_is_left_alone() {
    // WS-01, WS-04
    let bench = bench();
    let spec = WorktreeSpec { head: bench.first.clone(), ..bench.spec() };
    let tree = prepare(&spec).await.unwrap();
    let again = WorktreeSpec { linked: Some(tree.path.clone()), ..bench.spec() };
    std::fs::write(tree.path.join("a.txt"), "changed\n").unwrap();
    std::fs::write(tree.path.join("own.rs"), "new\n").unwrap();
    let WorktreeFault::Busy { what, .. } = prepare(&again).await.unwrap_err() else { panic!() };
    assert_eq!(what, ["`a.txt`", "`own.rs`"]);
    assert_eq!(std::fs::read_to_string(tree.path.join("a.txt")).unwrap(), "changed\n");
    commit(&tree.path, "a.txt", "committed\n");
    let WorktreeFault::Busy { what, .. } = prepare(&again).await.unwrap_err() else { panic!() };
    assert_eq!(what, ["commits on no remote"]);
}

#[tokio::test]
async fn a_worktree_elsewhere_or_gone_is_not_reused() {
    // WS-01, WS-04
    let bench = bench();
    let checkout = bench.checkout();
    let elsewhere = bench.dir.path().join("person-made");
    git(&checkout, &["worktree", "add", "-q", "--detach", elsewhere.to_str().unwrap(), &bench.base]);
    for linked in [checkout.clone(), elsewhere.clone(), bench.dir.path().join("root/acme/shop/nothing")] {
        let tree = prepare(&WorktreeSpec { linked: Some(linked.clone()), ..bench.spec() }).await.unwrap();
        assert!(!tree.reused && tree.path != linked);
    }
    assert_eq!(git(&elsewhere, &["rev-parse", "HEAD"]), bench.base);
    // The record of a worktree whose folder is gone still holds its name.
    let tree = prepare(&bench.spec()).await.unwrap();
    std::fs::remove_dir_all(&tree.path).unwrap();
    let next = prepare(&WorktreeSpec { linked: Some(tree.path.clone()), ..bench.spec() }).await.unwrap();
    assert_ne!(next.path, tree.path);
}

#[tokio::test]
async fn a_named_checkout_must_be_the_repository() {
    // WS-02
    let bench = bench();
    let named = WorktreeSpec { repos: Vec::new(), checkout: Some(bench.checkout()), ..bench.spec() };
    assert_eq!(prepare(&named).await.unwrap().source, named.checkout.clone().unwrap());
    let wrong = WorktreeSpec { clone_url: "https://github.com/acme/other".to_owned(), ..named };
    let fault = prepare(&wrong).await.unwrap_err();
    assert!(matches!(fault, WorktreeFault::WrongCheckout { .. }) && fault.to_string().contains("acme/shop"), "{fault}");
}

#[tokio::test]
async fn a_shallow_checkout_is_not_used() {
    // WS-02, WS-04
    let bench = bench();
    let path = bench.dir.path().join("src/shop");
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let from = format!("file://{}", bench.server().display());
    git(bench.dir.path(), &["clone", "-q", "--depth=1", &from, path.to_str().unwrap()]);
    assert_ne!(prepare(&bench.spec()).await.unwrap().source, path);
}

#[tokio::test]
async fn a_head_that_was_pushed_over_is_fetched_by_its_id_or_refused() {
    // WS-03
    let bench = bench();
    let seed = bench.dir.path().join("seed");
    git(&seed, &["checkout", "-q", &bench.base]);
    commit(&seed, "c.txt", "rewritten\n");
    git(&seed, &["push", "-qf", bench.server().to_str().unwrap(), "HEAD:refs/pull/7/head"]);
    git(&bench.server(), &["config", "uploadpack.allowAnySHA1InWant", "true"]);
    assert_eq!(prepare(&bench.spec()).await.unwrap().head, bench.head);
    let gone = WorktreeSpec { head: "1".repeat(40), ..bench.spec() };
    assert!(matches!(prepare(&gone).await.unwrap_err(), WorktreeFault::HeadGone { .. }));
}

#[tokio::test]
async fn histories_that_share_nothing_are_told() {
    // WS-03
    let bench = bench();
    let seed = bench.dir.path().join("seed");
    git(&seed, &["checkout", "-q", "--orphan", "alone"]);
    let head = commit(&seed, "z.txt", "z\n");
    git(&seed, &["push", "-q", bench.server().to_str().unwrap(), "HEAD:refs/pull/8/head"]);
    let fault = prepare(&WorktreeSpec { number: 8, head, ..bench.spec() }).await.unwrap_err();
    assert!(matches!(fault, WorktreeFault::Unrelated { .. }), "{fault}");
}

#[tokio::test]
async fn odd_input_reaches_no_command() {
    // WS-05
    let bench = bench();
    for change in [
        |s: &mut WorktreeSpec| s.head = "main".to_owned(),
        |s: &mut WorktreeSpec| s.head = "--help".to_owned(),
        |s: &mut WorktreeSpec| s.base = "--upload-pack=x".to_owned(),
        |s: &mut WorktreeSpec| s.base = "a:b".to_owned(),
        |s: &mut WorktreeSpec| s.repo.owner = "..".to_owned(),
        |s: &mut WorktreeSpec| s.repo.name = "a/b".to_owned(),
    ] {
        let mut spec = bench.spec();
        change(&mut spec);
        assert!(matches!(prepare(&spec).await.unwrap_err(), WorktreeFault::Unusable { .. }), "{spec:?}");
    }
    assert!(!bench.dir.path().join("root").exists());
    let missing = WorktreeSpec { clone_url: "file:///no/such/repo".to_owned(), ..bench.spec() };
    let fault = prepare(&missing).await.unwrap_err();
    assert!(matches!(&fault, WorktreeFault::Git(GitFault::Failed { command, .. }) if command == "fetch"), "{fault}");
}

/// A web server that wants a name and a password, and notes what it was given.
fn asking_server() -> (String, std::sync::mpsc::Receiver<String>) {
    use std::io::{BufRead as _, Write as _};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/acme/shop.git", listener.local_addr().unwrap());
    let (send, receive) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let lines = std::io::BufReader::new(stream.try_clone().unwrap()).lines();
            let head: Vec<String> = lines.map_while(Result::ok).take_while(|line| !line.is_empty()).collect();
            let given = head.iter().find_map(|line| line.strip_prefix("Authorization: Basic "));
            send.send(given.unwrap_or_default().to_owned()).ok();
            let status =
                if given.is_some() { "403 Forbidden" } else { "401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"x\"" };
            write!(stream, "HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").ok();
        }
    });
    (address, receive)
}

fn base64(text: &str) -> String {
    let alphabet: Vec<char> = ('A'..='Z').chain('a'..='z').chain('0'..='9').chain(['+', '/']).collect();
    let mut out = String::new();
    for chunk in text.as_bytes().chunks(3) {
        let bits = chunk.iter().fold(0u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for n in 0..4 {
            out.push(if n <= chunk.len() { alphabet[(bits >> (18 - 6 * n) & 63) as usize] } else { '=' });
        }
    }
    out
}

#[tokio::test]
async fn the_token_goes_by_askpass_and_is_left_nowhere() {
    // WS-02
    let bench = bench();
    let (address, asked) = asking_server();
    let home = bench.dir.path().join("home");
    std::fs::create_dir(&home).unwrap();
    std::fs::write(home.join(".gitconfig"), "[credential]\n\thelper = store\n").unwrap();
    let mut spec = WorktreeSpec { clone_url: address, token: Some("ghp_secret".into()), ..bench.spec() };
    spec.environment.insert("HOME".to_owned(), home.display().to_string());
    let fault = prepare(&spec).await.unwrap_err();
    let given: Vec<String> = asked.try_iter().collect();
    assert!(given.contains(&base64("x-access-token:ghp_secret")), "{given:?} {fault}");
    assert!(!format!("{fault:?} {fault} {spec:?}").contains("ghp_secret"));
    let found = Command::new("grep").args(["-rl", "ghp_secret"]).arg(bench.dir.path()).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&found.stdout), "", "the token is in a file");
    use std::os::unix::fs::PermissionsExt as _;
    let folder = bench.dir.path().join("root/.askpass");
    assert_eq!(std::fs::metadata(folder).unwrap().permissions().mode() & 0o777, 0o700);
}

#[tokio::test]
async fn without_a_token_nobody_is_asked() {
    // WS-02
    let bench = bench();
    let (address, asked) = asking_server();
    let mut spec = WorktreeSpec { clone_url: address, ..bench.spec() };
    spec.environment.insert("GIT_ASKPASS".to_owned(), "/no/such/program".to_owned());
    spec.environment.insert("GIT_DIR".to_owned(), "/no/such/repository".to_owned());
    let fault = prepare(&spec).await.unwrap_err();
    assert!(matches!(fault, WorktreeFault::Git(GitFault::Failed { .. })), "{fault}");
    assert!(asked.try_iter().count() >= 1);
}

#[tokio::test]
async fn a_server_that_never_answers_is_given_up() {
    // WS-02
    let bench = bench();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/acme/shop.git", listener.local_addr().unwrap());
    let spec = WorktreeSpec { clone_url: address, limit: Duration::from_secs(2), ..bench.spec() };
    let fault = prepare(&spec).await.unwrap_err();
    assert!(matches!(&fault, WorktreeFault::Git(GitFault::Slow { command, .. }) if command == "fetch"), "{fault}");
}

#[test]
fn names_are_plain_and_short() {
    // WS-05
    for (rendered, expected) in [
        ("Review acme/shop#7", "review-acme-shop-7"),
        ("  --A__b  ", "a-b"),
        ("", "acme-shop-7"),
        ("…", "acme-shop-7"),
        ("../../etc", "acme-shop-7"),
        ("/etc/passwd", "acme-shop-7"),
        ("a/../b", "acme-shop-7"),
        ("ä é", "acme-shop-7"),
    ] {
        assert_eq!(folder_name(rendered, "acme/shop#7"), expected, "{rendered}");
    }
    assert_eq!(folder_name(&"ab ".repeat(50), "s").len(), 59, "no dash at the cut");
    assert_eq!(folder_name(&"x".repeat(99), "s").len(), 60);
    assert_eq!(numbered(&"x".repeat(60), 12).len(), 60);
    assert_eq!(numbered("a-b", 2), "a-b-2");
}

#[test]
fn one_repository_has_many_addresses() {
    // WS-02
    let place = place_of("https://github.com/acme/shop").unwrap();
    for same in [
        "https://github.com/Acme/Shop.git",
        "https://x-token:y@github.com/acme/shop/",
        "git@github.com:acme/shop.git",
        "ssh://git@github.com/acme/shop",
        "ssh://git@ssh.github.com:443/acme/shop.git",
        "git://github.com/acme/shop.git",
    ] {
        assert_eq!(place_of(same).as_ref(), Some(&place), "{same}");
    }
    for other in ["https://github.com/acme/shop2", "https://ghe.example.org/acme/shop", "/srv/acme/shop", "github.com", ""] {
        assert_ne!(place_of(other).as_ref(), Some(&place), "{other}");
    }
}

#[test]
fn patterns_cover_names_anywhere_and_paths_from_the_top() {
    // WS-01
    for (pattern, file, expected) in [
        (".DS_Store", "a/.DS_Store", true),
        ("*.log", "deep/x.log", true),
        ("*.log", "x.logs", false),
        (".wloop/**", ".wloop/a/b", true),
        (".wloop/**", ".wloopx/a", false),
        ("out/*.txt", "out/a.txt", true),
        ("out/*.txt", "out/deep/a.txt", false),
        ("{", "{", false),
    ] {
        assert_eq!(covering(&[pattern.to_owned()]).is_match(file), expected, "{pattern} {file}");
    }
}
