"""Iterations: in stretches or one by one, captured or not, they compute the same; a bad loss changes nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from reslab.networks import Network, build, create_model
from reslab.runtime.capture import capture
from reslab.runtime.execution import FAST, Execution
from reslab.runtime.processes import ALONE, Processes
from reslab.spec import find
from reslab.spec.optimization import OptimizerSpec
from reslab.spec.recipe import Precision, Recipe, find_recipe
from reslab.training import stepping
from reslab.training.state import TrainingState
from reslab.training.stepping import Runtime, Stepper, assemble, choose_runtime, reproducible

RECIPE = find_recipe("digits", {"iterations": 12, "batch": 8, "average_decay": 0.9, "optimizer.learning_rate": 0.1})
gpu = pytest.mark.gpu
needs_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")


@dataclass
class Noise:
    """A task of random images, a function of the step; iteration `bad` has one that is not a number."""

    device: str = "cpu"
    bad: int | None = None
    tallied: tuple[str, ...] = ("wrong",)
    execution: Execution = FAST
    image_shape: tuple[int, ...] = (1, 8, 8)

    def load(self, step: int, count: int) -> tuple[Tensor, Tensor]:
        images, labels = [], []
        for number in range(step, step + count):
            generator = torch.Generator().manual_seed(number)
            images.append(torch.randn(8, 1, 8, 8, generator=generator))
            labels.append(torch.randint(10, (8,), generator=generator))
            if number == self.bad:
                images[-1][3] = torch.nan
        return torch.stack(images).to(self.device), torch.stack(labels).to(self.device)

    def loss(self, network: Network, batch: tuple[Tensor, ...]) -> tuple[Tensor, Tensor]:
        images, labels = batch
        logits = network.weighted_logits(images)[0][1]
        return F.cross_entropy(logits, labels), (logits.argmax(1) != labels).sum(0, keepdim=True)

    def describe_tally(self, sums: Mapping[str, float], images: int) -> dict[str, float]:
        return {}

    def warmup_percent(self, sums: Mapping[str, float], images: int) -> float:
        return 100.0

    def make_evaluation(self, network: Network, *, capture: bool) -> Callable[[], dict[str, float]]:
        return dict

    def name_images(self, step: int) -> str:
        return str(step)


@dataclass
class Sized(Noise):
    """The same in some precision, with a loss of another size."""

    precision: Precision = "fp32"
    size: float = 1.0

    def loss(self, network: Network, batch: tuple[Tensor, ...]) -> tuple[Tensor, Tensor]:
        images, labels = batch
        with Execution(precision=self.precision).autocast(self.device):
            logits = network.weighted_logits(images)[0][1].float()
        return self.size * F.cross_entropy(logits, labels), (logits.argmax(1) != labels).sum(0, keepdim=True)


class Growing(Noise):
    """Images of 8 pixels a side up to iteration 4, then of 12."""

    def load(self, step: int, count: int) -> tuple[Tensor, Tensor]:
        images, labels = super().load(step, min(count, 5 - step) if step < 5 else count)
        return (images if step < 5 else F.pad(images, [2, 2, 2, 2])), labels


@dataclass
class Alternating(Noise):
    """Images of 8, 10, 12 ... pixels a side in turns."""

    sizes: int = 2

    def load(self, step: int, count: int) -> tuple[Tensor, Tensor]:
        images, labels = super().load(step, 1)
        return F.pad(images, [step % self.sizes] * 4), labels


@dataclass(frozen=True)
class Twins(Processes):
    """Two processes that see the same images, told by one: whatever they sum is twice its own."""

    count: int = 2

    def sum(self, *tensors: Tensor) -> None:
        for tensor in tensors:
            tensor *= 2


def make_stepper(
    task: Noise,
    *,
    runtime: Runtime | None = None,
    recipe: Recipe = RECIPE,
    processes: Processes = ALONE,
    **overrides: object,
) -> Stepper:
    torch.manual_seed(1)
    network = create_model("cifar-resnet-8", in_chans=1, input_size=8, **overrides).to(task.device).train()
    state = TrainingState(network, recipe, tallied=task.tallied, processes=processes)
    return Stepper(
        state,
        task,
        recipe,
        seed=1,
        runtime=runtime or choose_runtime(network, recipe, task.device, image_shape=network.spec.input_shape),
    )


def advance(stepper: Stepper, steps: int) -> dict[str, Tensor]:
    for step in range(steps):
        stepper.advance(step, warmed_at=None)
    return {name: tensor.clone() for name, tensor in stepper.state.tensors().items()}


def assert_equal(one: dict[str, Tensor], other: dict[str, Tensor], **tolerance: float) -> None:
    assert one.keys() == other.keys()
    for name, tensor in one.items():
        if tolerance:
            assert torch.allclose(tensor, other[name], **tolerance), name
        else:
            assert torch.equal(tensor, other[name]), name


def test_a_training_is_assembled_as_its_task_wants_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Laid out and in training, or without our own kernels; it runs as one put together by hand."""
    torch.manual_seed(1)
    network = create_model("cifar-resnet-8", in_chans=1, input_size=8).eval()
    stepper = assemble(network, Noise(), RECIPE, seed=1, device="cpu")
    assert (stepper.network, network.training, stepper.runtime) == (network, True, Runtime())
    kernel = network.get_parameter("blocks.conv2_1.layers.0.conv.weight")
    assert kernel.is_contiguous(memory_format=torch.channels_last)
    assert_equal(advance(stepper, 3), advance(make_stepper(Noise()), 3), rtol=1e-4, atol=1e-5)  # of another layout
    monkeypatch.setattr(stepping, "choose_runtime", lambda *_, **__: Runtime(fused=True, normalized=True))
    assert assemble(network, Noise(), RECIPE, seed=1, device="cpu", own_kernels=False).runtime == Runtime()


def test_stretches_are_the_same_iterations(monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches and rates made ahead in stretches of five, or one by one."""
    expected = advance(make_stepper(Noise(), dropout=0.2), 12)
    monkeypatch.setattr(Stepper, "waiting_is_free", False)
    monkeypatch.setattr(stepping, "STRETCH_BYTES", 5 * (8 * 64 * 4 + 8 * 8))
    stepper = make_stepper(Noise(), dropout=0.2)
    assert_equal(advance(stepper, 12), expected)
    assert stepper.stretch is not None
    assert (stepper.stretch.first, len(stepper.stretch.controls)) == (11, 1)


def test_twins_train_as_one() -> None:
    """Their mean gradient is that of either, and so are their statistics; their wrong images count twice."""
    one, twins = make_stepper(Noise()), make_stepper(Noise(), recipe=replace(RECIPE, batch=16), processes=Twins())
    assert_equal(advance(twins, 6), advance(one, 6), rtol=1e-5, atol=1e-6)
    assert twins.state.read_tally().sums["wrong"] == 2 * one.state.read_tally().sums["wrong"]


def test_a_stretch_ends_where_images_grow(monkeypatch: pytest.MonkeyPatch) -> None:
    """And the next one has room for them: the same iterations as one by one, with the rates of their own numbers."""
    expected = advance(make_stepper(Growing()), 12)
    monkeypatch.setattr(Stepper, "waiting_is_free", False)
    stepper = make_stepper(Growing())
    stretches = []
    for step in range(12):
        stepper.advance(step, warmed_at=None)
        assert stepper.stretch is not None
        stretches.append(stepper.stretch.first)
    assert stretches == [0] + [1] * 4 + [5] * 7
    assert_equal(stepper.state.tensors(), expected)


def test_a_loss_that_is_not_finite_changes_nothing() -> None:
    """From that iteration on everything stays, statistics and average included; the tally names it."""
    stepper = make_stepper(Noise(bad=4))
    good = advance(stepper, 4)
    for step in range(4, 8):
        stepper.advance(step, warmed_at=None)
    assert_equal({name: tensor.clone() for name, tensor in stepper.state.tensors().items()}, good)
    tally = stepper.state.read_tally()
    assert tally.failed_at == 4
    assert tally.loss < 4 * 10


def test_a_warm_up_is_felt_step_by_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """While its end hangs on the errors, no iteration is made ahead."""
    monkeypatch.setattr(Stepper, "waiting_is_free", False)
    stepper = make_stepper(Noise(), recipe=find_recipe("cifar-paper-110", {"batch": 8}))
    advance(stepper, 3)
    assert stepper.stretch is not None
    assert len(stepper.stretch.controls) == 1
    assert stepper.controls[0].item() == pytest.approx(0.01)
    stepper.advance(3, warmed_at=3)
    assert len(stepper.stretch.controls) > 100
    assert stepper.controls[0].item() == pytest.approx(0.1)


def test_the_average_starts_with_the_first_weights() -> None:
    """After one iteration it is the network; after two, between them."""
    stepper = make_stepper(Noise())
    first = advance(stepper, 1)
    assert torch.equal(first["average.classifier.weight"], first["network.classifier.weight"])
    stepper.advance(1, warmed_at=None)
    second = stepper.state.tensors()
    mixed = 0.9 * first["network.classifier.weight"] + 0.1 * second["network.classifier.weight"]
    assert torch.allclose(second["average.classifier.weight"], mixed, atol=1e-6)


def test_the_average_may_begin_later() -> None:
    """Up to half of the run it is the network, statistics included; then it lags behind."""
    stepper = make_stepper(Noise(), recipe=replace(RECIPE, average_from=0.5))
    for step in range(8):
        stepper.advance(step, warmed_at=None)
        tensors = stepper.state.tensors()
        for name in ("classifier.weight", "stem.norm.running_mean"):
            same = torch.equal(tensors[f"average.{name}"], tensors[f"network.{name}"])
            assert same == (step <= 6), (name, step)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # torch 2.11's compiler uses what torch 2.11 deprecates
def test_a_compiled_network_trains_alike() -> None:
    """torch.compile changes speed and rounding, not the training; the judged network stays as it was."""
    plain = advance(make_stepper(Noise()), 3)
    stepper = make_stepper(Noise(), runtime=Runtime(compile=True))
    assert_equal(advance(stepper, 3), plain, rtol=1e-3, atol=1e-4)
    assert stepper.network.stand_in is not None
    assert stepper.state.judged.stand_in is None


@gpu
@needs_cuda
@pytest.mark.parametrize("overrides", [{}, {"dropout": 0.2, "stochastic_depth": 0.2}], ids=str)
@pytest.mark.parametrize(
    "optimizer",
    [
        RECIPE.optimizer,
        OptimizerSpec(kind="adamw", learning_rate=1e-3, body_rate=0.5),
        OptimizerSpec(bias_rate=2.0, head_decay=10.0),
    ],
)
def test_a_captured_iteration_is_the_iteration(overrides: dict[str, object], optimizer: OptimizerSpec) -> None:
    """Replayed or run as it stands, dropout included: the same weights, moments, statistics, average and tally."""
    recipe = replace(RECIPE, optimizer=optimizer)
    with torch.backends.cudnn.flags(enabled=True, deterministic=True, allow_tf32=False):
        eager = make_stepper(Noise("cuda"), recipe=recipe, runtime=Runtime(), **overrides)
        captured = make_stepper(Noise("cuda"), recipe=recipe, runtime=Runtime(capture=True), **overrides)
        assert_equal(advance(captured, 12), advance(eager, 12), rtol=1e-4, atol=1e-6)
        assert captured.state.read_tally().sums == eager.state.read_tally().sums


@gpu
@needs_cuda
def test_twins_are_captured_up_to_their_sums() -> None:
    """What comes before them is replayed, what comes after is not; nothing changes by that."""
    with reproducible():
        recipe = replace(RECIPE, batch=16)
        eager = make_stepper(Noise("cuda"), recipe=recipe, processes=Twins(), runtime=Runtime())
        captured = make_stepper(Noise("cuda"), recipe=recipe, processes=Twins(), runtime=Runtime(capture=True))
        assert_equal(advance(captured, 12), advance(eager, 12), rtol=1e-4, atol=1e-6)
        assert captured.track.replay is not None
        assert captured.state.read_tally().sums == eager.state.read_tally().sums


@gpu
@needs_cuda
def test_images_that_grow_are_captured_again() -> None:
    """Each size has a graph of its own; the iterations are those that run as they stand."""
    with torch.backends.cudnn.flags(enabled=True, deterministic=True, allow_tf32=False):
        eager = make_stepper(Growing("cuda"), runtime=Runtime())
        captured = make_stepper(Growing("cuda"), runtime=Runtime(capture=True))
        assert_equal(advance(captured, 12), advance(eager, 12), rtol=1e-4, atol=1e-6)
        assert captured.track.batch[0].shape[-1] == 12


@gpu
@needs_cuda
@pytest.mark.parametrize("processes", [ALONE, Twins()], ids=["alone", "twins"])
def test_shapes_that_alternate_are_captured_once(processes: Processes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Graphs share their memory and do not disturb each other: the iterations are those that run as they stand."""
    recorded = []
    monkeypatch.setattr(stepping, "capture", lambda *work, **how: recorded.append(1) or capture(*work, **how))
    recipe = replace(RECIPE, batch=8 * processes.count)
    with torch.backends.cudnn.flags(enabled=True, deterministic=True, allow_tf32=False):
        eager, captured = (
            make_stepper(
                Alternating("cuda", sizes=3),
                recipe=recipe,
                processes=processes,
                runtime=Runtime(capture=captured),
                dropout=0.2,
            )
            for captured in (False, True)
        )
        assert_equal(advance(captured, 12), advance(eager, 12), rtol=1e-4, atol=1e-6)
    assert len(recorded) == 3
    assert captured.state.read_tally().sums == eager.state.read_tally().sums


@gpu
@needs_cuda
def test_parts_side_by_side_are_parts_one_after_the_other() -> None:
    """Captured on streams of their own, by our kernels: the same weights and statistics to bfloat16's rounding."""
    recipe = replace(RECIPE, accumulate=2, precision="bf16", optimizer=replace(RECIPE.optimizer, learning_rate=0.01))
    with reproducible():
        beside, again, after = (
            make_stepper(
                Sized("cuda", precision="bf16"),
                recipe=recipe,
                runtime=Runtime(capture=True, fused=True, lanes=lanes),
            )
            for lanes in (2, 2, 1)
        )
        found = advance(beside, 4)
        assert_equal(advance(again, 4), found)
        assert_equal(advance(after, 4), found, rtol=0.05, atol=0.02)


def test_parts_side_by_side_make_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where memory runs out for them they go one after the other, and the iteration is what it would have been."""
    asked = []

    def capture(work: Callable[[], None], **_: object) -> Callable[[], None]:
        if asked[-1] > 1:
            raise torch.OutOfMemoryError
        work()
        return work

    monkeypatch.setattr(stepping, "capture", capture)
    monkeypatch.setattr(stepping, "fuse", lambda network, dtype, *, lanes: asked.append(lanes))
    recipe = replace(RECIPE, accumulate=2, precision="bf16")
    stepper = make_stepper(Noise(), recipe=recipe, runtime=Runtime(capture=True, fused=True, lanes=2))
    assert_equal(advance(stepper, 3), advance(make_stepper(Noise(), recipe=recipe, runtime=Runtime()), 3))
    assert (asked, stepper.runtime.lanes) == ([2, 1], 1)


@pytest.mark.parametrize(("sizes", "captures"), [(2, 2), (8, 8), (9, 18)])
def test_shapes_seen_lately_are_not_captured_again(sizes: int, captures: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each has its graph and its places, up to a number of them: then those longest unused are dropped."""
    recorded = []
    monkeypatch.setattr(stepping, "capture", lambda work, **_: recorded.append(work()) or work)
    plain, captured = (make_stepper(Alternating(sizes=sizes), runtime=Runtime(capture=how)) for how in (False, True))
    for step in range(18):
        for stepper in (plain, captured):
            stepper.advance(step, warmed_at=None)
        assert (len(plain.tracks), len(captured.tracks)) == (1, min(step + 1, sizes, stepping.MOST_GRAPHS))
    assert len(recorded) == captures
    assert_equal(captured.state.tensors(), plain.state.tensors())


def test_graphs_of_other_shapes_make_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where memory runs out for another one they are given up, and the iteration is what it would have been."""
    stepper, plain = (make_stepper(Alternating(sizes=3), runtime=Runtime(capture=how)) for how in (True, False))

    def capture(work: Callable[[], None], **_: object) -> Callable[[], None]:
        work()
        if len(stepper.tracks) > 2:
            raise torch.OutOfMemoryError
        return work

    monkeypatch.setattr(stepping, "capture", capture)
    assert_equal(advance(stepper, 3), advance(plain, 3))
    assert len(stepper.tracks) == 1


def test_memory_that_runs_out_for_one_shape_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """There is nothing to give up."""

    def capture(work: Callable[[], None], **_: object) -> Callable[[], None]:
        raise torch.OutOfMemoryError

    monkeypatch.setattr(stepping, "capture", capture)
    with pytest.raises(torch.OutOfMemoryError):
        make_stepper(Noise(), runtime=Runtime(capture=True)).advance(0, warmed_at=None)


def test_what_capturing_tries_is_taken_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Trial runs in the midst of a training leave no trace: the iterations are those of one without, to the bit."""
    tried = []

    def capture(work: Callable[[], None], **_: object) -> Callable[[], None]:
        for _ in range(3):
            tried.append(work())
        return work

    monkeypatch.setattr(stepping, "capture", capture)
    plain, captured = (make_stepper(Noise(), runtime=Runtime(capture=how), dropout=0.2) for how in (False, True))
    for stepper in (plain, captured):
        advance(stepper, 2)
        stepper.track.replay = None  # what follows is captured anew
        for step in range(2, 5):
            stepper.advance(step, warmed_at=None)
    assert len(tried) == 6
    assert_equal(captured.state.tensors(), plain.state.tensors())
    assert captured.state.read_tally() == plain.state.read_tally()


@gpu
@needs_cuda
def test_capturing_leaves_no_trace() -> None:
    """Done again in the midst of a training: weights, velocities, statistics, average and tally to the bit."""
    with reproducible():
        once, twice = (make_stepper(Noise("cuda"), runtime=Runtime(capture=True)) for _ in range(2))
        for stepper in (once, twice):
            advance(stepper, 2)
        twice.track.replay = None
        for stepper in (once, twice):
            stepper.advance(2, warmed_at=None)
    assert twice.track.replay is not None
    assert_equal(twice.state.tensors(), once.state.tensors())
    assert twice.state.read_tally() == once.state.read_tally()


@gpu
@needs_cuda
def test_a_captured_bad_loss_changes_nothing() -> None:
    """The flag on the device stops all that follows, without anyone reading it."""
    stepper = make_stepper(Noise("cuda", bad=4))
    assert stepper.runtime.capture
    good = advance(stepper, 4)
    for step in range(4, 9):
        stepper.advance(step, warmed_at=None)
    assert_equal({name: tensor.clone() for name, tensor in stepper.state.tensors().items()}, good)
    assert stepper.state.read_tally().failed_at == 4


@gpu
@needs_cuda
def test_a_checkpoint_loads_under_a_captured_graph() -> None:
    """In place: the graph goes on from what was loaded, to the same bits."""
    with reproducible():
        stepper = make_stepper(Noise("cuda"))
        early = advance(stepper, 4)
        late = []
        for _ in range(2):
            stepper.state.load(early)
            for step in range(4, 8):
                stepper.advance(step, warmed_at=None)
            late.append({name: tensor.clone() for name, tensor in stepper.state.tensors().items()})
    assert_equal(late[0], late[1])


@gpu
@needs_cuda
def test_the_same_seed_gives_the_same_bits() -> None:
    """Captured twice from scratch."""
    with reproducible():
        assert_equal(advance(make_stepper(Noise("cuda")), 12), advance(make_stepper(Noise("cuda")), 12))


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=[gpu, needs_cuda])])
@pytest.mark.parametrize("norm", ["none", "frozen", "group"])
def test_networks_without_statistics_train(norm: str, device: str) -> None:
    """There may be no buffers of a kind, or none at all."""
    stepper = make_stepper(Noise(device), norm=norm)
    before = stepper.state.optimizer.weights.flat.clone()
    advance(stepper, 2)
    assert stepper.state.read_tally().failed_at is None
    assert not torch.equal(stepper.state.optimizer.weights.flat, before)


def test_float16_loses_no_gradients() -> None:
    """Of a loss so small that it could not tell its gradients apart, they are nearer float32's than bfloat16's are."""
    undecayed = replace(RECIPE, optimizer=replace(RECIPE.optimizer, weight_decay=0.0))

    def gradients(precision: Precision) -> Tensor:
        stepper = make_stepper(Sized(precision=precision, size=1e-5), recipe=replace(undecayed, precision=precision))
        stepper.advance(0, warmed_at=None)
        return stepper.state.optimizer.velocities.flat  # the rate times them, after the first iteration

    exact, half, brain = (gradients(precision) for precision in ("fp32", "fp16", "bf16"))
    assert (half - exact).norm() < 0.6 * (brain - exact).norm()
    assert (brain - exact).norm() < 0.3 * exact.norm()


def test_an_overflow_changes_nothing_but_the_scale() -> None:
    """Of a loss so large that float16 has no gradients of it; once the scale has come down, weights move."""
    stepper = make_stepper(Sized(precision="fp16", size=1e5), recipe=replace(RECIPE, precision="fp16"))
    state = stepper.state
    assert state.scale is not None
    before, moved_at = {name: tensor.clone() for name, tensor in state.tensors().items()}, None
    for step in range(12):
        stepper.advance(step, warmed_at=None)
        moved = [name for name, tensor in state.tensors().items() if not torch.equal(tensor, before[name])]
        if moved != ["loss_scale"]:
            moved_at = step
            break
    assert moved_at is not None
    assert moved_at > 0
    assert state.scale.factor == 1024 / 2**moved_at
    assert state.read_tally().failed_at is None


@pytest.mark.parametrize(
    ("fields", "overrides", "image_shape", "fused"),
    [
        ({"precision": "bf16"}, {}, (3, 32, 32), True),
        ({"precision": "fp16"}, {}, (3, 32, 32), True),
        ({"precision": "fp32"}, {}, (3, 32, 32), False),
        ({"precision": "bf16", "channels_last": "false"}, {}, (3, 32, 32), False),
        ({"precision": "bf16"}, {}, (3, 16, 16), False),
        ({"precision": "bf16", "resizing.initial": "0.5"}, {}, (3, 32, 32), False),
        ({"precision": "bf16"}, {"dropout": 0.1}, (3, 32, 32), False),
        ({"precision": "bf16"}, {"checkpointing": True}, (3, 32, 32), False),
    ],
)
def test_our_kernels_run_what_they_are_made_for(
    fields: dict[str, str], overrides: dict[str, object], image_shape: tuple[int, ...], fused: bool, monkeypatch
) -> None:
    """Networks there are kernels for, in 16 bits, channels-last, on images of the spec's size; not under compile."""
    monkeypatch.setattr("reslab.training.stepping.is_available", lambda device: True)
    network = create_model("cifar-resnet-8", **overrides)
    recipe = find_recipe("cifar-paper", fields)
    assert choose_runtime(network, recipe, "cuda", image_shape=image_shape).fused is fused
    assert not choose_runtime(network, recipe, "cuda", image_shape=image_shape, compile=True).fused
    assert not choose_runtime(network, recipe, "cpu", image_shape=image_shape).fused
    alone, together = (
        choose_runtime(network, recipe, "cuda", image_shape=image_shape, processes=processes)
        for processes in (ALONE, Twins())
    )
    assert together == alone
    frozen = choose_runtime(network, replace(recipe, freeze="stem"), "cuda", image_shape=image_shape)
    assert frozen == Runtime(capture=alone.capture)  # our kernels normalize by the batch
    recipe = replace(recipe, sync_norms=True)
    assert not choose_runtime(network, recipe, "cuda", image_shape=image_shape, processes=Twins()).capture


@pytest.mark.parametrize(
    ("name", "fields", "overrides", "normalized"),
    [
        ("resnet-50", {"precision": "bf16"}, {}, True),
        ("resnet-50", {"precision": "fp16"}, {}, True),
        ("resnet-50", {"precision": "fp32"}, {}, False),
        ("resnet-50", {"precision": "bf16", "channels_last": "false"}, {}, False),
        ("resnet-50", {"precision": "bf16"}, {"order": "pre"}, True),
        ("resnet-50", {"precision": "bf16"}, {"order": "relu-before-addition"}, False),
        ("resnet-50", {"precision": "bf16"}, {"checkpointing": True}, False),
        ("cifar-resnet-8", {"precision": "bf16"}, {}, False),  # it has kernels for all of it
        ("cifar-resnet-8", {"precision": "bf16"}, {"input_size": 24}, True),
    ],
)
def test_other_networks_have_kernels_around_convolutions(
    name: str, fields: dict[str, str], overrides: dict[str, object], normalized: bool, monkeypatch
) -> None:
    """In 16 bits, channels-last, where there are none for all of the network; not under compile, nor on the CPU."""
    monkeypatch.setattr("reslab.training.stepping.is_available", lambda device: True)
    spec = find(name, overrides)
    network = build(spec, device="meta")
    recipe = find_recipe("cifar-paper", fields)
    choose = partial(choose_runtime, network, recipe, image_shape=spec.input_shape)
    runtime = choose("cuda")
    assert runtime.normalized is normalized
    assert not (runtime.fused and runtime.normalized)
    assert not choose("cuda", compile=True).normalized
    frozen = choose_runtime(network, replace(recipe, freeze="stem"), "cuda", image_shape=spec.input_shape)
    assert not (frozen.fused or frozen.normalized)
    assert not choose("cpu").normalized


@gpu
@needs_cuda
@pytest.mark.parametrize("precision", ["bf16", "fp16"])
def test_a_captured_training_by_our_normalizations(precision: Precision) -> None:
    """The same bits each time; the network is given back as it was."""
    narrow = replace(RECIPE, precision=precision)

    def train() -> dict[str, Tensor]:
        stepper = make_stepper(Noise("cuda"), recipe=narrow, runtime=Runtime(capture=True, normalized=True))
        after = advance(stepper, 6)
        assert stepper.state.read_tally().failed_at is None
        stepper.leave()
        assert stepper.network.stand_in is None
        return after

    with reproducible():
        assert_equal(train(), train())
