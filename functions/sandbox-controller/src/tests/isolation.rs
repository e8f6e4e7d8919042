//! What a process sandbox keeps from its commands, with and without bubblewrap.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;

use tempfile::TempDir;
use testkit::{Database, on_both, sandboxd};

use super::world::{World, shell};

/// Backend scenario 69, and what the spec says of the environment.
#[tokio::test]
async fn commands_see_nothing_of_our_environment() {
    on_both(async |pool| {
        for world in
            [World::new(pool.clone()).await, World::without_bubblewrap(pool, sandboxd()).await]
        {
            let run = world.run_in(&format!("{}", world.process().is_isolated())).await;
            world.ask(&run).await;
            let held = world.held(&run).await;
            let client = world.client(&held, &run);
            let names = shell(&client, "env | sed 's/=.*//' | sort").await;
            let mut known = vec!["COGNITION_WORKSPACE_ROOT", "HOME", "LANG", "PATH", "TMPDIR"];
            // The shell's own.
            known.extend(["OLDPWD", "PWD", "SHLVL", "_"]);
            let strange: Vec<_> = names.lines().filter(|name| !known.contains(name)).collect();
            assert_eq!(strange, Vec::<&str>::new());
            world.end(run).await;
        }
    })
    .await;
}

#[tokio::test]
async fn the_server_gets_nothing_of_our_environment_either() {
    let (database, folder) = (Database::sqlite().await, TempDir::new().unwrap());
    let (server, seen) = (folder.path().join("server"), folder.path().join("seen"));
    let script = format!("#!/bin/sh\nenv | sed 's/=.*//' > {}\n", seen.display());
    std::fs::write(&server, script).unwrap();
    std::fs::set_permissions(&server, Permissions::from_mode(0o700)).unwrap();
    let world = World::without_bubblewrap(database.pool(1).await, server).await;
    world.ask(&world.run().await).await;
    let names = std::fs::read_to_string(seen).unwrap();
    let ours = |name: &&str| {
        ["COG_", "COGNITION_"].iter().any(|prefix| name.starts_with(prefix))
            || ["PORT", "PWD", "OLDPWD", "SHLVL", "_"].contains(name)
    };
    let strange: Vec<_> = names.lines().filter(|name| !ours(name)).collect();
    assert_eq!(strange, Vec::<&str>::new());
}

#[tokio::test]
async fn each_session_has_a_workspace_of_its_own() {
    on_both(async |pool| {
        let world = World::without_bubblewrap(pool, sandboxd()).await;
        let (one, two) = (world.run_in("one").await, world.run_in("two").await);
        world.ask(&one).await;
        world.ask(&two).await;
        let (first, second) = (world.held(&one).await, world.held(&two).await);
        assert_ne!(first.endpoint, second.endpoint);
        shell(&world.client(&first, &one), "echo mine > file").await;
        assert_eq!(shell(&world.client(&second, &two), "ls").await, "");
        assert!(first.endpoint.starts_with("http://127.0.0.1:"));
    })
    .await;
}

/// Only where bubblewrap works: there is no such wall elsewhere, which the start-up line says.
#[tokio::test]
async fn behind_bubblewrap_the_rest_of_the_machine_is_not_there() {
    on_both(async |pool| {
        let world = World::new(pool).await;
        if !world.process().is_isolated() {
            return;
        }
        let run = world.run().await;
        world.ask(&run).await;
        let held = world.held(&run).await;
        assert_eq!(held.workspace_root, "/workspace");
        let client = world.client(&held, &run);
        let data = world.data().display().to_string();
        let line = format!("ls -d /root /home {data} 2>/dev/null | wc -l; pwd");
        assert_eq!(shell(&client, &line).await, "0\n/workspace\n");
        // Nothing inside has a capability, also where the runner is root: what is mounted stays as
        // it is, and what is root's in the system stays unseen.
        let might = shell(&client, "grep CapEff /proc/self/status").await;
        assert_eq!(might, "CapEff:\t0000000000000000\n");
        let remount =
            "mount -o remount,bind,rw /usr 2>/dev/null; test -w /usr && echo writable; true";
        assert_eq!(shell(&client, remount).await, "");
        assert_eq!(shell(&client, "ls /etc/shadow /etc/ssl/private 2>/dev/null; true").await, "");
        let mine = shell(&client, "ls /proc | grep -c '^[0-9]'").await;
        assert!(mine.trim().parse::<u32>().unwrap() < 15, "{mine}");
    })
    .await;
}
