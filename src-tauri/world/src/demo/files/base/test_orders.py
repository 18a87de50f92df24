import unittest

from shop.orders import Line, Order


class OrderTest(unittest.TestCase):
    def test_total_without_discount(self) -> None:
        order = Order(1, "kim", [Line("pen", 3, 250), Line("pad", 1, 499)])
        self.assertEqual(order.total(), 1249)

    def test_discount_is_taken_off(self) -> None:
        order = Order(1, "kim", [Line("pen", 4, 250)], discount_percent=10)
        self.assertEqual(order.total(), 900)


if __name__ == "__main__":
    unittest.main()
