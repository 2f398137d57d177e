"""``resources/list``, ``resources/templates/list``, ``resources/read``, and the legacy subscriptions.

Spec: 2024-11-05..2026-07-28 server/resources
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...caching import with_cache
from ...errors import InvalidParams, ResourceNotFound
from ..calling import InputNeeded, invoke
from ..responses import as_contents
from ..results import shape
from ..signature import InputError
from .params import check_scopes, require_str

if TYPE_CHECKING:
    from ..core import McpServer
    from ..scope import RequestScope


def list_resources(server: McpServer, scope: RequestScope, params: Mapping[str, Any]) -> dict[str, Any]:
    """The resources with a fixed URI, in the order of their registration.

    Spec: 2026-07-28 server/resources#listing-resources
    """
    return server.list_page("resources", scope, params)


def list_resource_templates(
    server: McpServer, scope: RequestScope, params: Mapping[str, Any]
) -> dict[str, Any]:
    """The URI templates.

    Spec: 2026-07-28 server/resources#resource-templates
    """
    return server.list_page("resourceTemplates", scope, params)


def read_resource(server: McpServer, scope: RequestScope, params: Mapping[str, Any]) -> dict[str, Any]:
    """The contents of a resource.

    Spec: 2026-07-28 server/resources#reading-resources
    """
    uri = _uri(params)
    found = server.catalog.find_resource(uri)
    if found is None:
        # Spec: 2026-07-28 server/resources#error-handling MUST NOT answer with empty contents
        raise ResourceNotFound(uri)
    resource, variables = found
    check_scopes(resource.scopes, scope, f"resource {uri!r}")
    try:
        args, kwargs = resource.signature.bind(variables, scope)
    except InputError:
        # The template takes it for one of its URIs, but no value of the function's types is written so.
        raise ResourceNotFound(uri) from None
    value = invoke(server, scope, resource.fn, args, kwargs, resource.signature.context)
    if isinstance(value, InputNeeded):
        return value
    version = scope.protocol_version
    contents = [
        shape("ResourceContents", entry, version) for entry in as_contents(uri, value, resource.mime_type)
    ]
    result: dict[str, Any] = {"contents": contents}
    if resource.cache is not None and version.features.cache_hints:
        result = with_cache(result, resource.cache)
    return result


def subscribe(server: McpServer, scope: RequestScope, params: Mapping[str, Any]) -> dict[str, Any]:
    """Watch a resource. Legacy; modern clients name it in ``subscriptions/listen``.

    Spec: 2024-11-05..2025-11-25 server/resources#subscriptions
    """
    uri = _uri(params)
    if server.catalog.find_resource(uri) is None:
        raise ResourceNotFound(uri)
    server.state_of(scope).subscribe(uri)
    return {}


def unsubscribe(server: McpServer, scope: RequestScope, params: Mapping[str, Any]) -> dict[str, Any]:
    """Stop watching a resource; one that was not watched is not watched afterwards either."""
    server.state_of(scope).unsubscribe(_uri(params))
    return {}


def _uri(params: Mapping[str, Any]) -> str:
    # Spec: 2026-07-28 server/resources#security-considerations MUST validate every URI
    from ...uri_template import is_valid_uri

    uri = require_str(params, "uri")
    if not is_valid_uri(uri):
        raise InvalidParams(f"params.uri is not a URI: {uri[:200]!r}", data={"uri": uri[:8192]})
    return uri
