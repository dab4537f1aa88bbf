//! Addresses of a role that this node does not have: answered with where they are served. Balancers send nobody there who
//! is set up right; whoever is not should read why.

use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn_with_state};
use jari_api::Code;
use utoipa_axum::router::OpenApiRouter;

use crate::problem_response::Refusal;
use crate::roles::{Role, Roles};
use crate::state::AppState;

/// The API of `role`, where this node has it.
pub(crate) fn api_of(
    role: Role,
    roles: Roles,
    api: OpenApiRouter<AppState>,
) -> OpenApiRouter<AppState> {
    if roles.has(role) {
        return api;
    }
    api.route_layer(from_fn_with_state((role, roles), refuse))
}

/// The pages of `role`, where this node has it.
pub(crate) fn pages_of(role: Role, roles: Roles, pages: Router<AppState>) -> Router<AppState> {
    if roles.has(role) {
        return pages;
    }
    pages.route_layer(from_fn_with_state((role, roles), refuse))
}

async fn refuse(
    State((role, roles)): State<(Role, Roles)>,
    request: Request,
    _next: Next,
) -> Refusal {
    let (path, role) = (request.uri().path(), role.as_str());
    Refusal::new(Code::Misdirected)
        .detail(format!(
            "{path} is served by nodes with the role {role}, and this one has {roles}: send it to one of those, or give \
             this node the role (node.roles)"
        ))
        .with("role", role)
}
