"""What each path answers, apart from the server."""

from shop.money import show
from shop.store import Store

Answer = tuple[int, dict]


def route(store: Store, path: str) -> Answer:
    parts = path.strip("/").split("/")
    match parts:
        case ["orders", number] if number.isdigit():
            return order(store, int(number))
        case ["customers", name]:
            return 200, store.contact(name)
        case _:
            return 404, {"error": "no such page"}


def order(store: Store, number: int) -> Answer:
    found = store.order(number)
    if found is None:
        return 404, {"error": "no such order"}
    # TODO: callers outside the shop should not see the customer's name
    return 200, {"id": found.id, "customer": found.customer, "total": show(found.total())}
