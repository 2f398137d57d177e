"""The bench server on mcpref, over HTTP: `app` for hosts that import it, and a program for those that do not."""

import hosting
from mcpref_server import server

app = server.wsgi_app(threads=hosting.THREADS)

if __name__ == "__main__":
    hosting.main(app)
