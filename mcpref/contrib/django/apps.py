"""For INSTALLED_APPS: has ``manage.py check`` look at the setting ``MCPREF``."""

from __future__ import annotations

from typing import Any

from django.apps import AppConfig
from django.conf import settings as django_settings
from django.core import checks
from django.core.exceptions import ImproperlyConfigured

from .config import read_config


class McprefConfig(AppConfig):  # type: ignore[misc]
    """The app. It has no models."""

    name = "mcpref.contrib.django"
    label = "mcpref"
    verbose_name = "Model Context Protocol"

    def ready(self) -> None:
        """Called when all apps are loaded."""
        checks.register(check_setting)


def check_setting(app_configs: Any = None, **options: Any) -> list[Any]:
    """Whether the setting is sound. A project that calls `mcp_view` itself has none."""
    if not hasattr(django_settings, "MCPREF"):
        return []
    try:
        read_config()
    except ImproperlyConfigured as error:
        return [checks.Error(str(error), id="mcpref.E001")]
    return []
