"""Where the names in a string hint are looked up.

With ``from __future__ import annotations`` every hint is a string; each is evaluated on its own, so that one
that cannot be resolved is reported by itself and does not spoil its neighbours.
"""

from __future__ import annotations

import builtins
import collections.abc
import sys
import typing
from collections import ChainMap
from collections.abc import Mapping, MutableMapping
from typing import Any, ForwardRef

from .codec import UnsupportedType

_NOTHING: Mapping[str, Any] = {}


class Scope:
    """The names a hint may use, nearest first: locals, globals, built-ins, then ours and those of `typing`.

    The last two serve modules that import names for type checkers only (``if TYPE_CHECKING:``).
    """

    __slots__ = ("globals", "locals", "names")

    def __init__(
        self,
        globals: Mapping[str, Any] = _NOTHING,
        locals: Mapping[str, Any] = _NOTHING,
        names: Mapping[str, Any] = _NOTHING,
    ) -> None:
        self.globals = globals
        self.locals = locals
        self.names = names

    def of_class(self, cls: type) -> Scope:
        """The names that the annotations in the body of ``cls`` see."""
        module = sys.modules.get(cls.__module__)
        local: dict[str, Any] = dict(self.locals) if "<locals>" in cls.__qualname__ else {}
        local[cls.__name__] = cls
        local.update((parameter.__name__, parameter) for parameter in getattr(cls, "__type_params__", ()))
        # Its own attributes come last: in `date: date = EPOCH` the hint means the global, not the default.
        return Scope(vars(module) if module else _NOTHING, local, {**self.names, **vars(cls)})

    def of_module(self, name: str) -> Scope:
        """The names that the top level of a module sees; ours stay at hand."""
        module = sys.modules.get(name)
        return Scope(vars(module), self.locals, self.names) if module else self

    def evaluate(self, hint: Any) -> Any:
        """``hint``, or what it names if it is a string or a forward reference."""
        while isinstance(hint, (str, ForwardRef)):
            hint = self._evaluate_text(hint)
        return hint

    def _evaluate_text(self, hint: str | ForwardRef) -> Any:
        text = hint if isinstance(hint, str) else hint.__forward_arg__
        module = None if isinstance(hint, str) else sys.modules.get(str(hint.__forward_module__))
        chain: list[Mapping[str, Any]] = [self.locals, self.globals, vars(builtins), self.names]
        if module is not None:
            chain.insert(1, vars(module))
        chain += [vars(typing), vars(collections.abc)]
        # ChainMap is typed for mutable mappings, but is only read here.
        maps = typing.cast("list[MutableMapping[str, Any]]", chain)
        try:
            return eval(text.strip(), {}, ChainMap(*maps))
        except NameError as error:
            raise UnsupportedType(
                f"the hint {text!r} cannot be resolved: {error}; import the name at module level "
                "(not under TYPE_CHECKING), or define it before the function"
            ) from None
        except Exception as error:
            raise UnsupportedType(
                f"the hint {text!r} cannot be evaluated: {type(error).__name__}: {error}"
            ) from None
