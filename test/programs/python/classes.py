"""Runs functions of shop.py for ever, whose lines say in `# IS name` what CPython 3.11 calls them. One, which
was taken out of its class, is `# WAS name`: before 3.11 nobody knows its class."""
import shop


class Main:
    def here(self):
        sum(range(30000))  # IS Main.here


def main():
    orders = shop.Special()
    ghost = shop.Orders.__dict__["ghost"]
    del shop.Orders.ghost
    calls = [orders.make, orders.inherited, orders.replaced, shop.Orders.Item().price, shop.Orders.still,
             shop.Orders.classy, lambda: orders.worth, orders.decorated, orders.barely, orders.nested, orders.cached,
             shop.find, lambda: ghost(orders), Main().here, shop.Point(1).far, shop.local]  # fmt: skip
    while True:
        for call in calls:
            call()


main()
