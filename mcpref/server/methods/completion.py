"""``completion/complete``: suggestions while a user types an argument.

Spec: 2024-11-05..2026-07-28 server/utilities/completion
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from ...errors import InvalidParams
from ..calling import call_plainly
from ..responses import Completion
from .params import check_scopes, optional_object, require_str

if TYPE_CHECKING:
    from ..catalog import Catalog
    from ..core import McpServer
    from ..scope import RequestScope

#: Spec: 2026-07-28 server/utilities/completion#completion-results at most 100 values
MAX_VALUES: Final = 100


def complete(server: McpServer, scope: RequestScope, params: Mapping[str, Any]) -> dict[str, Any]:
    """Ask the completer of an argument; an argument without one has no suggestions."""
    reference = optional_object(params, "ref")
    argument = optional_object(params, "argument")
    kind = require_str(reference, "type")
    if kind not in ("ref/prompt", "ref/resource"):
        raise InvalidParams(f"params.ref.type must be 'ref/prompt' or 'ref/resource', not {kind[:64]!r}")
    target = require_str(reference, "name" if kind == "ref/prompt" else "uri")
    name = require_str(argument, "name")
    value = require_str(argument, "value")
    known = optional_object(optional_object(params, "context"), "arguments")
    catalog = server.catalog
    _check_known(catalog, kind, target, name, scope)
    completer = catalog.completers.get((kind, target, name))
    if completer is None:
        return _result(Completion([]))
    kwargs: dict[str, Any] = {"arguments": known} if completer.takes_arguments else {}
    args = (scope, value) if completer.context != "none" else (value,)
    found = call_plainly(scope, completer.fn, args, kwargs)
    return _result(found if isinstance(found, Completion) else Completion(list(found)))


def _check_known(catalog: Catalog, kind: str, target: str, name: str, scope: RequestScope) -> None:
    # Spec: 2026-07-28 server/utilities/completion#error-handling an unknown prompt or argument is -32602
    if kind == "ref/prompt":
        prompt = catalog.prompts.get(target)
        if prompt is None:
            raise InvalidParams(f"there is no prompt {target[:128]!r}")
        # Spec: 2026-07-28 server/utilities/completion#security MUST control access to suggestions
        check_scopes(prompt.scopes, scope, f"prompt {target!r}")
        names = [row["name"] for row in prompt.signature.prompt_arguments]
    else:
        entry = next((t for t in catalog.templates if t.uri == target), None) or catalog.resources.get(target)
        if entry is None:
            raise InvalidParams(f"there is no resource template {target[:200]!r}")
        check_scopes(entry.scopes, scope, f"resource {target!r}")
        names = list(entry.template.variables) if entry.template else []
    if name not in names:
        raise InvalidParams(
            f"{target[:200]!r} has no argument {name[:128]!r}; it has: {', '.join(names) or 'none'}"
        )


def _result(completion: Completion) -> dict[str, Any]:
    values = [str(value) for value in completion.values]
    result: dict[str, Any] = {"values": values[:MAX_VALUES]}
    total = completion.total if completion.total is not None else len(values)
    has_more = completion.has_more if completion.has_more is not None else len(values) > MAX_VALUES
    result["total"] = total
    result["hasMore"] = has_more
    return {"completion": result}
