"""Amounts of money, in whole cents."""


def percent_of(cents: int, percent: int) -> int:
    """The given percentage of an amount, rounded half up to whole cents."""
    return (cents * percent + 50) // 100


def show(cents: int) -> str:
    return f"{cents // 100}.{cents % 100:02d}"
