"""From a name on the command line to the server, or the WSGI application, that it means."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable
from inspect import isfunction, signature
from typing import Any, NoReturn

from .server.core import McpServer
from .transport.wsgi import WsgiApp


def fail(message: str) -> NoReturn:
    """End the command: its words were wrong, or what they name is."""
    print(f"mcpref: {message}", file=sys.stderr)
    raise SystemExit(2)


def load(target: str) -> McpServer:
    """The server that ``module:name`` or ``file.py:name`` names; a module with one server needs no name."""
    found, there = _find(target)
    if isinstance(found, McpServer):
        return found
    hint = "; a WSGI application is served with --http" if callable(found) else ""
    fail(f"{target!r} is {type(found).__name__}, not a McpServer; servers there: {there}{hint}")


def load_served(target: str) -> McpServer | WsgiApp:
    """The same, or a WSGI application such as Flask's."""
    found, there = _find(target)
    if isinstance(found, McpServer):
        return found
    plain = isfunction(found)
    if not callable(found) or isinstance(found, type):
        what = f"{target!r} is {type(found).__name__}, neither a McpServer nor a WSGI application"
        fail(f"{what}; servers there: {there}")
    if plain and not _takes_two(found):
        fail(f"{target!r} is a function, and no WSGI application; one that makes it is written {target}()")
    return found


def _takes_two(fn: Callable[..., object]) -> bool:
    try:
        signature(fn).bind({}, print)
    except TypeError:
        return False
    return True


def _find(target: str) -> tuple[object, str]:
    """What is named, and the names of all servers there; without a name, the module's only server."""
    module_name, _, attribute = target.partition(":")
    if not all(module_name.split(".")) and os.sep not in module_name:
        fail(f"{target!r} names no module; write module:server, or file.py:server")
    module = _load_file(module_name) if _is_file(module_name) else _load_module(module_name)
    servers = [name for name, value in vars(module).items() if isinstance(value, McpServer)]
    there = ", ".join(servers) or "none"
    applications = [name for name in ("app", "application") if callable(getattr(module, name, None))]
    if not attribute and applications:
        fail(
            f"name what to serve: {' or '.join(f'{module_name}:{name}' for name in (*applications, *servers))}"
        )
    if not attribute:
        if len(servers) != 1:
            fail(f"name the server, as in {module_name}:server; servers there: {there}")
        attribute = servers[0]
    found: Any = module
    for part in attribute.removesuffix("()").split("."):
        found = getattr(found, part, None)
    if found is None:
        fail(f"{module_name!r} has no {attribute!r}; its servers: {there}")
    return found() if attribute.endswith("()") else found, there


def _is_file(name: str) -> bool:
    return name.endswith(".py") or os.sep in name


def _load_module(name: str) -> object:
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())  # as `python -m` does: the user's module lies where they stand
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not (name == error.name or name.startswith(error.name + ".")):
            raise  # the module is there; something it imports is not
        fail(f"there is no module {name!r}; run the command where it can be imported")


def _load_file(path: str) -> object:
    from importlib.util import module_from_spec, spec_from_file_location

    if not os.path.isfile(path):
        fail(f"there is no file {path!r}")
    spec = spec_from_file_location(os.path.splitext(os.path.basename(path))[0], path)
    if spec is None or spec.loader is None:
        fail(f"{path!r} is no Python file; its name must end in .py")
    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    spec.loader.exec_module(module)
    return module
