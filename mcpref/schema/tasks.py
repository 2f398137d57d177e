"""Tasks of 2025-11-25: a request answered at once with a handle, and its result fetched later.

`TaskMetadata` and `TaskAugmentedRequestParams`, which ask for a task, are in base.py. In 2026-07-28 tasks are
an extension with types of its own.

Spec: 2025-11-25 basic/utilities/tasks
"""

from typing import Literal, NotRequired, TypeAlias, TypedDict

from .base import NotificationParams, PaginatedResult, Result

TaskStatus: TypeAlias = Literal["working", "input_required", "completed", "failed", "cancelled"]


class RelatedTaskMetadata(TypedDict):
    """In ``_meta``, under ``io.modelcontextprotocol/related-task``. 2025-11-25 only."""

    taskId: str


class Task(TypedDict):
    """``ttl`` (null: no limit) and ``pollInterval`` are milliseconds. 2025-11-25 only."""

    taskId: str
    status: TaskStatus
    statusMessage: NotRequired[str]
    createdAt: str
    lastUpdatedAt: str
    ttl: int | None
    pollInterval: NotRequired[int]


class CreateTaskResult(Result):
    """Instead of the request's own result. 2025-11-25 only."""

    task: Task


class GetTaskRequestParams(TypedDict):
    """The name is ours. 2025-11-25 only."""

    taskId: str


class GetTaskResult(Result, Task):
    """2025-11-25 only."""


class GetTaskPayloadRequestParams(TypedDict):
    """Of ``tasks/result``. The name is ours. 2025-11-25 only."""

    taskId: str


class GetTaskPayloadResult(Result):
    """The result that the request would have had without a task. 2025-11-25 only."""


class CancelTaskRequestParams(TypedDict):
    """The name is ours. 2025-11-25 only."""

    taskId: str


class CancelTaskResult(Result, Task):
    """2025-11-25 only."""


class ListTasksResult(PaginatedResult):
    """2025-11-25 only."""

    tasks: list[Task]


class TaskStatusNotificationParams(NotificationParams, Task):
    """2025-11-25 only."""
