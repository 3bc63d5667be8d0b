"""The house's layers, its torch-free rooms and its public names."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.test_cli import VERBS

import reslab
from reslab.tasks.catalogue import list_shown
from reslab.tasks.classification import scores as classification
from reslab.tasks.detection import scores as detection
from reslab.tasks.multilabel import scores as multilabel

SOURCE = Path(reslab.__file__).parent
# Top to bottom; rooms on one floor never import each other.
FLOORS = [
    {"cli"},
    {"experiments", "report"},
    {"analysis", "drawing", "delivery"},
    {"tasks"},
    {"training"},
    {"networks", "data", "runs", "paper"},
    {"runtime"},
    {"spec"},
    {"shipped"},
    {"packages"},
    {"files"},
    {"errors", "json_text", "legible", "numbers", "scores"},
]
TORCH_FREE = {
    "cli",
    "report",
    "runs",
    "paper",
    "spec",
    "shipped",
    "packages",
    "files",
    "scores",
    "errors",
    "json_text",
    "legible",
    "numbers",
    "__init__",
}
SHOWN = {
    "catalogue",
    "display",
    "scores",
    "panel",
    "printed",
    "settings",
    "workbench",
}  # of tasks and instruments, for lists and pages
NEED_TORCH = {"reslab.cli.data.photo_check"}  # photographs become tensors; `data check` loads it late
TESTS = Path(__file__).parent
# What a task's numbers are called; every task has a loss.
NAMES = {score.name for task in list_shown().values() for score in task.scores} - {"loss"}
NAMES |= {*classification.LARGE, *multilabel.LARGE, *detection.LARGE, *detection.INTERVALS.values()}
NAMED_BY = {"tasks", "paper"}  # the paper's tables are about them
# By the folder or module that knows them.
KINDS = {
    "data/": (
        "ArrayDataset",
        "ArraySplit",
        "PhotoDataset",
        "PhotoSplit",
        "MultiLabelDataset",
        "ShardSplit",
        "PhotoFeed",
        "ObjectsDataset",
        "ObjectsSplit",
    ),
    "data/arrays/": ("ArrayFeed", "ResidentBatches", "StreamedBatches"),
    "data/objects/": ("ObjectsFeed",),
    "tasks/": ("ClassificationTask", "MultiLabelTask", "DetectionTask", "Counts", "LabelCounts", "DetectionMeter"),
    "spec/task.py": ("Classification", "MultiLabel"),
}
# Modules whose behaviour only shows in another's, by the tests it shows in, and why.
TESTED_ELSEWHERE = {
    "__init__.py": ("test_architecture.py", "its names are loaded late, here"),
    "cli/data/photo_check.py": ("cli/test_data.py", "what `reslab data check` prints of photographs"),
    "cli/reproduce/release.py": ("experiments/test_release.py", "the tests there begin at the command line too"),
    "cli/train/one_trial.py": ("cli/test_train.py", "one trial is what `reslab train` is mostly given"),
    "data/photos/findings.py": ("data/photos/test_check.py", "what is found, told or gone past by those who look"),
    "drawing/__init__.py": ("drawing/test_network_page.py", "puts pages together"),
    "drawing/parts.py": ("drawing/test_columns.py", "what columns consist of"),
    "networks/fused/kernels.py": ("networks/fused/test_chain.py", "kernels, beside torch's own passes"),
    "networks/fused/normalization_kernels.py": ("networks/fused/test_normalization.py", "kernels, beside torch's"),
    "networks/fused/stem.py": ("networks/fused/test_normalization.py", "normalization with a pool behind it"),
    "networks/fused/stem_kernels.py": ("networks/fused/test_normalization.py", "kernels, beside torch's"),
    "paper/release.py": ("report/test_release.py", "published errors, as they are judged by"),
    "paper/claim.py": ("paper/test_cifar.py", "claims as there are"),
    "tasks/bench.py": ("tasks/test_protocols.py", "networks side by side, as there are"),
    "spec/task_spec.py": ("spec/test_task.py", "what every task says of itself, said by those there are"),
    "training/task.py": ("training/test_loop.py", "what the loop asks of a task, asked of toys"),
}
OF_THE_WHOLE = {
    "architecture",
    "benchmarks",
    "detection",
    "exports",
    "extending",
    "hub",
    "notebooks",
    "readme",
    "results",
    "same_numbers",
    "scaling",
    "site",
    "wheel",
}
# In a process of its own: whoever imports torch fails, wherever that stands, and whatever it would catch.
WITHOUT_TORCH = """
import importlib, sys, traceback

class NoTorch:
    def find_spec(self, name, *_):
        if name == "torch":
            raise RuntimeError("imports torch")

sys.meta_path.insert(0, NoTorch())
"""


def _imports(path: Path) -> set[str]:
    rooms = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relatively, which is not looked through here"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            rooms |= {name.split(".")[1] for name in names if name.startswith("reslab.")}
        elif isinstance(node, ast.Import):
            rooms |= {alias.name.split(".")[1] for alias in node.names if alias.name.startswith("reslab.")}
    return rooms


def _floor(room: str) -> int:
    return next(index for index, floor in enumerate(FLOORS) if room in floor)


def test_imports_go_downward_only() -> None:
    """A room imports from floors below its own, and from itself."""
    for path in SOURCE.rglob("*.py"):
        room = path.relative_to(SOURCE).parts[0].removesuffix(".py")
        if room in ("__init__", "__main__"):
            continue
        for imported in _imports(path) - {room}:
            assert _floor(imported) > _floor(room), f"{path.relative_to(SOURCE)} imports reslab.{imported}"


def test_every_room_has_a_floor() -> None:
    """A new folder must say where it stands."""
    rooms = {path.name.removesuffix(".py") for path in SOURCE.iterdir() if path.suffix == ".py" or path.is_dir()}
    assert rooms - {"__init__", "__main__", "__pycache__", "py.typed"} == set().union(*FLOORS)


def _run_without_torch(script: str, *words: str) -> str:
    command = [sys.executable, "-c", WITHOUT_TORCH + script, *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_some_rooms_never_import_torch() -> None:
    """Each module of theirs by itself; whoever does is told with the way by which it came to it."""
    paths = [path.relative_to(SOURCE.parent).with_suffix("") for path in SOURCE.rglob("*.py")]
    shown = [path for path in paths if path.parts[1] in ("tasks", "analysis") and path.name in SHOWN]
    free = [path for path in paths if path.parts[1] in TORCH_FREE]
    names = [".".join(path.parts).removesuffix(".__init__") for path in (*free, *shown)]
    script = """
for name in sys.argv[1:]:
    try:
        importlib.import_module(name)
    except RuntimeError as error:
        frames = traceback.extract_tb(error.__traceback__)[1:-1]
        print(name, *[f"{frame.filename}:{frame.lineno}" for frame in frames if "importlib" not in frame.filename])
"""
    ways = [line.split() for line in _run_without_torch(script, *sorted(names)).splitlines()]
    assert {name for name, *_ in ways} == NEED_TORCH, "\n".join(" > ".join(way) for way in ways)


def test_help_answers_without_torch() -> None:
    """`reslab --help`, and every verb's own help, leave torch alone; so does a list of networks."""
    script = """
from reslab.cli import app, main
main(["networks"])
for verb in app:
    main([verb] if verb in ("--help", "-h", "--version") else [verb, "--help"])
"""
    told = _run_without_torch(script)
    assert "resnet-1202" in told
    assert all(f"Usage: reslab {verb}" in told for verb in VERBS)


def test_public_names_are_there() -> None:
    """Every name in `__all__` loads, and nothing unknown does."""
    for name in reslab.__all__:
        assert getattr(reslab, name) is not None
    with pytest.raises(AttributeError, match="nonsense"):
        _ = reslab.nonsense  # pyright: ignore[reportAttributeAccessIssue]


def test_files_stay_stories() -> None:
    """No source file outgrows what one reads in a sitting, none hides behind a vague name."""
    for path in SOURCE.rglob("*.py"):
        assert len(path.read_text().splitlines()) <= 350, path
        assert path.stem not in {"utils", "util", "common", "helpers", "misc"}, path


def test_scores_are_known_by_name_where_they_are_defined() -> None:
    """Logs, lists, charts and pages show what scores say of themselves; words of one's own stay words."""
    long = "|".join(sorted(name for name in NAMES if "_" in name))
    short = "|".join(sorted(name for name in NAMES if "_" not in name))
    names = re.compile(rf"""\b(?:train_|test_)?(?:{long})\b|["'.](?:{short})\b""")
    files = [path for path in SOURCE.rglob("*") if path.suffix in (".py", ".html", ".js")]
    for path in [*files, *(TESTS.parent / "tools").glob("*.py")]:
        place = path.relative_to(SOURCE).as_posix() if path.is_relative_to(SOURCE) else path.name
        if place.split("/")[0] not in NAMED_BY:
            found = names.search(path.read_text())
            assert found is None, f"{path} knows {found and found[0]}"


def test_nobody_asks_which_kind_of_data_or_task_it_is() -> None:
    """Kinds are known in their own folders; elsewhere the contracts serve, and there is no union of kinds."""
    for room, kinds in KINDS.items():
        kind = rf"\b(?:{'|'.join(kinds)})\b"
        asked = re.compile(rf"isinstance\([^()]*,[^()]*{kind}|{kind} \| (?!None)|(?<!None) \| {kind}")
        for path in SOURCE.rglob("*.py"):
            if not path.relative_to(SOURCE).as_posix().startswith(room):
                found = asked.search(path.read_text())
                assert found is None, f"{path} asks for {found and found[0]}"


def _has_behaviour(path: Path) -> bool:
    return any(isinstance(node, ast.FunctionDef) for node in ast.walk(ast.parse(path.read_text())))


def _test_of(source: str) -> Path:
    """Where the tests of a module stand; those of a folder's `__init__` beside the folder."""
    path = Path(source)
    tested = path.parent if path.name == "__init__.py" and path.parent.name else path
    return TESTS / tested.with_name(f"test_{tested.stem}.py")


def test_every_module_has_its_tests() -> None:
    """In the place that mirrors its own, or in one that the list above names; what is only data needs none."""
    modules = {path.relative_to(SOURCE).as_posix(): path for path in SOURCE.rglob("*.py")}
    untested = {name for name, path in modules.items() if _has_behaviour(path) and not _test_of(name).exists()}
    assert untested == set(TESTED_ELSEWHERE)
    for name, (place, _) in TESTED_ELSEWHERE.items():
        assert (TESTS / place).exists(), f"{name} is not tested by {place}"


def test_every_test_has_its_source() -> None:
    """Each test module stands where its source module, or its tool, does; those at the top are of the whole house."""
    for path in TESTS.rglob("test_*.py"):
        relative = path.relative_to(TESTS)
        if len(relative.parts) > 1:
            tested = relative.with_name(path.name.removeprefix("test_"))
            exists = (SOURCE / tested).exists() or (SOURCE / tested.with_suffix("")).is_dir()
            exists = exists or (tested.parts[0] == "tools" and (TESTS.parent / tested).exists())
            assert exists, f"{relative} tests nothing: there is no {tested}"
        else:
            room = path.stem.removeprefix("test_")
            rooms = {room, f"{room}.py"} & {each.name for each in SOURCE.iterdir()}
            assert rooms or room in OF_THE_WHOLE, f"{relative} tests nothing: there is no {room}"


def test_the_path_of_a_run_visits_each_module_once() -> None:
    """The page's modules are there, and none is visited twice."""
    page = (SOURCE.parents[1] / "docs" / "inside" / "architecture.md").read_text()
    (path,) = re.findall(r"## The path of a run\n.*?```\n(.*?)```", page, re.DOTALL)
    rooms = "|".join(sorted(name for floor in FLOORS for name in floor))
    visited = re.findall(rf"\b(?:{rooms})(?:/\w+)+", path)
    assert len(visited) > 15
    assert sorted(set(visited)) == sorted(visited)
    missing = [
        name for name in visited if not any((SOURCE / f"{name}{end}").exists() for end in (".py", "/__init__.py"))
    ]
    assert not missing


def test_the_pages_tree_names_what_there_is() -> None:
    """Every file and folder on the page of modules is in the source, or a tool; every module is on the page."""
    page = (SOURCE.parents[1] / "docs" / "inside" / "modules.md").read_text()
    blocks = "".join(re.findall(r"```\n(.*?)```", page, re.DOTALL))
    columns = [line.strip().split("   ")[0] for line in blocks.splitlines() if line.strip()]
    named = {name for column in columns for name in re.findall(r"^\w+/|\w+\.py", column)}
    there = {path.name for path in (*SOURCE.rglob("*.py"), *(SOURCE.parents[1] / "tools").glob("*.py"))}
    folders = {f"{path.name}/" for path in SOURCE.rglob("*") if path.is_dir()}
    assert named - there - folders == set()
    told = set(re.findall(r"\w+\.py", page))
    assert {path.name for path in SOURCE.rglob("*.py")} - told == {"__init__.py", "__main__.py"}
