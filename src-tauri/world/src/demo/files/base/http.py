"""The HTTP server."""

import json
import sqlite3
from http.server import BaseHTTPRequestHandler, HTTPServer

from shop.money import show
from shop.store import Store


class Handler(BaseHTTPRequestHandler):
    store: Store

    def do_GET(self) -> None:
        parts = self.path.strip("/").split("/")
        if len(parts) == 2 and parts[0] == "orders" and parts[1].isdigit():
            order = self.store.order(int(parts[1]))
            if order is None:
                self.answer(404, {"error": "no such order"})
            else:
                self.answer(200, {"id": order.id, "customer": order.customer, "total": show(order.total())})
        elif len(parts) == 2 and parts[0] == "customers":
            self.answer(200, self.store.contact(parts[1]))
        else:
            self.answer(404, {"error": "no such page"})

    def answer(self, status: int, body: dict) -> None:
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
