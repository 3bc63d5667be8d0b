"""`reslab weights`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reslab.cli import main
from reslab.networks.weights import released
from reslab.shipped import place_of


@pytest.fixture(autouse=True)
def no_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A data root of one's own, with nothing in it."""
    monkeypatch.setenv("RESLAB_DATA", str(tmp_path))


def test_all_sets_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    """With what is here, and how to fetch the rest."""
    main(["weights", "list"])
    told = capsys.readouterr().out
    assert "no: reslab weights fetch resnet-50" in told and "weights=cifar10" in told
    main(["weights", "list", "--json"])
    rows = {row["network"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows["resnet-20"] == {"network": "resnet-20", "weights": "cifar10", "here": True}
    assert rows["resnet-50"]["here"] is False


def test_fetching_says_where_to(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """And what to write to use them; a dry run fetches nothing."""
    main(["weights", "fetch", "resnet-50", "--dry-run"])
    place = place_of("imagenet", "resnet-50")
    assert f"write {place}" in " ".join(capsys.readouterr().out.split())
    monkeypatch.setattr(released, "fetch_release", lambda network, watch: place)
    main(["weights", "fetch", "resnet-50"])
    assert "use weights=imagenet" in capsys.readouterr().out
    main(["weights", "fetch", "resnet-18", "--dry-run"])
    assert "would fetch torchvision's weights of resnet-18" in capsys.readouterr().out


def test_checking_prints_whose_they_are(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Once they are found whole."""
    monkeypatch.setattr(released, "check_release", lambda network: place_of("imagenet", network))
    main(["weights", "check", "resnet-50"])
    told = " ".join(capsys.readouterr().out.split())
    assert (
        "Kaiming He" in told and "published percent: 1-crop 24.7/7.8, 10-crop 22.85/6.71" in told and "is whole" in told
    )


def test_what_cannot_be_fetched_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    """With exit code 2."""
    with pytest.raises(SystemExit) as stop:
        main(["weights", "check", "resnet-50"])
    assert stop.value.code == 2
    assert "run: reslab weights fetch resnet-50" in capsys.readouterr().err
