"""Pages say what the records say, and nothing read from disk can break out of its place."""

from __future__ import annotations

import json
import re
import statistics
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.runs_by_hand import CLASSES, EXAMPLE, SITTING, count_error, groups_in, write_run, write_turning_run

from reslab.report.groups import group_runs
from reslab.report.pages import page_addresses, render_index, render_run, tabulate_verdicts
from reslab.report.records import Damage, read_gallery, read_records
from reslab.report.reporting import report_runs
from reslab.runs.directory import ReadOnce, RunDirectory
from reslab.runs.log import StepLog
from reslab.scores import describe_scores
from reslab.tasks.multilabel.scores import ERROR, MEAN_PRECISION

HOSTILE = "</script><img src=x onerror=alert(1)>"


@dataclass(frozen=True)
class Claim:
    """As much of a claim as is shown."""

    table: str
    row: str = "ResNet-20"
    quantity: str = "test error %"
    published: float | None = 8.75
    published_words: str = "8.75"
    note: str = ""


@dataclass(frozen=True)
class Verdict:
    """As much of a verdict as is shown."""

    claim: Claim
    word: str
    values: tuple[float, ...] = ()
    mean: float | None = None
    std: float | None = None
    difference: float | None = None
    runs: tuple[str, ...] = ()
    remarks: str = ""

    @property
    def n(self) -> int:
        return len(self.values)


def index_of(root: Path, *, verdicts: tuple[Verdict, ...] = ()) -> str:
    records, damages = read_records(root)
    return render_index(group_runs(records), damages, verdicts=verdicts, figures={})


def words_of(page: str) -> str:
    """Return a page's text, without tags and with single spaces."""
    main = page.partition("<main")[2].partition("</main>")[0].replace("<wbr>", "")
    return " ".join(re.sub(r"<[^>]*>", " ", main).split())


def test_the_index_lists_every_run_by_its_state(tmp_path: Path) -> None:
    """Finished with its errors and costs, interrupted with how far it came."""
    done = write_run(tmp_path, "resnet-20", sittings=2)
    write_run(tmp_path, "plain-20", finished=False)
    page = index_of(tmp_path)
    assert "2 runs, 2 networks" in page
    assert "1 finished, 1 interrupted." in page
    words = words_of(page)
    assert "interrupted at 12,000 of 64,000" in words
    assert "test error % training error % state parameters" in words
    test, train = (done.result()[f"{part}_error_percent"] for part in ("test", "train"))
    assert f"{test:.2f} {train:.2f} finished 269,722 900 512.0 – 2 min 40 s 0123456 cpu" in words


def test_a_run_being_trained_is_told_from_an_interrupted_one(tmp_path: Path) -> None:
    """In the first lines and in its row; so is one that diverged."""
    write_run(tmp_path, "resnet-20", finished=False)
    write_run(tmp_path, "resnet-32", finished=False).note_divergence("the loss is not finite")
    with write_run(tmp_path, "plain-20", finished=False).working():
        page = index_of(tmp_path)
    assert "0 finished, 1 running, 1 interrupted, 1 diverged." in page
    assert "diverged at 12,000 of 64,000" in words_of(page)
    assert "running at 12,000 of 64,000" in words_of(page)


def test_runs_none_of_which_is_finished_are_shown(tmp_path: Path) -> None:
    """What they logged, and no best one; a run that logged nothing too."""
    write_run(tmp_path, finished=False, responses=False)
    page = index_of(tmp_path)
    assert "0 finished, 1 interrupted." in page
    assert "lowest test error" not in page
    (write_run(tmp_path / "new", finished=False, responses=False).path / "metrics.jsonl").unlink()
    assert "Nothing has been logged yet." in index_of(tmp_path / "new")


def test_a_single_run_does_not_lead(tmp_path: Path) -> None:
    """The headline is a mean of three runs at least where there is one; a lower one of fewer follows as what it is."""

    def headline() -> str:
        page = re.sub(r"<[^>]*>", "", index_of(tmp_path).partition('class="lede"')[2].partition("</p>")[0])
        return re.sub(r"\d+\.\d\d", "?", " ".join(page.partition("finished.")[2].split()))

    write_run(tmp_path, "resnet-56", error_percent=7.0)
    assert headline() == "On cifar10, resnet-56 has the lowest test error: ? % (one run)."
    for seed in range(3):
        write_run(tmp_path, "resnet-20", error_percent=9.0, seed=seed)
    first = "On cifar10, resnet-20 has the lowest test error of networks with three or more runs: ? ± ? % (3 runs)"
    assert headline() == f"{first}; resnet-56 has ? % (one run)."
    write_run(tmp_path, "resnet-56", error_percent=7.0, seed=1)
    assert headline() == f"{first}; resnet-56 has ? ± ? % (2 runs)."
    write_run(tmp_path, "resnet-56", error_percent=7.0, seed=2)
    assert headline() == "On cifar10, resnet-56 has the lowest test error: ? ± ? % (3 runs)."


def test_seeds_are_summed_up_where_there_are_several(tmp_path: Path) -> None:
    """Mean ± std; no such table for single runs."""
    write_run(tmp_path, seed=0)
    assert "Over seeds" not in index_of(tmp_path)
    write_run(tmp_path, seed=1)
    (group,) = groups_in(tmp_path)
    end = group.curve[-1].test
    assert end is not None
    words = f"resnet-20 cifar10 {end.mean:.2f} ± {end.std:.2f} {group.curve[-1].train.mean:.2f}"  # pyright: ignore
    assert words in words_of(index_of(tmp_path))


def test_what_all_networks_changed_stands_below_their_curves(tmp_path: Path) -> None:
    """Names do not say it then."""
    write_run(tmp_path)
    assert "change these fields" not in index_of(tmp_path)
    write_run(tmp_path / "short", iterations="640")
    assert "All networks here change these fields of their recipes: iterations=640 ." in words_of(
        index_of(tmp_path / "short")
    )


def test_what_is_not_displayed_is_named(tmp_path: Path) -> None:
    """Below the curves, where there is such a network; and where a line along depth leads to it, that this does."""
    write_run(tmp_path, "plain-56", error_percent=13.0)
    assert "the paper’s figure" not in words_of(index_of(tmp_path))
    write_run(tmp_path, "plain-110", error_percent=73.0, iterations="640")
    curves = "Hidden at first because they are above 60 %, as in the paper’s figure: plain-110"
    words = words_of(index_of(tmp_path))
    assert f"{curves} iterations=640." in words
    assert "leave the scale" not in words
    write_run(tmp_path, "plain-110", error_percent=73.0)
    write_run(tmp_path, "plain-110", error_percent=73.0, seed=1)
    words = words_of(index_of(tmp_path))
    assert f"{curves}, plain-110 iterations=640. In the depth plot, lines towards plain-110 leave the scale." in words


def test_what_responses_are_of_is_told(tmp_path: Path) -> None:
    """Means where there are seeds, else one run's confidence."""
    write_run(tmp_path)
    assert "Bands are 95 % confidence intervals. Measured on 10,000 images." in words_of(index_of(tmp_path))
    write_run(tmp_path, seed=1)
    band = "Lines are means over seeds (× number of seeds), bands are one standard deviation"
    assert f"{band}. Measured on 10,000 images." in words_of(index_of(tmp_path))
    write_run(tmp_path, "plain-20")
    assert f"{band}; for a single seed, the 95 % confidence interval. Measured on 10,000 images." in words_of(
        index_of(tmp_path)
    )


def test_shared_speed_and_memory_are_told(tmp_path: Path) -> None:
    """In both tables, beside the numbers of the run, and in its provenance."""
    run = write_run(tmp_path)
    assert "trials at once" not in words_of(index_of(tmp_path))
    run.begin(run.trial(), {**SITTING, "together": 8})
    words = words_of(index_of(tmp_path))
    assert "900 512.0 8 2 min 40 s" in words
    assert "resnet-20 8 900 2 min 40 s 512.0 1 cifar10 cpu" in words
    assert words.count("peak memory counts all trials") == 2
    (group,) = groups_in(tmp_path)
    page = words_of(render_run(group, group.runs[0], addresses=page_addresses([group])))
    assert "speed 900 images/s, up to 8 trials at once" in page
    assert "peak memory 512.0 MiB, up to 8 trials at once" in page
    assert "wall-clock 2 min 40 s , up to 8 trials at once" in page
    assert "trials at once up to 8, in one process" in page


def test_speeds_of_one_row_are_of_one_kind(tmp_path: Path) -> None:
    """By how many shared the device, fewest first; bars, which compare rows, only where nobody shared it."""

    def table() -> str:
        return index_of(tmp_path).partition('id="speeds"')[2].partition("</table>")[0]

    for network in ("plain-20", "resnet-20"):
        run = write_run(tmp_path, network, responses=False)
        run.begin(run.trial(), {**SITTING, "together": 1})
    assert table().count("--part: 1.0000") == 6
    for network, seed in (("plain-20", 1), ("resnet-20", 1), ("resnet-20", 2)):
        run = write_run(tmp_path, network, seed=seed, responses=False)
        run.begin(run.trial(), {**SITTING, "together": 3})
    rows = re.findall(r"(\S+) (\d+) 900 2 min 40 s 512.0 (\d+)", " ".join(re.sub(r"<[^>]*>", " ", table()).split()))
    assert rows == [("plain-20", "1", "1"), ("resnet-20", "1", "1"), ("plain-20", "3", "1"), ("resnet-20", "3", "2")]
    assert "--part: 1.0000" not in table()


def test_damage_is_listed(tmp_path: Path) -> None:
    """By the run's name, with the sentence."""
    write_run(tmp_path)
    page = render_index(groups_in(tmp_path), [Damage("x", "result.json is damaged")], verdicts=(), figures={})
    assert "<code>x</code> result.json is damaged." in page


def test_a_runs_page_tells_all(tmp_path: Path) -> None:
    """Trial, recipe, provenance of each sitting, classes, the other seeds."""
    write_run(tmp_path, seed=0, sittings=2)
    write_run(tmp_path, seed=1)
    (group,) = groups_in(tmp_path)
    page = render_run(group, group.runs[0], addresses=page_addresses([group]))
    words = words_of(page)
    assert "recipe.optimizer.learning_rate 0.1" in words
    assert words.count(str(SITTING["command"])) == 2
    assert "Session 2, 2026-11-15 13:25" in words
    assert all(name in words for name in CLASSES)
    assert f'Other seeds: <a href="../runs/{group.runs[1].id}.html">1</a>' in page
    plots = json.loads(page.partition('id="plots">')[2].partition("</script>")[0])
    assert set(plots) == {"curve-error", "curve-loss", "confusion", "responses"}


def test_what_differs_from_the_recipe_is_seen_at_once(tmp_path: Path) -> None:
    """With what it is there; all else is folded, the fields of the network too."""
    write_run(tmp_path, network_fields={"shortcut": "B"}, **{"optimizer.learning_rate": "0.05"})
    (group,) = groups_in(tmp_path)
    page = render_run(group, group.runs[0], addresses={})
    seen = words_of(re.sub(r"<details>.*?</details>", "", page, flags=re.DOTALL))
    assert "Recipe cifar-paper, changed recipe.optimizer.learning_rate 0.05 instead of 0.1 Network, data" in seen
    assert "resnet-20 shortcut=B" in seen
    for folded in ("recipe.augmentation.padding 4", "network.shortcut B"):
        assert folded in words_of(page)
        assert folded not in seen
    write_run(tmp_path / "usual")
    (group,) = groups_in(tmp_path / "usual")
    assert "Recipe cifar-paper No field is changed." in words_of(render_run(group, group.runs[0], addresses={}))


def test_fields_break_between_their_words(tmp_path: Path) -> None:
    """A narrow column has no room for the whole, and none is broken within a word."""
    write_run(tmp_path)
    (group,) = groups_in(tmp_path)
    page = render_run(group, group.runs[0], addresses={})
    assert '<th scope="row">recipe.<wbr>optimizer.<wbr>learning_<wbr>rate</th>' in page


def test_a_gallery_is_shown_by_class(tmp_path: Path) -> None:
    """Mistakes with what they were taken for; classes beyond a few are folded, and hostile names are text."""
    run = write_run(tmp_path, data="photos")
    (group,) = groups_in(tmp_path)
    assert "Worst mistakes" not in render_run(group, group.runs[0], addresses={})
    wrong, right = EXAMPLE | {"name": 'a/"><b>.jpg'}, EXAMPLE | {"guess": "bees", "probability": 0.995}
    classes = [{"name": name, "mistakes": [wrong], "hits": [right] * 2} for name in CLASSES]
    run.write("gallery", {"classes": [*classes, {"name": "bees", "hits": [right]}]})
    (group,) = groups_in(tmp_path)
    page = render_run(group, group.runs[0], addresses={}, gallery=read_gallery(group.runs[0])[0])
    assert page.count(f'src="data:image/jpeg;base64,{EXAMPLE["picture"]["jpeg"]}"') == 31
    assert 'alt="a/&#34;&gt;&lt;b&gt;.jpg: bees, predicted as ants"' in page
    words = words_of(page)
    assert "airplane Worst mistakes ants 97 %" in words
    assert "bees Worst mistakes None is shown. Most confident hits bees 100 % 1.jpg" in words
    assert "5 more classes" in words


def test_a_damaged_gallery_costs_nothing_else(tmp_path: Path) -> None:
    """The run is shown without it, and that is told."""
    run = write_run(tmp_path)
    run.write("gallery", {"classes": [{"name": "bees", "hits": [EXAMPLE | {"probability": "often"}]}]})
    (record,), damages = read_records(tmp_path)
    assert not damages and record.result is not None
    (damage,) = report_runs(tmp_path, out=tmp_path / "site").damages
    (page,) = (tmp_path / "site" / "runs").iterdir()
    assert "Worst mistakes" not in page.read_text()
    assert damage.sentence.partition(":")[0] in (tmp_path / "site" / "index.html").read_text()
    assert damage.sentence.startswith("gallery.json is damaged: ")
    assert damage.sentence.endswith("; the run is shown without its gallery")


def test_a_gallery_is_read_for_its_page_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lists and comparisons do without, and no record remembers it."""
    write_run(tmp_path).write("gallery", {"classes": [{"name": "bees", "hits": [EXAMPLE]}]})
    read: list[str] = []
    inner = RunDirectory.read
    monkeypatch.setattr(RunDirectory, "read", lambda run, name: read.append(name) or inner(run, name))
    (record,), _ = read_records(tmp_path)
    assert "gallery" not in read
    assert read_gallery(record)[0] is not None
    assert read.count("gallery") == 1
    assert isinstance(record.directory, ReadOnce)
    assert "gallery" not in record.directory.known


def test_several_labels_are_headlined_by_their_precision(tmp_path: Path) -> None:
    """In results of before too, whose first score is the error; there is none of training."""
    run = write_run(tmp_path, task="multi-label", responses=False, finished=False)
    (run.path / "metrics.jsonl").unlink()
    tested = {"test_error_percent": 83.33, "test_map_percent": 91.5, "train_error_percent": 70.0, "test_loss": 0.3}
    last = {"step": run.trial().recipe.iterations, "train_loss": 1.0, "learning_rate": 0.1, **tested}
    StepLog(run.path / "metrics.jsonl").append(last)
    run.finish(last | {"map_percent": 91.5, "scores": describe_scores([ERROR, MEAN_PRECISION])})
    page = index_of(tmp_path)
    assert 'has the highest test mAP: <span class="whole">91.50 %</span>' in page
    (group,) = groups_in(tmp_path)
    words = words_of(render_run(group, group.runs[0], addresses={}))
    assert "test mAP 91.50 % error 83.33 % speed" in words


def test_what_no_run_scores_in_training_has_no_column(tmp_path: Path) -> None:
    """Over seeds, of single runs and in the notes; beside runs that have it the others have a dash."""
    for seed in range(2):
        run = write_run(tmp_path, task="multi-label", responses=False, finished=False, seed=seed)
        (run.path / "metrics.jsonl").unlink()
        last = {"step": 64_000, "train_loss": 1.0 + seed, "test_map_percent": 91.5, "test_loss": 0.3}
        StepLog(run.path / "metrics.jsonl").append(last)
        run.finish(last | {"map_percent": 91.5, "scores": describe_scores([MEAN_PRECISION])})
    words = words_of(index_of(tmp_path))
    assert "test mAP %, mean ± std seeds" in words and "test mAP % state" in words
    assert "training" not in words.lower()
    write_run(tmp_path, "plain-20")
    words = words_of(index_of(tmp_path))
    assert "91.50 ± 0.00 – 2" in words and "91.50 – finished" in words


def test_the_balanced_error_is_told_where_there_is_one(tmp_path: Path) -> None:
    """Where classes have different numbers of images; runs of early versions have none."""
    run = write_run(tmp_path)
    (group,) = groups_in(tmp_path)
    assert "balanced error" not in words_of(render_run(group, group.runs[0], addresses=page_addresses([group])))
    balanced = statistics.fmean(run.result()["class_error_percent"])
    run.finish(run.result() | {"balanced_error_percent": balanced})
    (group,) = groups_in(tmp_path)
    words = words_of(render_run(group, group.runs[0], addresses=page_addresses([group])))
    assert f"balanced error {balanced:.2f} %" in words


def test_a_class_without_test_images_has_a_dash(tmp_path: Path) -> None:
    """Nothing is known of its error."""
    run = write_run(tmp_path, exact_norms=True)
    result = run.result()
    result["confusion"][4], result["class_error_percent"][4] = [0] * 10, None
    run.finish(result | dict.fromkeys(("error_percent", "test_error_percent"), count_error(result["confusion"])))
    (group,) = groups_in(tmp_path)
    assert f"{CLASSES[4]} 0 –" in words_of(render_run(group, group.runs[0], addresses=page_addresses([group])))


def test_a_score_that_no_task_here_has_is_shown(tmp_path: Path) -> None:
    """By its own words and unit, and the highest is the best."""
    for network, right in (("resnet-20", 90.0), ("plain-20", 40.0)):
        write_turning_run(tmp_path, network, right=right)
    groups = groups_in(tmp_path)
    page = index_of(tmp_path)
    assert 'resnet-20</a> has the highest test rate: <span class="whole">90.00 %</span> (one run)' in page
    assert "test rate % training rate % state" in words_of(page)
    assert '"axis":{"words":"rate (%)","most":101}' in page
    (group,) = (group for group in groups if group.label == "resnet-20")
    words = words_of(render_run(group, group.runs[0], addresses=page_addresses(groups)))
    assert "test rate 90.00 % training rate 95.00 % angle 0.00 °" in words


def test_bad_images_are_told(tmp_path: Path) -> None:
    """On the page of the run whose errors lack them, or whose training did."""
    run = write_run(tmp_path, seed=0)
    for skipped, told in ((0, False), (3, True)):
        run.finish(run.result() | {"skipped_images": skipped, "skipped_training_images": skipped})
        (group,) = groups_in(tmp_path)
        page = words_of(render_run(group, group.runs[0], addresses=page_addresses([group])))
        assert ("Unreadable test images, not counted in any score: 3." in page) == told
        assert ("Unreadable training images, replaced by other images: 3." in page) == told


def test_nothing_from_disk_is_read_as_html(tmp_path: Path) -> None:
    """Names of classes, layers, devices, commands, folders; in text and in embedded data."""
    run = write_run(tmp_path, classes=[HOSTILE, *CLASSES[1:]], name="<b>&'\"")
    run.begin(run.trial(), {**SITTING, "device": HOSTILE, "command": HOSTILE, "machine": {HOSTILE: HOSTILE}})
    responses = run.read("analysis/responses")
    responses["layers"][0]["name"] = HOSTILE
    run.write("analysis/responses", responses)
    (group,) = groups_in(tmp_path)
    verdict = Verdict(Claim("fig-7", row=HOSTILE, note=HOSTILE), "not run", remarks=HOSTILE, runs=(HOSTILE,))
    damage = Damage(HOSTILE, HOSTILE)
    index = render_index([group], [damage], verdicts=[verdict], figures={"cifar10": {"curves": f"{HOSTILE}.svg"}})
    addresses = page_addresses([group])
    for page in (index, render_run(group, group.runs[0], addresses=addresses)):
        assert "<img src=x" not in page
        assert page.count("</script>") == page.count("<script") == 3
        embedded = page.partition('id="plots">')[2].partition("</script>")[0]
        assert HOSTILE in json.dumps(json.loads(embedded))
        assert "<" not in embedded
    assert re.fullmatch(r"runs/[\w.-]+\.html", addresses[group.runs[0].id])


def test_addresses_are_safe_and_distinct(tmp_path: Path) -> None:
    """Names that look alike once cleaned get numbers."""
    for seed, name in enumerate(("a b", "a?b", "a-b", "#", "x" * 200)):
        write_run(tmp_path, seed=seed, name=name)
    addresses = page_addresses(groups_in(tmp_path))
    assert {addresses["a b"], addresses["a?b"], addresses["a-b"]} == {
        "runs/a-b.html",
        "runs/a-b-2.html",
        "runs/a-b-3.html",
    }
    assert addresses["#"] == "runs/run.html"
    assert len(addresses["x" * 200]) < 120


def test_verdicts_stand_under_their_table(tmp_path: Path) -> None:
    """Published, ours, difference, word and runs; the first is open, what was not run at all comes last."""
    run = write_run(tmp_path)
    verdicts = (
        Verdict(Claim("fig-7"), "not run"),
        Verdict(Claim("table-6"), "reproduced", (8.7, 8.8), 8.75, 0.07, 0.0, (run.path.name,)),
        Verdict(Claim("table-6", published=None, published_words="rises"), "reduced setting", (1.25, 42.0), runs=()),
    )
    assert [(name, counts) for name, _, counts in tabulate_verdicts(verdicts)] == [
        ("table-6", {"reproduced": 1, "reduced setting": 1}),
        ("fig-7", {"not run": 1}),
    ]
    page = index_of(tmp_path, verdicts=verdicts)
    words = words_of(page)
    assert "ResNet-20 test error % 8.75 8.75 ± 0.07 0.00 2 reproduced 1" in words
    assert "ResNet-20 test error % rises 1.25 → 42.00 – 2 reduced setting" in words
    assert "Table 6 1 reproduced 1 reduced setting what" in words
    assert "Fig. 7 1 not run what" in words
    assert "for an order of networks, it is the number of runs of the network with the fewest" in words
    assert page.count("<details open>") == 1
    assert page.count("<details") == 2
    assert f'<a href="runs/{run.path.name}.html" title="{run.path.name}">1</a>' in page
    assert "Compared with the paper" not in index_of(tmp_path)


def test_a_verdict_leads_to_each_of_its_runs(tmp_path: Path) -> None:
    """All that one usually makes of a network; of very many the first dozen, and how many more there are."""
    runs = tuple(write_run(tmp_path, seed=seed, responses=False).path.name for seed in range(14))
    for count, more in ((6, ""), (12, ""), (14, " +2")):
        words = words_of(index_of(tmp_path, verdicts=(Verdict(Claim("table-6"), "reproduced", runs=runs[:count]),)))
        assert f"reproduced {' '.join(str(number + 1) for number in range(min(count, 12)))}{more} Runs" in words


def test_verdicts_come_last_while_there_are_none(tmp_path: Path) -> None:
    """What was not run stands behind what was."""
    write_run(tmp_path)
    for word, first in (("not run", False), ("deviates", True)):
        page = index_of(tmp_path, verdicts=(Verdict(Claim("table-6"), word),))
        assert (page.index('id="paper"') < page.index('id="cost"')) == first
        assert page.count('id="paper"') == 1
