"""The site as a folder, and as a reader opens it in a real browser."""

from __future__ import annotations

import math
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.analysis.gradients.found import write_gradients
from tests.analysis.landscape.test_panel import ALONG, ARRAYS, FOUND, SETTINGS
from tests.renames import fail_rename
from tests.runs_by_hand import CLASSES, EXAMPLE, SITTING, write_run

from reslab.analysis.catalogue import list_panels
from reslab.errors import UserError
from reslab.experiments.train import train
from reslab.paper.claims import CLAIMS
from reslab.report import site
from reslab.report.records import read_records
from reslab.report.site import MARKER, write_site
from reslab.report.verdicts import judge
from reslab.runs.directory import list_runs

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

NETWORKS = {"plain-20": 9.7, "plain-32": 10.1, "plain-56": 13.3, "resnet-20": 8.7, "resnet-32": 7.5, "resnet-56": 7.0}
EMPTY = "[...document.querySelectorAll('.canvas')].filter((canvas) => !canvas.querySelector('.main-svg')).length"
HOSTILE = "</script><img src=x onerror=document.title='broken'>"
TABLE_6 = CLAIMS["table-6"]
PHONE = {"width": 390, "height": 844}
QUIET = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def write(root: Path, out: Path) -> Path:
    records, damages = read_records(root)
    return write_site(records, damages, out, verdicts=judge(TABLE_6, records))[0]


def test_the_site_is_whole_and_self_contained(tmp_path: Path) -> None:
    """Pages, figures and the drawing library; the marker names every file; nothing else is left behind."""
    run = write_run(tmp_path / "runs")
    index = write(tmp_path / "runs", tmp_path / "runs" / "report")
    files = {path.relative_to(index.parent).as_posix() for path in index.parent.rglob("*") if path.is_file()}
    assert files == {
        MARKER,
        "index.html",
        "measurements.html",
        f"runs/{run.path.name}.html",
        "figures/curves-1-cifar10.svg",
        "figures/responses-1-cifar10.svg",
        "assets/report.css",
        "assets/tables.js",
        "assets/charts.js",
        "assets/plotly.min.js",
    }
    assert "http" not in index.read_text().replace("http://www.w3.org/2000/svg", "")
    assert sorted(path.name for path in (tmp_path / "runs").iterdir()) == sorted([run.path.name, "report"])


def test_a_report_is_replaced_whole(tmp_path: Path) -> None:
    """Pages of runs that are gone go with the old one."""
    first, second = (write_run(tmp_path / "runs", seed=seed) for seed in (0, 1))
    out = tmp_path / "out"
    write(tmp_path / "runs", out)
    shutil.rmtree(first.path)
    write(tmp_path / "runs", out)
    assert [path.stem for path in (out / "runs").iterdir()] == [second.path.name]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "runs"]


def test_the_same_runs_give_the_same_site(tmp_path: Path) -> None:
    """Byte by byte."""
    write_run(tmp_path / "runs")
    one, other = (
        {path.relative_to(site): path.read_bytes() for path in site.rglob("*.*")}
        for site in (write(tmp_path / "runs", tmp_path / name).parent for name in ("one", "other"))
    )
    assert one.keys() == other.keys()
    assert [path for path in one if one[path] != other[path]] == []


def test_what_is_no_report_is_never_replaced(tmp_path: Path) -> None:
    """Someone's folder, someone's file, and a report that someone put a file into."""
    write_run(tmp_path / "runs")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("years of work")
    with pytest.raises(UserError, match="is not a report and is not empty"):
        write(tmp_path / "runs", tmp_path / "mine")
    with pytest.raises(UserError, match="is not a report and is not empty"):
        write(tmp_path / "runs", tmp_path / "runs")
    with pytest.raises(UserError, match="is a file"):
        write(tmp_path / "runs", tmp_path / "mine" / "thesis.tex")
    out = write(tmp_path / "runs", tmp_path / "out").parent
    (out / "notes.txt").write_text("mine")
    with pytest.raises(UserError, match=r"contains notes\.txt, which is not part of a report"):
        write(tmp_path / "runs", out)
    assert (tmp_path / "mine" / "thesis.tex").read_text() == "years of work"
    assert (out / "notes.txt").exists()


def test_an_empty_folder_may_be_filled(tmp_path: Path) -> None:
    """As `mkdir` leaves it; a link is followed, not replaced."""
    write_run(tmp_path / "runs")
    (tmp_path / "empty").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "empty")
    write(tmp_path / "runs", tmp_path / "link")
    assert (tmp_path / "empty" / "index.html").exists()
    assert (tmp_path / "link").is_symlink()


def test_a_failure_leaves_the_old_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk half-way: the old site stays whole and nothing half-written is left."""
    write_run(tmp_path / "runs")
    out = write(tmp_path / "runs", tmp_path / "out").parent
    before = (out / "index.html").read_bytes()

    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(site.shutil, "copyfile", fail)
    with pytest.raises(UserError, match="No space left on device"):
        write(tmp_path / "runs", out)
    assert (out / "index.html").read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "runs"]


def test_if_the_new_one_cannot_take_its_place_the_old_one_returns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second of the two renames fails."""
    write_run(tmp_path / "runs")
    out = write(tmp_path / "runs", tmp_path / "out").parent
    fail_rename(monkeypatch, 2, OSError(5, "Input/output error"))
    with pytest.raises(UserError, match="Input/output error"):
        write(tmp_path / "runs", out)
    assert (out / "index.html").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "runs"]


def test_what_is_not_installed_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the way to get it."""
    write_run(tmp_path / "runs")
    monkeypatch.setattr(site, "NEEDED", ("jinja2", "plotly_of_tomorrow"))
    with pytest.raises(UserError, match="pip install plotly_of_tomorrow"):
        write(tmp_path / "runs", tmp_path / "out")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Debian's Chromium, where there is one."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("there is no chromium on the PATH (on Debian: apt-get install chromium)")
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=chromium, args=QUIET)
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The first page of a report of plain and residual networks, one class with a hostile name."""
    root = tmp_path_factory.mktemp("site") / "runs"
    classes = [HOSTILE, *CLASSES[1:]]
    for network, error_percent in NETWORKS.items():
        for seed in (0, 1):
            write_run(root, network, seed=seed, error_percent=error_percent, classes=classes)
    write_run(root, "resnet-110", finished=False, classes=classes, responses=False)
    for rate in range(1, 8):
        write_run(root, "resnet-20", classes=classes, responses=False, **{"optimizer.learning_rate": f"0.{rate}5"})
    for run in list_runs(root):
        run.begin(run.trial(), {**SITTING, "device": "NVIDIA GeForce RTX 4090 Laptop GPU", "together": 8})
    return write(root, root / "report")


@pytest.fixture
def visit(browser: Browser) -> Iterator[Callable[..., Page]]:
    """Open a page; at the end there were no errors, and no request but for files."""
    contexts, troubles = [], []

    def open_page(path: Path, *, script: str = "", **options: Any) -> Page:
        context = browser.new_context(**({"viewport": {"width": 1280, "height": 900}} | options))
        contexts.append(context)
        page = context.new_page()
        page.add_init_script(script)
        page.on("console", lambda message: troubles.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("request", lambda request: request.url.startswith("file://") or troubles.append(request.url))
        page.goto(path.as_uri())
        return page

    yield open_page
    for context in contexts:
        context.close()
    # Data within the page (its icon) is no request of anyone.
    assert [trouble for trouble in troubles if not trouble.startswith("data:")] == []


def draw(page: Page, section: str = "main") -> None:
    """Bring the charts of a section into view, and wait until each is drawn."""
    for canvas in page.locator(f"{section} .canvas").all():
        canvas.scroll_into_view_if_needed()
        canvas.locator(".main-svg").first.wait_for()


def test_the_index_draws_its_charts(visit, index: Path) -> None:
    """Curves, depth, responses and classes, from file:// alone."""
    page = visit(index)
    draw(page)
    assert page.locator("#curves .scatterlayer .trace").count() >= 2 * len(NETWORKS)
    assert page.locator("#responses .scatterlayer .trace").count() >= 2 * len(NETWORKS)
    assert page.locator("#classes .heatmaplayer image").count() == 1
    assert "networks" in page.title()


def test_charts_are_drawn_before_anyone_scrolls(visit, index: Path) -> None:
    """Whoever photographs or prints the page whole has no empty frames."""
    page = visit(index)
    page.wait_for_function(f"{EMPTY} === 0")
    assert page.evaluate("scrollY") == 0


def test_what_is_not_drawn_yet_is_before_printing(visit, index: Path) -> None:
    """At once, as the printer does not wait."""
    page = visit(index, script="window.requestIdleCallback = (act) => document.getElementById('cost') || act();")
    draw(page, "[data-plot=curves-0-plain]")
    assert page.evaluate(EMPTY) > 0
    assert page.evaluate(f"dispatchEvent(new Event('beforeprint')) && {EMPTY}") == 0


def test_a_runs_page_draws_its_charts(visit, index: Path) -> None:
    """Error and loss, confusion, responses; a hostile class name is only a name."""
    page = visit(index)
    page.locator("#all-runs tbody a").first.click()
    page.wait_for_load_state()
    draw(page)
    assert page.locator(".main-svg").count() >= 5
    assert page.locator("table", has_text=HOSTILE).count() == 1
    assert page.locator(".xtick", has_text="onerror").count() > 0
    assert page.locator("img").count() == 0
    assert page.title() != "broken"


def test_landscapes_are_drawn(visit, tmp_path: Path) -> None:
    """Contours with the path on them, the surface, and a line; heights that span magnitudes are logarithms."""
    run = write_run(tmp_path / "runs", responses=False)
    line = {name: values if values.ndim == 1 else values[:, 0] for name, values in ARRAYS.items() if name != "axis_2"}
    kinds = {"landscape": (ALONG, ARRAYS), "landscape-0a1b2c3d": ({"settings": SETTINGS | {"dimensions": 1}}, line)}
    for name, (changes, arrays) in kinds.items():
        run.keep(name, FOUND | changes)
        np.savez(run.path / "analysis" / f"{name}.npz", allow_pickle=False, **arrays)
    page = visit(write(tmp_path / "runs", tmp_path / "site").parent / "runs" / f"{run.path.name}.html")
    draw(page)

    def types(key: str) -> list[str]:
        return page.evaluate(f"document.querySelector('[data-plot={key}] .canvas').data.map((one) => one.type)")

    assert types("landscape-contours") == ["contour", "scatter", "scatter"]
    assert types("landscape-surface") == ["surface", "scatter3d", "scatter3d"]
    heights = page.evaluate("document.querySelector('[data-plot=landscape-contours] .canvas').data[0].z")
    assert heights[1] == pytest.approx([math.log10(2), math.log10(400), math.log10(6)], rel=1e-6)
    assert page.locator("[data-plot=landscape-0a1b2c3d-loss] .scatterlayer .trace").count() == 1


def test_steps_are_lines_with_a_band(visit, tmp_path: Path) -> None:
    """The median, and the first and the last layer beside it."""
    run = write_run(tmp_path / "runs")
    run.keep("responses@1", run.read("analysis/responses"))
    page = visit(write(tmp_path / "runs", tmp_path / "site").parent / "runs" / f"{run.path.name}.html")
    draw(page)
    canvas = "document.querySelector('[data-plot=responses-along-original] .canvas').data"
    assert page.evaluate(f"{canvas}.map((one) => one.mode)") == ["lines", "lines+markers", "lines", "lines"]
    assert page.evaluate(f"{canvas}.map((one) => one.showlegend !== false)") == [False, True, True, True]


def test_measurements_have_a_page(visit, tmp_path: Path) -> None:
    """A question each: lines of all networks, landscapes side by side, and how to measure what was not."""
    for network in ("plain-20", "resnet-20"):
        run = write_run(tmp_path / "runs", network)
        run.keep("gradients", write_gradients())
        run.keep("landscape", FOUND)
        np.savez(run.path / "analysis" / "landscape.npz", allow_pickle=False, **ARRAYS)
    page = visit(write(tmp_path / "runs", tmp_path / "site"))
    page.get_by_role("link", name="What the measurements say").click()
    page.wait_for_load_state()
    draw(page)
    assert page.locator("h1").text_content() == "What the measurements say"
    measured = ("gradients", "landscape", "responses")
    questions = [list_panels()[name].question for name in (*measured, *(list_panels().keys() - {*measured}))]
    headings = page.locator("section h2").all_text_contents()
    assert headings[:3] == questions[:3]
    assert sorted(headings) == sorted(questions)
    dashes = "document.querySelector('#gradients .canvas').data.map((one) => one.line.dash)"
    assert page.evaluate(dashes) == [None, "5px,3px", None, "solid"]
    assert page.locator("#landscape .canvas .main-svg").count() >= 2
    assert page.locator("#landscape h3").all_text_contents() == ["plain-20, seed 0", "resnet-20, seed 0"]
    assert "reslab analyze lesions RUN" in (page.locator("#lesions").text_content() or "")
    assert page.locator("#lesions .canvas").count() == 0
    page.locator("#landscape a").first.click()
    page.wait_for_load_state()
    assert page.title().startswith("plain-20")


def test_one_evaluation_is_a_point(visit, tmp_path: Path) -> None:
    """A line through one point is not seen; that of training is hollow."""
    fields = {"recipe.iterations": 2, "recipe.evaluate_every": 2, "recipe.batch": 8}
    train("digits", "cifar-resnet-8", fields=fields, runs=tmp_path / "runs", progress=False)
    page = visit(write(tmp_path / "runs", tmp_path / "site"))
    draw(page)
    traces = page.evaluate("document.querySelector('.js-plotly-plot').data.map((one) => [one.mode, one.marker.symbol])")
    assert traces == [["markers", "circle-open"], ["markers", "circle"]]


def test_headings_sort(visit, index: Path) -> None:
    """Numbers by value, both ways; blanks last either way."""
    page = visit(index)
    page.get_by_role("button", name="Show all").click()
    heading = page.locator("#all-runs th", has_text="test")

    def column(number: int) -> list[str]:
        return [cell.strip() for cell in page.locator(f"#all-runs tbody tr td:nth-child({number})").all_text_contents()]

    heading.get_by_role("button").click()
    assert heading.get_attribute("aria-sort") == "ascending"
    ascending = [float(text) for text in column(4)]
    assert ascending == sorted(ascending)
    assert len(set(ascending)) > 5
    heading.get_by_role("button").click()
    assert [float(text) for text in column(4)] == sorted(ascending, reverse=True)
    for _ in range(2):
        page.locator("#all-runs th", has_text="parameters").get_by_role("button").click()
        assert column(7)[-1] == "–"


def test_long_tables_are_shown_bit_by_bit_and_searched(visit, index: Path) -> None:
    """Twelve rows at first; a word finds among all."""
    page = visit(index)
    rows = page.locator("#all-runs tbody tr:visible")
    assert rows.count() == 12
    page.get_by_role("searchbox").fill("resnet-110 interrupted")
    assert rows.count() == 1
    page.get_by_role("searchbox").fill("")
    page.get_by_role("button", name="Show all").click()
    assert rows.count() == 2 * len(NETWORKS) + 8


def test_the_legend_hides_and_shows(visit, index: Path) -> None:
    """A click takes a network out of the chart and back, a double click leaves it alone; colours never clash."""
    page = visit(index)
    draw(page, "#curves")
    plot = page.locator("[data-plot=curves-0-plain]")
    lines = plot.locator(".scatterlayer .js-line")
    before = lines.count()
    button = plot.get_by_role("button", name="plain-56")
    button.click()
    assert button.get_attribute("aria-pressed") == "false"
    assert lines.count() < before
    button.click()
    assert lines.count() == before
    button.dblclick()
    assert plot.locator("button[aria-pressed=true]").all_text_contents() == ["plain-56 × 2"]
    residual = page.locator("[data-plot=curves-0-residual]")
    assert residual.locator("button[aria-pressed=true]").count() == 3
    assert residual.locator("button[aria-pressed=false]").count() == 8
    residual.get_by_role("button", name="all", exact=True).click()
    assert residual.locator("button[aria-pressed=false]").count() == 0


def test_legends_leave_no_chart_behind(visit, index: Path) -> None:
    """However many names one chart has: side by side, charts stand below all names; on a phone below their own."""
    for viewport, aside in (({"width": 1280, "height": 900}, True), (PHONE, False)):
        page = visit(index, viewport=viewport)
        legends, charts = (page.locator(f"#curves {what}").all() for what in (".legend", ".canvas"))
        ends = [box["y"] + box["height"] for legend in legends if (box := legend.bounding_box())]
        tops = [box["y"] for chart in charts if (box := chart.bounding_box())]
        assert len(ends) == len(tops) == 3
        assert (len(set(tops)) == 1) == aside
        assert all(0 <= top - end < 60 for end, top in zip(sorted(ends)[2:] if aside else ends, tops, strict=False))


def test_the_scale_follows_what_is_shown(visit, index: Path) -> None:
    """Hiding the worst network gives the others room, in both panels alike."""
    page = visit(index)
    draw(page, "#curves")
    tops = "[...document.querySelectorAll('[data-plot^=curves-0] .canvas')].map((c) => c.layout.yaxis.range[1])"
    before = page.evaluate(tops)
    assert before[0] == before[1]
    page.locator("[data-plot=curves-0-plain]").get_by_role("button", name="plain-56").click()
    after = page.evaluate(tops)
    assert after[0] == after[1] < before[0]


def test_depths_stand_side_by_side(visit, index: Path) -> None:
    """In order and evenly, however far one is beyond the others."""
    page = visit(index)
    draw(page, "[data-plot=depth-0]")
    ticks = page.locator("[data-plot=depth-0] .xtick text")
    assert ticks.all_text_contents() == ["20", "32", "56"]
    first, second, third = (box["x"] + box["width"] / 2 for tick in ticks.all() if (box := tick.bounding_box()))
    assert third - second == pytest.approx(second - first, abs=2)


def test_light_and_dark_follow_the_reader(visit, index: Path) -> None:
    """Page and charts, also when the reader changes while it is open."""
    page = visit(index, color_scheme="light")
    draw(page, "#curves")
    paper = "getComputedStyle(document.body).backgroundColor"
    line = "document.querySelector('#curves .canvas').data.at(-1).line.color"
    light = page.evaluate(paper), page.evaluate(line)
    page.emulate_media(color_scheme="dark")
    page.wait_for_function(f"{line} !== {light[1]!r}")
    dark = page.evaluate(paper), page.evaluate(line)
    assert light[0] == "rgb(255, 255, 255)"
    assert dark[0] == "rgb(20, 23, 28)"


def test_a_phone_shows_the_verdict_beside_its_claim(visit, index: Path) -> None:
    """Without scrolling sideways, and ours beside the published."""
    page = visit(index, viewport=PHONE, has_touch=True, is_mobile=True)
    for cell, seen in ((".word", len(TABLE_6)), ("[data-label=published]", len(TABLE_6)), ("[data-label=ours]", 3)):
        boxes = [found.bounding_box() for found in page.locator(f"details[open] tbody {cell}:visible").all()]
        assert len(boxes) == seen
        assert all(box and box["x"] >= 0 and box["x"] + box["width"] <= PHONE["width"] for box in boxes)


def test_a_phone_shows_the_test_error_of_each_row(visit, index: Path) -> None:
    """Over seeds and one by one, without scrolling sideways; what else there is to the right is in its own box."""
    page = visit(index, viewport=PHONE, has_touch=True, is_mobile=True)
    boxes = [found.bounding_box() for found in page.locator("#runs td.strong:visible").all()]
    assert len(boxes) == len(NETWORKS) + 12
    assert all(box and box["x"] >= 0 and box["x"] + box["width"] <= PHONE["width"] for box in boxes)


def test_a_desk_shows_all_columns(visit, index: Path) -> None:
    """Of every table, at 1280 pixels."""
    page = visit(index)
    cut = "[...document.querySelectorAll('.scroll')].filter((box) => box.scrollWidth > box.clientWidth).length"
    assert page.evaluate(cut) == 0


@pytest.mark.parametrize("which", ["index", "run"])
def test_a_phone_scrolls_only_downward(visit, index: Path, which: str) -> None:
    """Wide tables scroll in their own boxes; charts fit."""
    path = index if which == "index" else next((index.parent / "runs").glob("resnet-56*"))
    page = visit(path, viewport=PHONE, has_touch=True, is_mobile=True)
    draw(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    assert page.evaluate("[...document.querySelectorAll('.main-svg')].every((s) => s.clientWidth <= innerWidth)")


@pytest.fixture(scope="module")
def photographs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The first page of a report of one network on two folders of photographs, with a gallery."""
    root = tmp_path_factory.mktemp("photographs") / "runs"
    for data in ("ants-and-bees-of-the-garden", "leaves"):
        run = write_run(root, "resnet-18", data=data, recipe_name="photos", iterations="64", responses=False)
        examples = [EXAMPLE] * 6
        run.write("gallery", {"classes": [{"name": "bees", "mistakes": examples, "hits": examples[:3]}]})
    return write(root, root / "report")


def test_a_lone_chart_has_the_width_and_one_heading(visit, photographs: Path) -> None:
    """Nothing stands beside it."""
    page = visit(photographs)
    draw(page, "#curves")
    widths = page.evaluate("[...document.querySelectorAll('#curves .canvas')].map((one) => one.clientWidth)")
    assert len(widths) == 2
    assert min(widths) > 1000
    page = visit(photographs)
    assert page.get_by_text("Residual networks").count() == 2  # data


def test_a_phone_names_the_data_below_the_network(visit, photographs: Path) -> None:
    """So that the test error of each row is seen without scrolling; at a desk it has a column."""
    page = visit(photographs, viewport=PHONE, has_touch=True, is_mobile=True)
    boxes = [found.bounding_box() for found in page.locator("#runs td.strong:visible").all()]
    assert len(boxes) == 2
    assert all(box and box["x"] >= 0 and box["x"] + box["width"] <= PHONE["width"] for box in boxes)
    assert page.locator("#runs .below:visible").all_text_contents() == ["ants-and-bees-of-the-garden", "leaves"]
    assert visit(photographs).locator("#runs .below:visible").count() == 0


def test_a_phone_breaks_no_word_of_a_field(visit, photographs: Path) -> None:
    """Every part of a name between dots and dashes below stands on one line."""
    page = visit(next((photographs.parent / "runs").iterdir()), viewport=PHONE, has_touch=True, is_mobile=True)
    page.evaluate("document.querySelectorAll('details').forEach((one) => (one.open = true))")
    broken = """[...document.querySelectorAll(".fields th")].flatMap((cell) => [...cell.childNodes]).filter((node) => {
        if (node.nodeType !== Node.TEXT_NODE) return false;
        const range = document.createRange();
        range.selectNodeContents(node);
        return range.getClientRects().length > 1;
    }).map((node) => node.textContent)"""
    assert page.locator(".fields th").count() > 60
    assert page.evaluate(broken) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


@pytest.mark.parametrize(("width", "rows"), [(1280, 1), (PHONE["width"], 2)])
def test_a_gallery_fits_the_page(visit, photographs: Path, width: int, rows: int) -> None:
    """Six mistakes beside three hits at a desk, three below three on a phone; all pictures are drawn."""
    page = visit(next((photographs.parent / "runs").iterdir()), viewport={"width": width, "height": 900})
    images = page.locator("#gallery ul").first.locator("img")
    tops = {round(box["y"]) for box in (image.bounding_box() for image in images.all()) if box}
    assert (images.count(), len(tops)) == (6, rows)
    page.wait_for_function("[...document.querySelectorAll('#gallery img')].every((one) => one.naturalWidth > 0)")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_names_that_are_no_text_do_not_stop_it(tmp_path: Path) -> None:
    """Folders of classes may be called by bytes that are no UTF-8, and by what a terminal would obey."""
    run = write_run(tmp_path / "runs", classes=[os.fsdecode(b"caf\xe9"), "\x1b[31m\x9b\u202e", *CLASSES[2:]])
    index = write(tmp_path / "runs", tmp_path / "report")
    page = next((index.parent / "runs").glob(f"{run.path.name}*")).read_text(encoding="utf-8")
    assert r"caf\udce9" in page
    assert r"\u001b[31m\u009b\u202e" in page
