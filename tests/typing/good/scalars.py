"""A tool takes the types it annotates; every style of annotation stays as it was written."""

from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Literal, Optional, Union, assert_type
from uuid import UUID

from mcpref import McpServer

server = McpServer("scalars", version="1.0")


@server.tool
def measure(
    name: str,
    count: int,
    weight: float = 1.0,
    fragile: bool = False,
    size: Literal["s", "m", "l"] = "m",
    label: str | None = None,
    note: Optional[str] = None,  # noqa: UP045
    code: Union[int, str] = 0,  # noqa: UP007
) -> float:
    """Weigh a parcel."""
    return count * weight


@server.tool
def log_entry(when: datetime, day: date, at: time, id: UUID, file: Path, price: Decimal, raw: bytes) -> str:
    """Everything that JSON carries as text."""
    return f"{when:%Y} {day:%m} {at:%H} {id.hex} {file.name} {price + 1} {raw.hex()}"


@server.tool
def silent() -> None:
    """Returns nothing."""


assert_type(measure("vase", 2, size="l"), float)
assert_type(log_entry(datetime.min, date.min, time.min, UUID(int=0), Path(), Decimal(1), b""), str)
