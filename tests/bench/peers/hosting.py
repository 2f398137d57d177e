"""The WSGI hosts that a bench application runs on: one process each, sixteen threads where the host has threads.

gunicorn is not here: it is a program of its own, which imports the application.
"""

import argparse
import logging

HOSTS = ("waitress", "cheroot", "werkzeug")
THREADS = 16


def serve(app, host: str, port: int) -> None:
    """Serve `app` on the loopback interface until the process is killed."""
    {"waitress": _waitress, "cheroot": _cheroot, "werkzeug": _werkzeug}[host](app, port)


def _waitress(app, port: int) -> None:
    import waitress

    # The look-ahead lets an application notice a disconnect; mcpref's documentation recommends it.
    waitress.serve(app, host="127.0.0.1", port=port, threads=THREADS, channel_request_lookahead=1)


def _cheroot(app, port: int) -> None:
    from cheroot.wsgi import Server

    Server(("127.0.0.1", port), app, numthreads=THREADS).start()


def _werkzeug(app, port: int) -> None:
    from werkzeug.serving import WSGIRequestHandler, make_server

    class Handler(WSGIRequestHandler):
        protocol_version = "HTTP/1.1"  # as `mcpref serve --http` has it

        def log(self, type: str, message: str, *args: object) -> None:
            """No line per request: none of the other hosts writes one."""

    make_server("127.0.0.1", port, app, threaded=True, request_handler=Handler).serve_forever()


def main(app) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--host-server", choices=HOSTS, default="waitress")
    parser.add_argument("--port", type=int, required=True)
    arguments = parser.parse_args()
    # waitress tells of every moment in which all threads are busy.
    logging.getLogger("waitress.queue").setLevel(logging.ERROR)
    serve(app, arguments.host_server, arguments.port)
