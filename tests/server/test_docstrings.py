"""Docstrings in the three usual styles."""

from __future__ import annotations

import pytest

from mcpref.server.docstrings import parse_docstring

GOOGLE = """Forecast the weather.

    More about it,
    over two lines.

    Args:
        city: The town to look at.
        days (int, optional): How many days,
            counted from today.
        units (Literal["c", "f"]): One of

            - c for Celsius
            - f for the other

        *rest: More.
        low, high: A range: both ends count.

    Returns:
        The forecast.

    Raises:
        ValueError: if not.
    """

NUMPY = """Forecast the weather.

    More about it.

    Parameters
    ----------
    city : str
        The town to look at.
    days : int, optional
        How many days,
        counted from today.
    low, high : float
        A range.
    bare
        Without a type.

    Returns
    -------
    str
        The forecast.

    Other Parameters
    ----------------
    units : {"c", "f"}
        The units.
    """

SPHINX = """Forecast the weather.

    More about it.

    :param city: The town to look at.
    :param int days: How many days,
        counted from today.
    :type city: str
    :keyword units: The units.
    :param Optional[dict[str, int]] table: A table.
    :returns: The forecast.
    :rtype: str
    """


def test_google() -> None:
    doc = parse_docstring(GOOGLE)
    assert doc.params == {
        "city": "The town to look at.",
        "days": "How many days, counted from today.",
        "units": "One of\n\n- c for Celsius\n- f for the other",
        "rest": "More.",
        "low": "A range: both ends count.",
        "high": "A range: both ends count.",
    }
    assert doc.description == (
        "Forecast the weather.\n\nMore about it,\nover two lines.\n\n"
        "Returns:\n    The forecast.\n\nRaises:\n    ValueError: if not."
    )


def test_numpy() -> None:
    doc = parse_docstring(NUMPY)
    assert doc.params == {
        "city": "The town to look at.",
        "days": "How many days, counted from today.",
        "low": "A range.",
        "high": "A range.",
        "bare": "Without a type.",
        "units": "The units.",
    }
    assert doc.description == (
        "Forecast the weather.\n\nMore about it.\n\nReturns\n-------\nstr\n    The forecast."
    )


def test_sphinx() -> None:
    doc = parse_docstring(SPHINX)
    assert doc.params == {
        "city": "The town to look at.",
        "days": "How many days, counted from today.",
        "units": "The units.",
        "table": "A table.",
    }
    assert (
        doc.description == "Forecast the weather.\n\nMore about it.\n\n:returns: The forecast.\n:rtype: str"
    )


@pytest.mark.parametrize(
    ("text", "description", "params"),
    [
        (None, "", {}),
        ("", "", {}),
        ("One line.", "One line.", {}),
        # the section may come first, or stand alone
        ("\nArgs:\n    a: b", "", {"a": "b"}),
        ("\nArgs:\n\n    a: b", "", {"a": "b"}),
        ("x\n\nArguments:\n  a: b\nAfter.", "x\n\nAfter.", {"a": "b"}),
        ("x\n\nArgs:\n    a:\n        b on its own line", "x", {"a": "b on its own line"}),
        # prose that only looks like a section
        ("Args: none.", "Args: none.", {}),
        ("Args:", "Args:", {}),
        ("Parameters\nmatter.", "Parameters\nmatter.", {}),
        ("\nThe args:\n    a: b", "The args:\n    a: b", {}),
        ("\nCall it so::\n\n    f(a: b)", "Call it so::\n\n    f(a: b)", {}),
        # nothing is said
        ("x\n\nArgs:\n    a:\n    b (int):", "x", {}),
        ("x\n\n:param a:", "x", {}),
        # two styles in one
        ("x\n\n:param a: b\n\nArgs:\n    c: d", "x", {"a": "b", "c": "d"}),
        # a last line without an underline, and a short one with a too short underline
        ("x\n\nParameters\n----------\na : int\n    b", "x", {"a": "b"}),
        ("x\n\nParameters\n--\na", "x\n\nParameters\n--\na", {}),
        ("Tabs.\n\nArgs:\n\ta: b\n\t\tand c", "Tabs.", {"a": "b and c"}),
    ],
)
def test_edges(text: str | None, description: str, params: dict[str, str]) -> None:
    assert parse_docstring(text) == (description, params)
