"""`reslab analyze [INSTRUMENT] RUN[@STEP]|WEIGHTS-FILE|NAME... [weights=FILE] [data=NAME|FOLDER] [field=value ...]`."""

from dataclasses import fields as fields_of
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from reslab.analysis.catalogue import (
    LogInstrument,
    describe_instruments,
    find_instrument,
    find_printed,
    find_settings,
    list_instruments,
)
from reslab.analysis.settings import Settings
from reslab.cli.completion import complete_instruments
from reslab.cli.terminal.show import SPEAKING, console, print_heading, print_json, print_table, progress_console
from reslab.cli.words.subjects import Json, RunsFolder, runs_root
from reslab.cli.words.trained import instrument_bars
from reslab.errors import UserError, suggest
from reslab.files import exists, refuse_closed_place
from reslab.runs.directory import find_run, split_step
from reslab.spec import is_network, name_of
from reslab.spec.codec import decode
from reslab.spec.words import refuse_unknown, split_words

USUAL = "responses"
OF_SUBJECTS = ("weights", "data", "data.split", "data.on_bad_image")
LISTED = "\n".join(f"* {name}: {told}" for name, told in describe_instruments().items())
WORDS = (
    "An instrument, then one or more of: a run (its id, the start of its id, or its folder), a run at the step of a "
    "snapshot (RUN@STEP), a weight file, or a network's name with weights=FILE|cifar10|imagenet. Then fields: "
    "data=NAME|FOLDER, data.split=full|tuning, data.on_bad_image=stop|skip, preprocess.FIELD=value, and those of the "
    "instrument, such as images=N (use the first N images; of a folder, N spread evenly over it), on=test|train, "
    "seed=N. "
    f"Without an instrument, it is {USUAL}. The instruments:\n\n{LISTED}"
)


def analyze(
    *words: Annotated[str, Parameter(help=WORDS, completer=complete_instruments)],
    out: Path | None = None,
    runs: RunsFolder = None,
    json: Json = False,
) -> None:
    """Measure what goes on inside trained networks.

        reslab analyze responses resnet-20 weights=cifar10

    The result is stored in the run. Results for several settings are stored side by side. A measurement that was
    interrupted resumes.

    Parameters
    ----------
    out
        Store the results in this folder. Use this for weight files: without it, only results for runs are stored.
    """
    subjects, fields = split_words(words)
    instrument = subjects.pop(0) if subjects and subjects[0] in list_instruments() else USUAL
    if not subjects:
        raise UserError("analyze needs a run or a weight file; `reslab runs` lists the runs")
    settings, fields = _read_settings(instrument, fields)
    _refuse_misspelt(subjects[0])
    if out is not None:
        refuse_closed_place(out, folder=True)
    found = [_analyze_one(subject, fields, instrument, settings, out=out, root=runs_root(runs)) for subject in subjects]
    if json:
        print_json(found)
        return
    printed = find_printed(instrument)
    for one in found:
        print_heading(one["subject"], one["network"])
        console.print(printed.sentence(one[instrument]))
        table = printed.table(one[instrument])
        print_table(table.title, table.headings, table.rows)


def _read_settings(instrument: str, fields: dict[str, str]) -> tuple[Settings, dict[str, str]]:
    """Split fields into the settings of an instrument and what is said of its subjects."""
    kind = find_settings(instrument)
    known = [field.name for field in fields_of(kind)]
    refuse_unknown(f"analyze {instrument}", fields, (*known, *OF_SUBJECTS))
    settings = decode(kind, {name: value for name, value in fields.items() if name in known})
    return settings, {name: value for name, value in fields.items() if name not in known}


def _refuse_misspelt(subject: str) -> None:
    """Refuse what looks like an instrument and is nothing else, before a run is looked for by that name."""
    meant = suggest(subject, list_instruments())
    if meant and not exists(Path(subject)) and not is_network(subject):
        raise UserError(f"there is no instrument '{subject}'{meant}")


def _analyze_one(
    subject: str, fields: dict[str, str], instrument: str, settings: Settings, *, out: Path | None, root: Path
) -> dict[str, Any]:
    with progress_console.status("loading"):
        from reslab.experiments.analyze import analyze as use_instrument
        from reslab.experiments.analyze import analyze_log
        from reslab.experiments.subjects import load_inputs, load_trained

        if isinstance(find_instrument(instrument), LogInstrument):
            if (step := split_step(subject)[1]) is not None:
                raise UserError(f"{instrument} reads the whole log of a run, which has no steps; leave out @{step}")
            run = find_run(subject, root)
            refuse_unknown(f"analyze {instrument}", fields, ())
            found = analyze_log(run, instrument, settings, out=out)
            return {"subject": run.path.name, "network": name_of(run.trial().network), instrument: found}

        trained = load_trained(subject, fields, root)
        (inputs,) = load_inputs([trained], fields, listener=SPEAKING)
    with instrument_bars(instrument) as listener:
        found = use_instrument(inputs, instrument, settings, run=trained.run, out=out, listener=listener)
    return {"subject": trained.origin, "network": name_of(trained.network.spec), instrument: found}
