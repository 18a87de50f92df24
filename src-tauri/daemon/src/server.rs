//! The API on the Unix socket: each route a thin shell around a read of the ledger or an input to the engine.

mod answer;
mod drafts;
mod live;
mod openapi;
mod routes;
mod sessions;
mod stops;

use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::Path;
use std::sync::Arc;

use axum::Router;
use axum::extract::connect_info::Connected;
use axum::serve::IncomingStream;
use tokio::net::UnixListener;
use tokio_util::sync::CancellationToken;

use crate::runner::Outside;

pub(crate) use stops::held;

/// What every route works with.
#[derive(Clone)]
pub(crate) struct Shared {
    pub(crate) outside: Arc<Outside>,
    pub(crate) started_at: jiff::Timestamp,
}

/// The process at the other end of a connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peer {
    pub(crate) pid: Option<u32>,
    pub(crate) uid: Option<u32>,
}

impl Connected<IncomingStream<'_, UnixListener>> for Peer {
    fn connect_info(stream: IncomingStream<'_, UnixListener>) -> Self {
        let credentials = stream.io().peer_cred().ok();
        Self { pid: credentials.and_then(|c| c.pid()).and_then(|pid| u32::try_from(pid).ok()), uid: credentials.map(|c| c.uid()) }
    }
}

/// The socket could not be made.
#[derive(Debug, thiserror::Error)]
#[error("the socket `{path}` cannot be made; look at its folder and its rights")]
pub(crate) struct SocketFault {
    path: String,
    #[source]
    source: std::io::Error,
}

/// Binds the socket: mode 0600 in a folder of mode 0700. A file that an earlier daemon left is replaced: the home's lock says that
/// nobody listens there.
///
/// # Errors
/// [`SocketFault`] when the folder or the socket cannot be made.
pub(crate) fn bind(socket: &Path) -> Result<UnixListener, SocketFault> {
    let fault = |source| SocketFault { path: socket.display().to_string(), source };
    if let Some(folder) = socket.parent() {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(fault)?;
        std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o700)).map_err(fault)?;
    }
    match std::fs::remove_file(socket) {
        Ok(()) => {}
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => return Err(fault(error)),
    }
    let listener = UnixListener::bind(socket).map_err(fault)?;
    std::fs::set_permissions(socket, std::fs::Permissions::from_mode(0o600)).map_err(fault)?;
    Ok(listener)
}

/// Answers requests until `stop`.
pub(crate) async fn serve(listener: UnixListener, shared: Shared, stop: CancellationToken) {
    let router: Router = routes::router(shared);
    let service = router.into_make_service_with_connect_info::<Peer>();
    let served = axum::serve(listener, service).with_graceful_shutdown(async move { stop.cancelled().await }).await;
    if let Err(fault) = served {
        tracing::error!(%fault, "the server stopped");
    }
}
