"""Python type hints as JSON Schema 2020-12, and converters that check while they convert.

`compile_hint` turns one hint into a `Codec`, once; a call then runs plain closures and looks at no hint
again. `elicitation_codec` does the same within the narrow bounds of an elicitation form, and
`SchemaValidator` stands beside both for schemas that were written by hand.

Knows nothing of servers, requests or the wire. Importing it loads neither ``inspect`` nor ``jsonschema``, and
pydantic is recognised by its shape, never imported.
"""

from __future__ import annotations

from .codec import Codec, DecodeError, UnsupportedType, encode_any, shorten
from .compiler import compile_hint
from .constraints import Param
from .validation import InvalidSchema, SchemaValidator

__all__ = [
    "Codec",
    "DecodeError",
    "InvalidSchema",
    "Param",
    "SchemaValidator",
    "UnsupportedType",
    "compile_hint",
    "encode_any",
    "shorten",
]
