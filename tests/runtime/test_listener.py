"""Whoever hears of long work hears what he asked for, and nothing else."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

from reslab.runtime.listener import DEAF, Listener, Metrics


def test_nobody_need_listen() -> None:
    """Whatever is said, nothing comes of it, in parts of the work neither; and nobody wishes to stop."""
    DEAF.warn("a sentence")
    DEAF.progress(3, {"loss": 1.0})
    with DEAF.enter("a trial", 10) as progress:
        progress(3, {})
    assert not DEAF.should_stop()


def test_the_progress_of_a_part_goes_elsewhere() -> None:
    """All else goes on to whom it went to."""
    told: list[str] = []
    whole: list[int] = []
    part: list[tuple[int, Metrics]] = []

    def enter(what: str, total: int) -> AbstractContextManager:
        told.append(f"{what}, {total}")
        return nullcontext(lambda done, metrics: part.append((done, metrics)))

    listener = Listener(
        warn=told.append, progress=lambda done, metrics: whole.append(done), should_stop=lambda: True, enter=enter
    )
    with listener.enter("a trial", 10) as progress:
        inner = listener.moved_by(progress)
        inner.progress(4, {"loss": 2.0})
        inner.warn("a sentence")
        assert inner.should_stop()
    listener.progress(5, {})
    assert told == ["a trial, 10", "a sentence"]
    assert (whole, part) == ([5], [(4, {"loss": 2.0})])
