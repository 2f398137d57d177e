"""The wire types: what a JSON object of the protocol contains, as TypedDicts.

One module for each page of the specification, in the order of ``schema.ts``; names and keys are the
schema's own, so that the two can be read side by side. One superset covers all five revisions. Nothing here
checks anything at run time, and importing one module does not load the others (save those it builds on).

How to read a field::

    title: NotRequired[str]  # since 2025-06-18
    execution: NotRequired[ToolExecution]  # 2025-11-25 only
    resultType: NotRequired[ResultType]  # since 2026-07-28, required

A field without a note is in every revision that has the type. ``required`` says that the revisions which
have the field require it, although the type here cannot; a field that all revisions require is plain. A type
that not all revisions have says so at the end of its docstring. tests/spec holds every note to the official
schemas.

The JSON-RPC envelopes are not here: the dataclasses of `mcpref.jsonrpc` stand for them.

These modules do without ``from __future__ import annotations``: annotations kept as text would hide
``NotRequired`` from ``__required_keys__``, and make each type three times as slow to import.
"""
