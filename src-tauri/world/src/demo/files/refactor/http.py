"""The HTTP server."""

import json
import sqlite3
from http.server import BaseHTTPRequestHandler, HTTPServer

from shop.routes import route
from shop.store import Store


class Handler(BaseHTTPRequestHandler):
    store: Store

    def do_GET(self) -> None:
        status, body = route(self.store, self.path)
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def main() -> None:
    Handler.store = Store(sqlite3.connect("shop.db", check_same_thread=False))
    HTTPServer(("", 8080), Handler).serve_forever()


if __name__ == "__main__":
    main()
