"""Comparison of trained runs with the predictions for their prices."""

from __future__ import annotations

from laconic.extras.analysis.demand_statistics import Message, PredictionCheck, trained


def useful(episode: int, tokens: int, at: int) -> Message:
    """Make a message with this number of tokens, one of which (from 1) is worth 1."""
    return Message(episode, True, (0.0,) * at + (1.0,) * (tokens + 1 - at), (*range(tokens + 1),))


# Two episodes: the fact is the 4th of 5 tokens, and the last of 20. At a price of 100 / 20 = 5 for
# 100 tokens the second message stops paying, and with it most of all tokens.
TEAM = (useful(0, 5, 4), useful(1, 20, 20))


def run(name, price, said, spoke=1.0):
    means = {"tokens_said": said, "accuracy": spoke, "spoke_if_informed": spoke}
    return name, name, price, means


def test_runs_are_compared_with_the_prediction_for_their_price():
    below, above = trained(TEAM, 2, 100.0, [run("b", 6.0, 0.0, 0.0), run("a", 1.0, 9.0)])
    assert (below.run, below.bought, below.bought_cut) == ("a", 12.5, 12.0)
    # 25 % below the better of the two predictions, 12.
    assert below.near and below.below_choke and not below.collapsed
    assert above.collapsed and not above.below_choke and not above.near


def test_nearness_is_relative_to_the_prediction():
    # 12 cut and 12.5 whole: from 9 to 15.625.
    for tokens, near in ((8.9, False), (9.0, True), (15.6, True), (15.7, False)):
        (prediction,) = trained(TEAM, 2, 100.0, [run("a", 1.0, tokens)])
        assert prediction.near is near, tokens


def test_the_claim_is_counted_by_its_two_halves():
    rows = [
        run("a", 1.0, 12.0),
        run("b", 1.0, 5.0),
        run("c", 4.9, 0.0, 0.0),
        run("d", 5.1, 0.0, 0.05),
        run("e", 9.0, 2.0, 0.5),
    ]
    check = PredictionCheck.of(trained(TEAM, 2, 100.0, rows))
    assert check == PredictionCheck(below=3, near=1, collapsed=2, above=1)
    assert str(check).startswith("1 of 3 runs below the choke price are within 25 %")
    assert PredictionCheck.of([]) == PredictionCheck(0, 0, 0, 0)
