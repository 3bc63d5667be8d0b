"""What the README and the docs say is true."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest
from tests.photographs import make_photos

from reslab.cli import main
from reslab.data.catalogue import load_dataset
from reslab.drawing import draw_blocks, draw_networks
from reslab.experiments.degradation import degradation_trials, judge_degradation
from reslab.networks import measure_cost
from reslab.numbers import count
from reslab.spec import NetworkSpec, find

REPOSITORY = Path(__file__).parent.parent
README = (REPOSITORY / "README.md").read_text()
PICTURES = REPOSITORY / "docs" / "pictures"


def test_the_demo_prints_such_a_table() -> None:
    """The networks of the demo, with their parameters, and what it would find in the errors shown."""
    digits = load_dataset("digits")
    rows = re.findall(r"^(plain|resnet)-(\d+) +([\d,]+) +([\d.]+) +[\d.]+ +\d+ s$", README, flags=re.MULTILINE)
    trials = degradation_trials(digits)
    shown = {(kind, int(depth)): params for kind, depth, params, _ in rows}
    assert shown == {key: count(measure_cost(trial.network).params) for key, trial in trials.items()}
    findings = judge_degradation({(kind, int(depth)): float(error) for kind, depth, _, error in rows})
    assert all(finding.as_in_the_paper for finding in findings)


def test_make_has_the_targets() -> None:
    """Every `make` line of README and CONTRIBUTING names one."""
    pages = README + (REPOSITORY / "CONTRIBUTING.md").read_text()
    targets = re.findall(r"^([a-z]+):", (REPOSITORY / "Makefile").read_text(), flags=re.MULTILINE)
    named = re.findall(r"^make ([a-z]+)", pages, flags=re.MULTILINE)
    assert "demo" in named
    assert set(named) <= set(targets)


@pytest.fixture
def desk(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A reader's folder, with our records and a few photographs."""
    monkeypatch.chdir(tmp_path)
    photos = make_photos(tmp_path / "photos", train=16, val=2)
    (tmp_path / "results").symlink_to(REPOSITORY / "results")
    shutil.copy(photos / "val" / "blues" / "000.jpg", tmp_path / "photo.jpg")
    return tmp_path


def test_the_python_runs(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The README's Python blocks, as they stand."""
    building, training = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    exec(compile(building, "README.md", "exec"), {})
    assert list((desk / "weights").glob("resnet-34-*.safetensors"))
    exec(compile(training, "README.md", "exec"), {})
    assert capsys.readouterr().out.splitlines()[-1].split()[0] in ("blues", "greens")


@pytest.mark.slow
def test_the_commands_run(desk: Path) -> None:
    """Every `reslab` line, bar the one that needs a file of the reader's; photographs for two iterations."""
    commands = re.findall(r"^reslab (.*)$", README, flags=re.MULTILINE)
    assert len(commands) >= 5
    short = ["recipe.iterations=2", "network.input_size=64"]
    for command in commands:
        if "resnet50.pth" not in command:
            main([*shlex.split(command, comments=True), *(short if "train data=photos" in command else [])])
    assert list((desk / "maps").glob("*.png"))


def test_every_variable_is_told() -> None:
    """What the code reads from the environment stands in the table of docs/reference, and nothing else does."""
    told = re.findall(
        r"^\| `(RESLAB_[A-Z]+)` \|", (REPOSITORY / "docs" / "reference" / "commands.md").read_text(), flags=re.MULTILINE
    )
    sources = [path.read_text() for path in (REPOSITORY / "src").rglob("*.py")]
    read = {name for source in sources for name in re.findall(r"environ\S*?[\[(]\"(RESLAB_[A-Z]+)\"", source)}
    assert sorted(told) == sorted(read)


def test_data_is_given_in_one_way() -> None:
    """In helps, errors and pages alike: a dataset's name or a folder, or a folder alone."""
    pages = [REPOSITORY / "README.md", REPOSITORY / "CHANGELOG.md", *(REPOSITORY / "docs").rglob("*.md")]
    for path in [*pages, *(REPOSITORY / "src").rglob("*.py")]:
        text = path.read_text().replace("\\|", "|")
        found = re.findall(r"\bdata=((?:NAME|FOLDER|PATH|FILE|DIR|DATA)\b(?:\|[A-Z]+)*)", text)
        assert {*found} <= {"NAME|FOLDER", "FOLDER"}, path


def test_links_lead_somewhere() -> None:
    """Relative links in README and docs name files that exist."""
    for page in [REPOSITORY / "README.md", *(REPOSITORY / "docs").rglob("*.md")]:
        for link, anchor in re.findall(r"\]\(([^)#:]*)#?([^):]*)\)", page.read_text()):
            there = page.parent / link if link else page
            assert there.exists(), f"{page.name} links to {link}"
            assert not anchor or anchor in list_anchors(there), f"{page.name} links to #{anchor} in {there.name}"


def list_anchors(page: Path) -> set[str]:
    """The headings of a page, as links call them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), flags=re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_the_tree_is_what_there_is() -> None:
    """Each folder in the README's tree is there, and each package is in the tree; a line may name several."""
    tree = re.findall(r"```\n(src/reslab/\n.*?)```", README, flags=re.DOTALL)[0]
    listed, above = set(), [REPOSITORY]
    for indent, names in re.findall(r"^( *)((?:\S+/ )*\S+/)(?: |$)", tree, flags=re.MULTILINE):
        for name in names.split():
            above = [*above[: len(indent) // 2 + 1], above[len(indent) // 2] / name]
            listed.add(above[-1])
    assert [folder for folder in listed if not folder.is_dir()] == []
    inits = [*REPOSITORY.glob("*/__init__.py"), *(REPOSITORY / "src").rglob("__init__.py")]
    assert {init.parent for init in inits} - listed == set()


def spec(words: str) -> NetworkSpec:
    name, *fields = words.split()
    found = find(name, dict(field.split("=") for field in fields))
    assert isinstance(found, NetworkSpec)
    return found


def test_the_pictures_are_what_we_draw() -> None:
    """Committed pictures equal today's drawings."""
    twins = ["cifar-plain-14", "cifar-resnet-14", "cifar-resnet-14 shortcut=B", "cifar-resnet-14 shortcut=gated"]
    drawn = {
        "plain-and-residual": draw_networks([spec(words) for words in twins]),
        "figure-3": draw_networks([find("vgg-19"), find("plain-34"), find("resnet-34")]),
        "resnet-50-blocks": draw_blocks(spec("resnet-50")),
        "resnet-20-order-pre-blocks": draw_blocks(spec("resnet-20 order=pre")),
        "gated-resnet-20-blocks": draw_blocks(spec("gated-resnet-20")),
    }
    measured = {"fig-6", "fig-7"}  # by matplotlib, which draws anew with each version
    assert drawn.keys() | measured == {path.stem for path in PICTURES.glob("*.svg")}
    for name, picture in drawn.items():
        assert (PICTURES / f"{name}.svg").read_text() == picture, f"{name}.svg is out of date"
