CREATE TABLE customers (
    name  TEXT PRIMARY KEY,
    email TEXT NOT NULL,
    phone TEXT
);

CREATE TABLE orders (
    id               INTEGER PRIMARY KEY,
    customer         TEXT NOT NULL REFERENCES customers (name),
    discount_percent INTEGER NOT NULL DEFAULT 0
);

CREATE TABLE order_lines (
    order_id   INTEGER NOT NULL REFERENCES orders (id),
    position   INTEGER NOT NULL,
    sku        TEXT NOT NULL,
    quantity   INTEGER NOT NULL,
    unit_cents INTEGER NOT NULL,
    PRIMARY KEY (order_id, position)
);
