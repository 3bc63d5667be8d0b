"""What the README and the docs say is true."""

from __future__ import annotations

import contextlib
import re
import shlex
import shutil
from pathlib import Path

import pytest
import torch
from tests.photographs import make_photos
from tools.measurements import QUESTIONS

from reslab.cli import main
from reslab.data.catalogue import load_dataset
from reslab.drawing import draw_blocks, draw_networks
from reslab.experiments.degradation import degradation_trials, judge_degradation
from reslab.networks import create_model, foreign_state_dict, measure_cost
from reslab.numbers import count
from reslab.spec import NetworkSpec, find

REPOSITORY = Path(__file__).parent.parent
README = (REPOSITORY / "README.md").read_text()
DOCS = REPOSITORY / "docs"
PICTURES = DOCS / "pictures"
RUNNING = [REPOSITORY / "README.md", DOCS / "index.md", DOCS / "how-to" / "python.md"]
RUNNING += sorted([*(DOCS / "start").glob("*.md"), *(DOCS / "tutorials").glob("*.md")])
SHORTER = {
    r"weights=(torchvision|imagenet)": "weights=resnet18.pth",
    r"weights fetch resnet-50": "weights list",
    r"train data=photos": "train data=photos network.input_size=32",
    r"data fetch cifar10": "data check digits",
    r"reproduce fig-6 --only \S+": "train data=digits network=resnet-20",
    r"data=cifar10": "data=digits",
    r"recipe\.(epochs|iterations)=\d+": "recipe.iterations=2",
    r"\"recipe\.(epochs|iterations)\": \d+": '"recipe.iterations": 2',
    r"\"network\.input_size\": \d+": '"network.input_size": 32',
    r"Recipe\(iterations=\d+": "Recipe(iterations=2",
    r"\"recipe\.evaluate_every\": \d+": '"recipe.evaluate_every": 1',
}


def test_the_demo_prints_such_a_table() -> None:
    """The networks of the demo, with their parameters, and what it would find in the errors shown."""
    digits = load_dataset("digits")
    page = (DOCS / "start" / "demo.md").read_text(encoding="utf-8")
    rows = re.findall(r"^(plain|resnet)-(\d+) +([\d,]+) +([\d.]+) +[\d.]+ +\d+ s$", page, flags=re.MULTILINE)
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
    """A reader's folder, with our records, a few photographs and weights in torchvision's names."""
    monkeypatch.chdir(tmp_path)
    photos = make_photos(tmp_path / "photos", train=16, val=2)
    (tmp_path / "results").symlink_to(REPOSITORY / "results")
    shutil.copy(photos / "val" / "blues" / "000.jpg", tmp_path / "photo.jpg")
    torch.save(foreign_state_dict(create_model("resnet-18-v1.5"), "torchvision"), tmp_path / "resnet18.pth")
    (tmp_path / "resnet50.pth").symlink_to("resnet18.pth")
    return tmp_path


@pytest.mark.parametrize("page", RUNNING, ids=lambda page: page.relative_to(REPOSITORY).as_posix())
def test_every_block_runs(page: Path, desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The Python and every `reslab` line of a page for its readers, in their order, with shorter trainings."""
    blocks = re.findall(r"^```(\w*)\n(.*?)^```", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    assert blocks
    for language, block in blocks:
        if language == "python":
            exec(compile(shorten(block), page.name, "exec"), {})
        else:
            for command in re.findall(r"^reslab (.*)$", block.replace("\\\n", " "), flags=re.MULTILINE):
                run_command(shorten(command))
    printed = capsys.readouterr().out
    if "explain maps" in page.read_text(encoding="utf-8"):
        assert list((desk / "maps").glob("*.png"))
        assert re.search(r"^(blues|greens) +[\d.]+", printed, flags=re.MULTILINE)  # by the last block that guesses


def shorten(text: str) -> str:
    """Let what takes minutes, or a connection, take seconds."""
    for long, short in SHORTER.items():
        text = re.sub(long, short, text)
    return text


def run_command(command: str) -> None:
    words = shlex.split(command, comments=True)
    if words == ["demo"] or words[0] == "--install-completion":
        return  # tests/cli/test_demo.py runs the first; the second would change the reader's shell
    if words[0] == "train" and not any(word.startswith("recipe.iterations=") for word in words):
        words.append("recipe.iterations=2")
    with contextlib.suppress(SystemExit) if words == ["--help"] else contextlib.nullcontext():
        main(words)


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
    """The headings of a page, as links call them; the site has one hyphen where GitHub has several."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), flags=re.MULTILINE)
    anchors = {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
    return anchors | {re.sub("-+", "-", anchor) for anchor in anchors}


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
    # By matplotlib, which draws anew with each version.
    measured = {"fig-4", "fig-6", "fig-7", "landscape-resnet-20"}
    told = {one.figure for one in QUESTIONS if one.run and one.draw}
    assert drawn.keys() | measured | told == {path.stem for path in PICTURES.glob("*.svg")}
    for name, picture in drawn.items():
        assert (PICTURES / f"{name}.svg").read_text() == picture, f"{name}.svg is out of date"
