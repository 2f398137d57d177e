"""The WSGI hosts that mcpref is served by, as real processes: what each of them can do, and cannot.

``python -m tests.hosts`` prints it as a table.
"""
