"""A trial becomes a run directory: seeded, built, trained, tested, recorded."""

import contextlib
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from reslab.data.dataset import Dataset
from reslab.errors import UserError
from reslab.experiments.gallery import has_pictures, write_gallery
from reslab.experiments.preflight import refuse_unfit_trial
from reslab.experiments.recording import Recorder
from reslab.experiments.resuming import announce_mending, compare_mended, find_loss, warn_of_other_means
from reslab.experiments.seen import Seen, describe_overlap, find_noted, note_seen, read_seen
from reslab.experiments.sizes import telling_of_memory
from reslab.experiments.starting import initialize, load_start, read_start, warn_of_other_preparation
from reslab.experiments.threads import watch_for_collapse
from reslab.experiments.trackers import tracked
from reslab.networks import Network, Weights, measure_cost, save_model
from reslab.networks.finite import NotFinite, tell_not_finite
from reslab.networks.freezing import freeze
from reslab.runs.directory import RunDirectory
from reslab.runs.origins import COUNTS, WEIGHTS, name_weights
from reslab.runs.provenance import describe_surroundings, name_device
from reslab.runtime.capture import alone
from reslab.runtime.listener import DEAF, Listener
from reslab.runtime.memory import forget_peak_memory
from reslab.runtime.processes import ALONE, Processes
from reslab.scores import describe_scores
from reslab.spec.trial import Trial
from reslab.tasks.catalogue import find_shown
from reslab.tasks.opinions import OpinionMeter
from reslab.tasks.task import Scores
from reslab.tasks.trial_task import TrialTask, log_scores, make_task
from reslab.training.checkpoint import newest_step
from reslab.training.loop import Stopped, Surroundings, fit
from reslab.training.stepping import Runtime, assemble, reproducible


def run_trial(
    trial: Trial,
    dataset: Dataset,
    root: Path,
    *,
    weights: str | Path | None = None,
    device: str = "cpu",
    together: int = 1,
    processes: Processes = ALONE,
    compile: bool = False,
    snapshots: frozenset[int] = frozenset(),
    listener: Listener = DEAF,
) -> RunDirectory:
    """Run `trial` under `root`, or go on where it was left; return its directory.

    A finished run whose weights are gone or damaged is made again, from its last checkpoint if that is there.
    `weights` is what it starts from, if it does, needed at its beginning only.
    On CUDA an iteration is captured as one graph, where the network allows it; `compile` puts torch.compile under it.
    After the iterations `snapshots` the weights are kept in the run's `snapshots/`; the trial stays the same.
    `together` is how many trials share the device at most, for the record: timings are of this one among them, and
    the peak of memory is that of all. Of several `processes`, all call this; the first alone reads and writes the run.
    """
    run = RunDirectory.of(trial, root)
    refuse_unfit_trial(trial, dataset, num_processes=processes.count)
    working = run.working() if processes.first else contextlib.nullcontext()
    tracking = tracked(run, trial, processes=processes, listener=listener)
    with working, reproducible(), telling_of_memory(together=together), tracking as trackers:
        if processes.ask_first(trial.id) != trial.id:
            raise UserError(
                f"process {processes.rank} got another trial than process 0; give every process the same command"
            )
        recorded = None
        if processes.ask_first(run.state == "finished"):
            lost = processes.ask_first(find_loss(run, trial) if processes.first else "")
            if not lost:
                return run
            if processes.first:
                recorded = run.result()
                announce_mending(run, trial, lost, listener)
        words = dataset.read_words()
        task = make_task(trial, dataset, device=device, processes=processes, folder=run.path, listener=listener)
        network, started = _begin_network(trial, run, task, weights=weights, listener=listener)
        stepper = assemble(
            network, task, trial.recipe, seed=trial.seed, device=device, compile=compile, processes=processes
        )
        seen = Seen()
        if processes.first:
            shared = {"together": together, "processes": processes.count}
            sitting = _describe_sitting(dataset, device) | asdict(stepper.runtime) | shared
            if started is not None and weights is not None:
                sitting[WEIGHTS] = name_weights(weights, started.provenance)
            warn_of_other_means(run, sitting, trial=trial, dataset=dataset, listener=listener)
            _warn_of_seen_images(started, trial, dataset, listener)
            run.begin(trial, sitting)
            seen = note_seen(run, trial, dataset, started)
        recorder = Recorder(run, batch=trial.recipe.batch, device=device, trackers=trackers)
        if together == 1:
            forget_peak_memory(device)

        def evaluating(step: int, runtime: Runtime) -> None:
            if processes.first:
                recorder.pause(step)
                run.amend_sitting(asdict(runtime))  # which gave up lanes where memory was short
            task.feed.share_skipped()

        def snapshot(step: int, judged: Network) -> None:
            _label(judged, task, dataset, words)
            save_model(judged, run.snapshot(step), provenance={"trial": trial.id, "step": step} | seen.describe())

        if device == "cpu" and together == 1 and processes.first:
            listener = watch_for_collapse(listener)
        try:
            fit(
                stepper,
                Surroundings(
                    checkpoints=run.checkpoints,
                    trial=trial.id,
                    record=recorder.record if processes.first else lambda metrics: None,
                    rewind=recorder.rewind,
                    evaluating=evaluating,
                    listener=listener,
                    snapshot_at=snapshots,
                    snapshot=snapshot,
                ),
            )
            del stepper  # what iterations needed is free for the test
            opinions = OpinionMeter(task.task) if has_pictures(dataset) and task.task.questions == 1 else None
            scores = _test(network, task, run, opinions)
        except Stopped:  # in all processes at once
            task.feed.share_skipped()
            raise
        except NotFinite as error:
            if processes.first:
                run.note_divergence(str(error))
            raise
        skipped = task.feed.share_skipped()
        if processes.first:
            _label(network, task, dataset, words)
            result = recorder.last() | _describe_result(scores, task, dataset, skipped=skipped)
            headline = find_shown(trial).scores[0].name
            provenance = {"trial": trial.id} | seen.describe()
            save_model(network, run.weights, metrics={headline: result[headline]}, provenance=provenance)
            if opinions is not None:
                _, tested = dataset.divide(trial.data.split)
                write_gallery(
                    run, opinions.kept, dataset, tested, class_names=trial.task.name_outputs(dataset.class_names)
                )
            recorder.finish(result)  # after the weights, for it makes the run a finished one
            if recorded is not None:
                compare_mended(run, recorded, listener)
        processes.ask_first(None)  # until the result is written
    return run


def _begin_network(
    trial: Trial, run: RunDirectory, task: TrialTask, *, weights: str | Path | None, listener: Listener
) -> tuple[Network, Weights | None]:
    """Return the network, a part of it frozen, and what it starts from; a run that goes on loads its own later."""
    network, started = initialize(trial), None
    if newest_step(run.checkpoints):
        if weights is not None and find_noted(run) is None:  # an earlier version began it
            with contextlib.suppress(UserError):
                started = read_start(trial, weights)
    else:
        started = load_start(network, trial, weights)
        if started is not None and trial.preprocess is None:
            warn_of_other_preparation(started, task.feed.preprocess, listener)
    if trial.recipe.freeze is not None:
        freeze(network, trial.recipe.freeze)
    return network, started


def _warn_of_seen_images(started: Weights | None, trial: Trial, dataset: Dataset, listener: Listener) -> None:
    """Say where what a run starts from was trained on images that the run is tested on."""
    if started is None:
        return
    _, tested = dataset.divide(trial.data.split)
    if overlap := describe_overlap(read_seen(started.provenance), dataset, tested, weights="what this run starts from"):
        listener.warn(overlap)


def _describe_sitting(dataset: Dataset, device: str) -> dict[str, Any]:
    """Say where and on what this sitting runs."""
    surroundings = describe_surroundings() | {"device": name_device(device) if device.startswith("cuda") else device}
    if device == "cpu":
        surroundings["threads"] = torch.get_num_threads()
    if dataset.root is not None:
        surroundings |= {"data_at": str(dataset.root.resolve()), COUNTS: [len(dataset.train), len(dataset.test)]}
    return surroundings


def _test(network: Network, task: TrialTask, run: RunDirectory, opinions: OpinionMeter | None) -> Scores:
    """Score the trained network once more: exact statistics, where the recipe asks for them, change what it says.

    One that gives no numbers has no result. Tests on the way only log it: it may come back.
    """
    with alone():
        task.take_exact_norms(network)
        scores = task.score(network, opinions=opinions)
    if scores.not_finite:
        raise tell_not_finite(
            network,
            f"for {scores.not_finite:,} of {scores.images:,} test images",
            origin=f"the trained network of {run.path}",
            remedy="no weights and no result were written: remove the run, "
            "and try a smaller recipe.optimizer.learning_rate or a warm-up",
        )
    return scores


def _label(network: Network, task: TrialTask, dataset: Dataset, words: Mapping[str, str]) -> None:
    """Tell the network what its classes are and how images are prepared for it: its weights bring that along."""
    names = task.trial.task.name_outputs(dataset.class_names)
    network.class_names, network.task = names, task.trial.task
    network.class_words = {name: words[name] for name in names if name in words}
    network.preprocess, network.mean_image = task.feed.preprocess, task.feed.mean_image


def _describe_result(scores: Scores, task: TrialTask, dataset: Dataset, *, skipped: int) -> dict[str, Any]:
    """Return what came out, as plain data: the scores, of how many images, and what the network costs."""
    cost = measure_cost(task.trial.network, task=task.trial.task, input_shape=task.image_shape)
    return {
        **log_scores(scores),
        **scores.recorded(),
        "scores": describe_scores(find_shown(task.trial).scores),
        "class_names": task.trial.task.name_outputs(dataset.class_names),
        COUNTS: [len(dataset.train), len(dataset.test)],
        "skipped_images": task.feed.num_skipped_tests,
        "skipped_training_images": skipped,
        "params": cost.params,
        "multiply_adds": cost.multiply_adds,
        "activation_bytes": cost.activation_bytes,
    }
