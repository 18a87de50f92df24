"""Amounts of money, in whole cents."""


def percent_of(cents: int, percent: int) -> int:
    """The given percentage of an amount."""
    return int(cents * percent / 100)


def show(cents: int) -> str:
    return f"{cents // 100}.{cents % 100:02d}"
