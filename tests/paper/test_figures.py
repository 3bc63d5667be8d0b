"""What was read off the figures, against the fact sheet's tables of the same readings, typed a second time."""

from __future__ import annotations

import pytest

from reslab.paper.figures import FIGURE_1, FIGURE_4, FIGURE_6, FIGURE_7, Curve

AT_1, AT_4 = (32_000, 34_000, 50_000), (100_000, 140_000, 200_000, 290_000, 350_000)
READ_1 = {
    "plain-20 train": (9.1, 3.7, 1.3, 1.3),
    "plain-56 train": (17.8, 10.2, 5.7, 5.8),
    "plain-20 test": (12.8, 10.0, 10.0, 9.7),
    "plain-56 test": (18.5, 14.3, 13.3, 13.3),
}
READ_4 = {
    "plain-18 test": (50.6, 50.0, 36.6, 36.6, 32.3, 31.4),
    "plain-34 test": (55.1, 55.0, 39.0, 38.8, 33.4, 32.5),
    "resnet-18 test": (47.6, 47.0, 35.7, 35.5, 31.6, 31.0),
    "resnet-34 test": (44.9, 44.4, 32.3, 32.5, 28.6, 28.3),
}
ENDS_6 = {
    "plain train": "20 1.3, 32 1.5, 44 2.7, 56 5.7",
    "plain test": "20 9.7, 32 10.1, 44 11.4, 56 13.3, 110 >60",
    "resnet train": "20 0.7, 32 0.3, 44 0.25, 56 <0.2, 110 <0.2, 1202 <0.1",
    "resnet test": "20 8.8, 32 7.5, 44 7.2, 56 7.05, 110 6.6, 1202 7.9",
}
RANKS_7 = {
    "plain-20": "1 2.5, 5 2, 10 1.85, 18 1.45",
    "resnet-20": "1 2.3, 5 1.8, 10 1.55, 18 1.17",
    "plain-56": "5 2.2, 10 2, 18 1.8, 30 1.2, 50 1",
    "resnet-56": "1 3, 5 1.5, 10 1.3, 18 1.2, 30 1.06, 50 0.8, 55 0.65",
    "resnet-110": "1 3.3, 5 1.4, 10 1.25, 18 1.12, 30 1.01, 50 0.93, 80 0.84, 108 0.67",
}


@pytest.mark.parametrize(
    ("figure", "steps", "expected"), [(FIGURE_1, AT_1, READ_1), (FIGURE_4, AT_4, READ_4)], ids=["fig-1", "fig-4"]
)
def test_curves_are_read_at_their_iterations(
    figure: tuple[Curve, ...], steps: tuple[int, ...], expected: dict[str, tuple[float, ...]]
) -> None:
    """And where they end."""
    read = {f"{curve.network} {curve.images}": (*[curve.at[step] for step in steps], curve.ends) for curve in figure}
    assert read == expected
    assert all(tuple(curve.at) == steps for curve in figure)


def test_fig_6_ends_where_it_does() -> None:
    """Above or below, where nothing else can be read; before the drop the plain networks' test errors alone are."""
    signs = {"near": "", "above": ">", "below": "<"}
    ends: dict[str, list[str]] = {}
    for curve in FIGURE_6:
        family, depth = curve.network.split("-")
        ends.setdefault(f"{family} {curve.images}", []).append(f"{depth} {signs[curve.relation]}{curve.ends:g}")
    assert {name: ", ".join(parts) for name, parts in ends.items()} == ENDS_6
    early = {curve.network: dict(curve.at) for curve in FIGURE_6 if curve.at}
    before = {"plain-20": 12.6, "plain-32": 14.1, "plain-44": 16.2, "plain-56": 18.2}
    assert early == {network: {32_000: error} for network, error in before.items()}
    assert {curve.network for curve in FIGURE_6 if curve.in_text} == {"plain-110", "resnet-1202"}


def test_responses_fall_with_their_rank() -> None:
    """As sorted ones do; none is of a layer that its network has not."""
    read = {network: ", ".join(f"{rank} {std:g}" for rank, std in found.items()) for network, found in FIGURE_7.items()}
    assert read == RANKS_7
    for network, found in FIGURE_7.items():
        assert list(found.values()) == sorted(found.values(), reverse=True)
        assert max(found) <= int(network.split("-")[1]) - 1
