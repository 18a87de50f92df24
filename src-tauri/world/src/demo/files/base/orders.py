"""Orders: their lines, discounts and totals."""

from dataclasses import dataclass, field

from shop.money import percent_of


@dataclass
class Line:
    sku: str
    quantity: int
    unit_cents: int


@dataclass
class Order:
    id: int
    customer: str
    lines: list[Line] = field(default_factory=list)
    discount_percent: int = 0

    def subtotal(self) -> int:
        return sum(line.quantity * line.unit_cents for line in self.lines)

    def total(self) -> int:
        subtotal = self.subtotal()
        return subtotal - percent_of(subtotal, self.discount_percent)
