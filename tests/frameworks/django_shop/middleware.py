"""Middleware that reads bodies before the view does, as that for audits and signatures may."""

from collections.abc import Callable
from typing import Any


def read_bodies(get_response: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Read the body of a request that asks for it."""

    def middleware(request: Any) -> Any:
        if "X-Read-Body" in request.headers:
            request.read_by_middleware = request.body
        return get_response(request)

    return middleware
