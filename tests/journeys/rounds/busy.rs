//! A workspace in somebody's hands: a round waits for it and starts once it is free.

use wloop_tests::{Stage, until};

use super::by_hand;

#[tokio::test]
async fn a_round_waits_for_a_workspace_that_somebody_works_in() {
    // ROUND-26, ROUND-27, WIN-36
    let mut stage = Stage::new().await;
    let number = stage.pull("Guard the sum");
    stage.start().await;
    let gate = stage.open_gate("plan", number).await;
    stage.resolve(&gate.id, "run_now").await;
    let first = stage.turn(number, &["recorded"]).await;
    let folder = std::path::PathBuf::from(stage.client().turn(&first.id).await.unwrap().workspace.expect("its workspace"));
    let link = std::fs::read_to_string(folder.join(".git")).expect("a worktree");
    let own = std::path::PathBuf::from(link.trim().trim_start_matches("gitdir: "));
    std::fs::write(own.join("MERGE_HEAD"), format!("{}\n", first.head)).expect("a merge that is not finished");
    let mut wanted = by_hand(&stage.unit(number));
    wanted.guidance = Some("once more, please".to_owned());
    stage.client().start_turn(&wanted).await.unwrap();
    let (client, unit) = (stage.client(), stage.unit(number));
    until("the round waits and says why", || async {
        let rounds = client.unit(&unit).await.map_err(|fault| fault.to_string())?.rounds;
        let waits = rounds.iter().any(|item| item.state == "released" && item.reason.contains("unfinished merge"));
        if waits { Ok(()) } else { Err(format!("{rounds:?}")) }
    })
    .await;
    let turns = client.turns(&wloop_api::client::UnitFilter::default()).await.unwrap();
    assert_eq!(turns.len(), 1, "no agent starts");
    assert!(own.join("MERGE_HEAD").exists(), "nor is the workspace touched");
    std::fs::remove_file(own.join("MERGE_HEAD")).unwrap();
    let second = until("the round starts by itself", || async {
        let turns = client.turns(&wloop_api::client::UnitFilter::default()).await.map_err(|fault| fault.to_string())?;
        turns.into_iter().find(|turn| turn.seq == 2).ok_or_else(|| "one turn".to_owned())
    })
    .await;
    let guided = client.turn(&second.id).await.unwrap().turn.guidance;
    assert_eq!(guided.as_deref(), Some("once more, please"), "its guidance stayed");
    stage.stop().await;
}
