"""Reading and writing orders and customers."""

import sqlite3

from shop.orders import Line, Order


class Store:
    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection

    def order(self, order_id: int) -> Order | None:
        row = self.connection.execute(
            "SELECT id, customer, discount_percent FROM orders WHERE id = ?", (order_id,)
        ).fetchone()
        if row is None:
            return None
        lines = self.connection.execute(
            "SELECT sku, quantity, unit_cents FROM order_lines WHERE order_id = ? ORDER BY position",
            (order_id,),
        ).fetchall()
        return Order(row[0], row[1], [Line(*line) for line in lines], row[2])

    def contact(self, customer: str) -> dict[str, str | None]:
        row = self.connection.execute(
            "SELECT email, phone FROM customers WHERE name = ?", (customer,)
        ).fetchone()
        return {"email": row[0], "phone": row[1]} if row else {"email": None, "phone": None}
