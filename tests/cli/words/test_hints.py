"""What a bare word may have meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from reslab.cli.words.hints import hint_at_word


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("photos", "write data=photos"),
        ("./photos", "write data=./photos"),
        ("digits", "write data=digits"),
        ("resnet-18", "write network=resnet-18"),
        ("cifar-resnet-8", "write network=cifar-resnet-8"),
        ("mine.pth", "write weights=mine.pth"),
        ("fast", "there is no folder fast; for the recipe of that name, write recipe=fast"),
        ("resnt-18", "did you mean 'network=resnet-18'?"),
        ("cifar-10", "did you mean 'data=cifar10'?"),
        ("nothing-like-it", "write data=FOLDER network=NAME"),
        ("a" * 300, "write data=FOLDER network=NAME"),
        (
            "runs/resnet-18-photos-1",
            "to resume a run, repeat the command that started it; `reslab runs show` prints it",
        ),
    ],
)
def test_a_bare_word_is_hinted_at_rightly(
    word: str, hint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder or a dataset is data, a name is a network; what is neither is not called one."""
    monkeypatch.chdir(tmp_path)
    Path("photos").mkdir()
    Path("runs/resnet-18-photos-1").mkdir(parents=True)
    Path("runs/resnet-18-photos-1/trial.json").touch()
    assert hint_at_word(word) == hint
