"""`reslab probe RUN|WEIGHTS-FILE|NAME data=NAME|FOLDER [weights=FILE] [--layer NAME] [--json]`."""

import time
from dataclasses import asdict

from reslab.cli.terminal.show import (
    SPEAKING,
    console,
    make_table,
    print_heading,
    print_json,
    progress_console,
    say,
    warn,
)
from reslab.cli.words.subjects import Json, RunsFolder, SubjectWord, runs_root
from reslab.cli.words.trained import image_bar, note_bad
from reslab.errors import UserError
from reslab.numbers import count
from reslab.runs.provenance import describe_surroundings, name_device
from reslab.spec import name_of
from reslab.spec.trial import read_seed
from reslab.spec.words import preprocess_fields, refuse_unknown, split_words


def probe(
    subject: SubjectWord, *words: str, layer: str | None = None, json: Json = False, runs: RunsFolder = None
) -> None:
    """Measure how useful frozen features are: linear probe and nearest neighbours.

        reslab probe resnet-20 weights=cifar10 data=digits

    Parameters
    ----------
    words
        data=NAME|FOLDER, a dataset or a folder with one subfolder per class. Then fields:
        weights=FILE|cifar10|imagenet, preprocess.FIELD=value, seed=N (chooses the fifth of the
        training images used to select the penalty), and data.on_bad_image=skip to skip images that cannot be read.
    layer
        One layer or stage by name. Default: the stem, every stage, and the classifier's input.
    """
    names, fields = split_words(words)
    refuse_unknown("probe", fields, ("weights", "data", "seed", "data.on_bad_image"))
    if names or "data" not in fields:
        raise UserError(f"probe takes one network and its data; write data={names[0] if names else 'NAME|FOLDER'}")
    began = time.perf_counter()
    with progress_console.status("loading") as status, note_bad(fields) as on_bad:
        from reslab.data.catalogue import open_data
        from reslab.delivery.pictures import label_pictures
        from reslab.experiments.probe import open_extractor, probe_layers
        from reslab.experiments.seen import describe_overlap
        from reslab.experiments.subjects import load_trained
        from reslab.runtime.execution import choose_device

        seed, device = read_seed(fields.get("seed", 0)), choose_device()
        trained = load_trained(subject, fields, runs_root(runs))
        extractor = open_extractor(trained, preprocess_fields(fields), device=device)
        dataset = open_data(fields["data"], known=trained.data, listener=SPEAKING)
        if overlap := describe_overlap(trained.seen, dataset, dataset.test, weights=trained.origin):
            warn(overlap)
        data = label_pictures(dataset, on_bad=on_bad)
        status.stop()
        with image_bar("probing", len(data.train) + len(data.test)) as listener:
            found = probe_layers(extractor, data, layer=layer, seed=seed, listener=listener)
    if json:
        about = describe_surroundings() | {"device": name_device(device), "seconds": time.perf_counter() - began}
        images = {"train": len(data.train), "test": len(data.test)}
        layers = {name: asdict(one) for name, one in found.items()}
        print_json({"subject": trained.origin, "data": data.name, "images": images, "layers": layers, **about})
        return
    print_heading(trained.origin, f"{name_of(trained.network.spec)}, {extractor.intake.preprocess.describe()}")
    first = next(iter(found.values()))
    say(
        f"{count(len(data.train))} training and {count(len(data.test))} test images of {data.name}, "
        f"{len(data.class_names)} classes; chance (always the most common class): {first.chance:.1f} %\n"
    )
    neighbours = [f"{number} neighbour{'s' * (number > 1)}" for number in first.neighbours]
    table = make_table("Accuracy % of frozen features", "layer", "linear", *neighbours, "L2")
    for name, one in found.items():
        votes = [f"{accuracy:.1f}" for accuracy in one.neighbours.values()]
        table.add_row(name, f"{one.linear:.1f}", *votes, f"{one.penalty:g}")
    console.print(table)
