"""A family about a shopping basket: what is bought, and how the bill is settled."""

from __future__ import annotations

from random import Random

from laconic.envs.families.arithmetic.tale import Tale, one
from laconic.envs.families.arithmetic.words import ITEMS, PEOPLE, another, their
from laconic.envs.families.common.generation import Problem

_NOTES = (20, 50, 100, 200, 500, 1000)


def shopping(random: Random, level: int) -> Problem:
    """A basket of several goods, perhaps a coupon, and what is paid, left over or shared."""
    person, items = random.choice(PEOPLE), random.sample(ITEMS, 9)
    tale = Tale(random)
    left = level - 1
    coupon = left > 1 and random.random() < 0.4
    ending = random.choice(("paid", "change", "shared")) if left else "paid"
    left -= coupon + (ending != "paid")
    count, price = random.randint(2, 12), random.randint(2, 15)
    tale.tell(f"{person} buys {count} {items[0]} at ${price} each.", "*", price, count)
    for item in items[1:]:
        if left <= 0:
            break
        left -= _buy(tale, person, item, left)
    if coupon:
        # The coupon makes the bill even, so that sharing it comes out in whole dollars.
        off = tale.value % 4 + random.choice((0, 4) if tale.value % 4 else (4, 8))
        off = off if off < tale.value else 1
        tale.tell(f"{person} has a coupon that takes ${off} off {their(person)} whole bill.")
        tale.step("-", off)
    question = _settle(tale, person, ending)

    def decoy(random: Random) -> tuple[str, str]:
        count, price = random.randint(2, 12), random.randint(2, 15)
        if random.random() < 0.6:
            who, what = another(random, PEOPLE, person), random.choice(items)
            return f"{who} {what}", f"{who} buys {count} {what} at ${price} each."
        what = another(random, ITEMS, *items)
        return f"{person} {what}", f"{person} looks at {what} for ${price} each but buys none."

    return tale.ask(question, decoy)


def _buy(tale: Tale, person: str, item: str, left: int) -> int:
    """Put something more into the basket; the steps it takes."""
    random, before = tale.random, tale.value
    if left >= 2 and random.random() < 0.6:
        count, price = random.randint(2, 12), random.randint(2, 15)
        cost = tale.tell(f"{person} also buys {count} {item} for ${price} each.", "*", price, count)
        tale.step("+", cost, before)
        return 2
    price = random.randint(2, 40)
    tale.tell(f"{person} also buys {one(item)} for ${price}.", "+", price)
    return 1


def _settle(tale: Tale, person: str, ending: str) -> str:
    """Pay, and ask what was paid, what comes back or what each payer's share is."""
    if ending == "paid":
        return f"How many dollars does {person} pay in all?"
    payers = tale.divisor((2, 3, 4, 5)) if ending == "shared" else None
    if payers:
        tale.tell(f"{payers} people share {person}'s bill equally.", "/", payers)
        return f"How many dollars of {person}'s bill does each of them pay?"
    note = next(note for note in _NOTES if note > tale.value)
    tale.tell(f"{person} pays with ${note}.", "-", tale.value, note)
    return f"How many dollars does {person} get back?"
