"""The bench server on the official SDK, over HTTP: its own application, stateful as it is by default, on uvicorn.

The loop and the parser in C are taken up by uvicorn where they are installed. Nothing is logged per request.
By default responses are event streams where the SDK makes them such; its option for plain JSON is faster, and
drops what is told while a call runs.
"""

import argparse
import logging

import uvicorn
from sdk_server import server

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    try:
        app = server.streamable_http_app(json_response=arguments.json)
    except TypeError:  # the 1.x line has it among its settings
        server.settings.json_response = arguments.json
        app = server.streamable_http_app()
    logging.getLogger().setLevel(logging.WARNING)
    uvicorn.run(
        app,
        host="127.0.0.1",
        port=arguments.port,
        log_level="warning",
        access_log=False,
    )
