"""``python -m tests.hosts`` prints what every host does, as measured here and now.

``--rst`` prints reStructuredText, ``--expected`` the table that the tests compare with, without measuring.
"""

from __future__ import annotations

import argparse
import sys
from time import monotonic

from .capabilities import Found, load
from .matrix import EXPECTED, as_rst, as_text, is_as_expected, shown
from .processes import HOSTS, Host, running


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.hosts", description=__doc__)
    parser.add_argument("--rst", action="store_true", help="as a table of reStructuredText")
    parser.add_argument("--expected", action="store_true", help="what is expected, without measuring")
    parser.add_argument("--host", action="append", choices=list(HOSTS), help="only this one; may be repeated")
    options = parser.parse_args()
    show = as_rst if options.rst else as_text
    if options.expected:
        print(show(EXPECTED))
        return
    started = monotonic()
    rows: dict[str, dict[str, Found]] = {title: {} for title in EXPECTED}
    surprises: list[str] = []
    for name in options.host or HOSTS:
        host = HOSTS[name]
        if not host.is_installed:
            print(f"{name}: {host.package} is not installed", file=sys.stderr)
            continue
        print(f"{name} ...", file=sys.stderr, flush=True)
        measure(host, rows, surprises)
    print(show(rows))
    print(f"measured in {monotonic() - started:.0f} seconds", file=sys.stderr)
    for surprise in surprises:
        print(surprise, file=sys.stderr)
    raise SystemExit(bool(surprises))


def measure(host: Host, rows: dict[str, dict[str, Found]], surprises: list[str]) -> None:
    """Run every probe on a host; what is not as expected is told in the end."""
    with running(host) as shared:
        for title, capability in load().items():
            found: Found
            try:
                if capability.ends:
                    with running(host) as own:
                        found = capability.probe(own)
                else:
                    found = capability.probe(shared)
                    shared.is_well()
            except (AssertionError, OSError) as error:
                found = "failed"
                surprises.append(f"{host.name}: {title}: {error!r:.2000}")
            rows[title][host.name] = found
            expected = EXPECTED[title][host.name]
            if found != "failed" and not is_as_expected(expected, found):
                surprises.append(f"{host.name}: {title}: {shown(found)}, expected {shown(expected)}")


if __name__ == "__main__":
    main()
