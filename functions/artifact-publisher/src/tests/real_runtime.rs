//! Against the real sandbox server, built from the same tree.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use domain::PublicationFailure as Code;
use sandbox_protocol::bootstrap::{Announcement, RunPayload};
use sandbox_protocol::client::{Client, Hooks, Transport};
use sandbox_protocol::lease::LeaseRequest;
use sandbox_protocol::runtime_token;
use store::publications::Outcome;
use tempfile::TempDir;
use testkit::{eventually, on_both, sandboxd};

use super::scene::{RUNTIME_KEY, Scene};

/// A server with a workspace of its own. It ends with this value.
struct Runtime {
    home: TempDir,
    server: std::process::Child,
    client: Client,
}

impl Drop for Runtime {
    fn drop(&mut self) {
        // It may have ended by itself; then there is nothing to do.
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

impl Runtime {
    /// Starts a server and puts it in the place of the scene's own sandbox.
    async fn start(scene: &Scene) -> Self {
        let home = TempDir::new().unwrap();
        let (workspace, ready) = (home.path().join("workspace"), home.path().join("ready.json"));
        fs::create_dir(&workspace).unwrap();
        let owner = fs::metadata(&workspace).unwrap();
        let server = Command::new(sandboxd())
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("COG_BIND", "127.0.0.1")
            .env("PORT", "0")
            .env("COG_HOOK_PORT", "0")
            .env("COG_READY_FILE", &ready)
            .env("COG_PARENT_DEATH", std::process::id().to_string())
            .env("COG_WORKLOAD_UID", owner.uid().to_string())
            .env("COG_WORKLOAD_GID", owner.gid().to_string())
            .env("COG_WORKLOAD_TMPDIR", home.path())
            .env("COGNITION_WORKSPACE_ROOT", &workspace)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let announced = async || {
            let text = fs::read(&ready).ok()?;
            serde_json::from_slice::<Announcement>(&text).ok()
        };
        eventually(Duration::from_secs(30), async || announced().await.is_some()).await;
        let Announcement { port, hook_port, .. } = announced().await.unwrap();

        let transport = Transport::new().unwrap();
        let token = || runtime_token(RUNTIME_KEY.as_bytes(), scene.instance.id.as_uuid());
        let hooks = Hooks::new(&transport, &format!("http://127.0.0.1:{hook_port}"));
        let (id, generation) = (scene.instance.id.as_uuid(), scene.instance.generation);
        hooks.run(&RunPayload::new(id, generation, token())).await.unwrap();
        let endpoint = format!("http://127.0.0.1:{port}");
        let client = Client::new(&transport, &endpoint, token());
        client.lease(&lease(generation)).await.unwrap();

        let sql = "update sandbox_instances set endpoint = $2 where instance_id = $1";
        let params = [scene.instance.id.into(), endpoint.as_str().into()];
        assert_eq!(scene.pool.execute(sql, &params).await.unwrap(), 1);
        Self { home, server, client }
    }

    fn workspace(&self) -> std::path::PathBuf {
        self.home.path().join("workspace")
    }
}

fn lease(generation: i64) -> LeaseRequest {
    LeaseRequest { generation, lease_until: None, run_fence: None }
}

/// What hostile code in the sandbox could leave in its workspace.
fn lay_traps(workspace: &Path, outside: &Path) {
    fs::write(outside.join("secret"), "secret").unwrap();
    fs::create_dir(workspace.join("folder")).unwrap();
    symlink(outside.join("secret"), workspace.join("leaf")).unwrap();
    symlink(outside, workspace.join("parent")).unwrap();
    symlink(workspace, workspace.join("loop")).unwrap();
    fs::hard_link(outside.join("secret"), workspace.join("hard")).unwrap();
    let made = Command::new("mkfifo").arg(workspace.join("pipe")).status().unwrap();
    assert!(made.success());
}

#[tokio::test]
async fn scenario_36_links_pipes_and_folders_are_refused_by_the_real_server() {
    on_both(async |pool| {
        let scene = Scene::new(&pool).await;
        let runtime = Runtime::start(&scene).await;
        lay_traps(&runtime.workspace(), runtime.home.path());
        for (path, code) in [
            ("leaf", Code::InvalidPath),
            ("parent/secret", Code::InvalidPath),
            ("loop/folder/../../secret", Code::InvalidPath),
            ("hard", Code::NotAFile),
            ("pipe", Code::NotAFile),
            ("folder", Code::NotAFile),
            ("nothing", Code::FileNotFound),
        ] {
            let publication = scene.request(path, "text/csv").await;
            assert!(scene.deliver(publication, 1).await, "{path}");
            assert_eq!(scene.outcome(publication).await, Outcome::Failed(code), "{path}");
        }
        assert!(scene.objects.calls().is_empty());
        assert!(scene.announced().await.is_empty());
    })
    .await;
}

#[tokio::test]
async fn scenario_35_the_largest_file_is_published_from_the_real_server_and_one_byte_more_is_not() {
    on_both(async |pool| {
        let scene = Scene::new(&pool).await;
        let runtime = Runtime::start(&scene).await;
        for (size, accepted) in [(0, true), (10_485_760, true), (10_485_761, false)] {
            fs::write(runtime.workspace().join("file"), vec![7; size]).unwrap();
            let publication = scene.request("file", "application/octet-stream").await;
            assert!(scene.deliver(publication, 1).await);
            let row = scene.row(publication).await;
            assert_eq!(row.map(|row| row.size), accepted.then_some(size as u64));
        }
    })
    .await;
}

/// Must be seen 7: the sandbox knows a newer owner before the row does.
#[tokio::test]
async fn the_real_server_gives_nothing_to_an_older_generation() {
    on_both(async |pool| {
        let scene = Scene::new(&pool).await;
        let runtime = Runtime::start(&scene).await;
        fs::write(runtime.workspace().join("file"), "ab").unwrap();
        let publication = scene.request("file", "text/csv").await;
        runtime.client.lease(&lease(scene.instance.generation + 1)).await.unwrap();
        assert!(!scene.deliver(publication, 1).await, "the row says that it may count");
        assert!(scene.objects.calls().is_empty());
        let sql = "update sandbox_leases set generation = generation + 1 where instance_id = $1";
        pool.execute(sql, &[scene.instance.id.into()]).await.unwrap();
        assert!(scene.deliver(publication, 2).await);
        assert_eq!(scene.outcome(publication).await, Outcome::Failed(Code::SandboxReplaced));
    })
    .await;
}
