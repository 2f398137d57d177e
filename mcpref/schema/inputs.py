"""Multi-round-trip requests: a result that asks for input, and the params of the retry that bring it.

The requests of tools, resources and prompts build on `InputResponseRequestParams`, while the input requests
build on tools (sampling offers them). So the modules of the latter are imported for type checkers only, and
the unions of them are text at run time.

Spec: 2026-07-28 basic/patterns/mrtr
"""

from typing import TYPE_CHECKING, NotRequired, TypeAlias

from .base import RequestParams, Result

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .elicitation import ElicitRequest, ElicitResult
    from .roots import ListRootsRequest, ListRootsResult
    from .sampling import CreateMessageRequest, CreateMessageResult

InputRequest: TypeAlias = "CreateMessageRequest | ListRootsRequest | ElicitRequest"
InputResponse: TypeAlias = "CreateMessageResult | ListRootsResult | ElicitResult"

# By keys of the server's choice; a response stands under the key of its request.
InputRequests: TypeAlias = "Mapping[str, InputRequest]"
InputResponses: TypeAlias = "Mapping[str, InputResponse]"


class InputRequiredResult(Result):
    """Not finished yet: it has ``inputRequests``, ``requestState`` or both. Since 2026-07-28."""

    inputRequests: NotRequired[InputRequests]
    requestState: NotRequired[str]


class InputResponseRequestParams(RequestParams):
    """Base of the params of a request that may be answered with `InputRequiredResult`. Since 2026-07-28."""

    inputResponses: NotRequired[InputResponses]  # since 2026-07-28
    requestState: NotRequired[str]  # since 2026-07-28
