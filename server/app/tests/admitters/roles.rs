//! Nodes that are for one thing each: together they are an installation, and each says what it is not for.

use jari_api::{PlaceStatus, PlaceView};
use jari_testkit::{Process, Visitor, eventually};
use serde_json::Value;

use crate::JARI;
use crate::nodes::{Site, holds, lasting, number};

async fn with_roles(site: &mut Site, roles: &str) -> Process {
    site.start(site.builder().arg("--roles").arg(roles)).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn issue_4_a_line_over_one_node_of_each_role() {
    let mut site = Site::new();
    let web = with_roles(&mut site, "web").await;
    let gate = with_roles(&mut site, "gate").await;
    site.make_room(&web, "shop", lasting(50, 10), None).await;
    let visitor = web.visitor();
    assert_eq!(visitor.wait_in("shop").await.seq, 1);
    let waiting: PlaceView = visitor.poll("shop").await.expect(200).json();
    assert_eq!(waiting.status, PlaceStatus::Waiting, "nobody is there to call anybody");
    let admitter = with_roles(&mut site, "admitter").await;
    holds(&admitter, 64).await;
    eventually("it is called", async || {
        let answer = visitor.poll("shop").await;
        let place = (answer.status == 200).then(|| answer.json::<PlaceView>())?;
        (place.status == PlaceStatus::Admitted).then_some(())
    })
    .await;
    // The gate has heard of the room by then, or does now.
    eventually("the pass is good", async || {
        (visitor.sent_to(gate.url()).gate("shop").await.status == 204).then_some(())
    })
    .await;
    for (node, bundles) in [(&web, 0.0), (&gate, 0.0), (&admitter, 64.0)] {
        assert_eq!(number(&node.ops_url(), "jari_leases").await, Some(bundles));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn issue_4_a_node_says_which_role_serves_what_it_does_not() {
    let mut site = Site::new();
    let web = with_roles(&mut site, "web").await;
    let gate = with_roles(&mut site, "gate,admitter").await;
    site.make_room(&web, "shop", lasting(50, 10), None).await;
    let told = gate.visitor().get("/v1/rooms/shop").await.problem(421, "misdirected");
    assert_eq!(told.fields["role"], "web");
    assert!(told.detail.contains("role web") && told.detail.contains("gate, admitter"), "{told:?}");
    for path in ["/rooms/shop", "/rooms/shop/plain", "/v1/rooms/shop/places/me", "/admin"] {
        gate.visitor().get(path).await.problem(421, "misdirected");
    }
    site.operator(&gate).get("/v1/admin/rooms").await.problem(421, "misdirected");
    let told = web.visitor().gate("shop").await.problem(421, "misdirected");
    assert_eq!(told.fields["role"], "gate");
    // What is nowhere is nowhere.
    gate.visitor().get("/v1/nothing").await.problem(404, "not_found");
    for (node, roles) in [(&web, "web"), (&gate, "gate, admitter")] {
        let ready = Visitor::new(node.ops_url()).get("/readyz").await.expect(200).text();
        assert_eq!(ready, format!("ready\nroles: {roles}\n"));
    }
    for (role, has) in [("web", 0.0), ("gate", 1.0), ("admitter", 1.0)] {
        let name = format!("jari_node_role{{role=\"{role}\"}}");
        assert_eq!(number(&gate.ops_url(), &name).await, Some(has), "{role}");
    }
    let document: Value = gate.visitor().get("/openapi.json").await.expect(200).json();
    assert!(document["paths"]["/v1/gate/{room}"].is_object(), "the document is the installation's");
}

/// One process has the data folder: there is no other one that could do the rest.
#[tokio::test]
async fn issue_4_lines_in_the_data_folder_are_not_served_in_part() {
    let folder = tempfile::tempdir().expect("a folder");
    for (roles, told) in [
        ("web,gate", "store.url"),
        ("relay", "a role that this release does not have yet"),
        ("web,notices", "a list of web, gate and admitter"),
    ] {
        let mut process = Process::serve(JARI, folder.path()).arg("--roles").arg(roles).spawn();
        assert_eq!(process.wait().await.code(), Some(1), "{roles}: {}", process.output());
        let output = process.output();
        assert!(output.contains("node.roles") && output.contains(told), "{roles}: {output}");
    }
    let all = Process::serve(JARI, folder.path()).arg("--roles").arg("admitter,web,gate");
    all.start().await.kill().await;
}
