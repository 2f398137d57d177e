"""The fixture server inside a Flask application, for any WSGI host.

``gunicorn -c python:mcpref.contrib.gunicorn conformance.flask_app:app``, from the directory above this one.
"""

from __future__ import annotations

from flask import Flask

from conformance.server import server
from mcpref.contrib.flask import Mcp

app = Flask(__name__)
Mcp(app, server)
