"""The detector: it learns to find rectangles, the same way twice, and is not disturbed by what lies beside an image."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from tests.networks.detection.scenes import draw_scenes, make_detector
from torch import Tensor
from torch.nn import functional as F

from reslab.networks.detection.boxes import overlaps
from reslab.networks.detection.detector import Detector
from reslab.networks.folding import fold
from reslab.networks.freezing import count_stages_ahead
from reslab.spec import find
from reslab.spec.boxes import ABSENT, CROWD, DIFFICULT, FOUND, MARK, SCORE
from reslab.spec.detection import Detection

ALIGNED = {"pooling": "align", "pooled_side": 6}
STEPS = 150


@pytest.fixture(scope="module")
def learnt() -> tuple[Detector, list[float]]:
    """A detector that has seen eight images of rectangles 75 times each, and its loss on the way."""
    torch.manual_seed(0)
    torch.set_num_threads(1)
    detector = make_detector(**ALIGNED)
    optimizer = torch.optim.Adam(detector.parameters(), lr=0.002)
    generator, totals = torch.Generator().manual_seed(0), []
    images, targets = draw_scenes(8)
    for step in range(STEPS):
        half = slice(4 * (step % 2), 4 * (step % 2) + 4)
        total = torch.stack(list(detector.losses(images[half], targets[half], generator).values())).sum()
        optimizer.zero_grad()
        total.backward()
        optimizer.step()
        totals.append(float(total.detach()))
    return detector.eval().requires_grad_(requires_grad=False), totals


def count_found(rows: Tensor, targets: Tensor) -> tuple[int, int]:
    """How many objects are found with a score above a half, and how many there are."""
    found = objects = 0
    for detections, image in zip(rows, targets, strict=True):
        for target in image[image[:, 4] >= 0]:
            alike = (detections[:, FOUND] == target[4]) & (detections[:, SCORE] > 0.5)
            found += int((alike & (overlaps(detections[:, :4], target[None, :4])[:, 0] > 0.5)).any())
            objects += 1
    return found, objects


def test_it_learns_to_find_things(learnt: tuple[Detector, list[float]]) -> None:
    """The loss falls, and most rectangles are found by their place and colour; little else is."""
    detector, totals = learnt
    assert sum(totals[-10:]) < sum(totals[:10]) / 3
    images, targets = draw_scenes(8, seed=0)
    rows = detector(images, targets)
    found, objects = count_found(rows, targets)
    assert found >= 0.75 * objects
    assert int((rows[..., SCORE] > 0.5).sum()) <= 1.5 * objects


def test_detections_are_rows_of_one_number(learnt: tuple[Detector, list[float]]) -> None:
    """Best first, inside the frame, and absent rows after them."""
    detector, _ = learnt
    images, targets = draw_scenes(4, seed=3)
    targets[:, 0, 2:4] = 50  # less than the images
    rows = detector(images, targets)
    assert rows.shape == (4, 10, 6)
    there = rows[..., FOUND] != ABSENT
    assert (rows[..., 1:, SCORE] <= rows[..., :-1, SCORE]).all() and (there[:, 1:] <= there[:, :-1]).all()
    assert (rows[there][:, SCORE] > 0.05).all() and (rows[there][:, :4] <= 50).all() and (rows[..., :4] >= 0).all()
    assert not rows[~there][:, :5].any()
    assert torch.equal(rows, detector(images, targets[:, :1]))


def test_neighbours_in_a_batch_change_nothing(learnt: tuple[Detector, list[float]]) -> None:
    """On the same canvas an image has the same detections alone; without its padding it has nearly the same."""
    detector, _ = learnt
    images, targets = draw_scenes(8, seed=0)
    others, other_targets = draw_scenes(8, side=96, seed=7)
    padded = F.pad(images, (0, 32, 0, 32))
    batch = detector(torch.cat([padded, others]), torch.cat([targets[:, :1], other_targets[:, :1]]))
    for number in range(4):
        alone = detector(padded[number : number + 1], targets[number : number + 1])
        torch.testing.assert_close(batch[number], alone[0], rtol=1e-4, atol=1e-3)
    found, _ = count_found(batch[:8], targets)
    assert found >= 0.75 * count_found(detector(images, targets), targets)[0]


@pytest.mark.parametrize(
    "fields", [{}, ALIGNED, {"head": "fpn", "pooling": "align", "anchor_sides": (8, 16, 24, 32, 48), "pooled_side": 2}]
)
def test_two_runs_are_the_same(fields: dict[str, object]) -> None:
    """With generators of one seed, losses and every gradient are the same bits; with another, others are drawn."""
    detector = make_detector(**fields, norm="trained")
    batch = draw_scenes(2, seed=5)

    def run(seed: int) -> tuple[list[Tensor], list[Tensor]]:
        ours = copy.deepcopy(detector)
        losses = list(ours.losses(*batch, torch.Generator().manual_seed(seed)).values())
        torch.stack(losses).sum().backward()
        return losses, [weight.grad for weight in ours.parameters() if weight.grad is not None]

    (losses, gradients), (again, same), (others, _) = run(1), run(1), run(2)
    assert all(map(torch.equal, losses, again)) and all(map(torch.equal, gradients, same))
    assert len(gradients) == len(list(detector.parameters()))
    assert not all(map(torch.equal, losses, others))


def test_sixteen_bits_lose_little() -> None:
    """Networks compute in them, boxes and losses in float32."""
    detector = make_detector(**ALIGNED)
    batch = draw_scenes(2)
    wide = detector.losses(*batch, torch.Generator().manual_seed(0))
    with torch.autocast("cpu", torch.bfloat16):
        narrow = detector.losses(*batch, torch.Generator().manual_seed(0))
    for name, loss in narrow.items():
        assert loss.dtype == torch.float32
        assert float(loss.detach()) == pytest.approx(float(wide[name].detach()), rel=0.1, abs=0.01)


@pytest.mark.parametrize("norm", ["frozen", "trained"])
def test_only_what_is_to_be_trained_is(norm: str) -> None:
    """The stem and conv2 stay as they are, and normalizations unless they are to be trained."""
    detector = make_detector(freeze="conv2", norm=norm).train()
    before = {name: tensor.clone() for name, tensor in detector.state_dict().items()}
    torch.stack(list(detector.losses(*draw_scenes(2), torch.Generator()).values())).sum().backward()
    untouched = ("body.stem.", "body.blocks.conv2_")
    for name, weight in detector.named_parameters():
        assert (weight.grad is None) == name.startswith(untouched), name
        assert weight.requires_grad == (weight.grad is not None)
    trained = {name for name, _ in detector.named_parameters() if ".norm." in name and not name.startswith(untouched)}
    assert bool(trained) == (norm == "trained")
    moved = {name for name, tensor in detector.state_dict().items() if not torch.equal(tensor, before[name])}
    statistics = {name for name in before if name.endswith(("running_mean", "running_var", "num_batches_tracked"))}
    expected = {name for name in statistics if not name.startswith(untouched)} if norm == "trained" else set()
    assert moved == expected


@pytest.mark.parametrize("head", ["c4", "fpn"])
@pytest.mark.parametrize(
    ("trains", "freeze", "learning", "names"),
    [
        ("proposals", "conv2", ("proposer.", "pyramid.", "body.blocks.conv3", "body.blocks.conv4"), {"rpn"}),
        ("proposals", "shared", ("proposer.",), {"rpn"}),
        ("regions", "shared", ("outputs.", "hidden.", "body.blocks.conv5"), {"roi"}),
        ("both", "shared", ("proposer.", "outputs.", "hidden.", "body.blocks.conv5"), {"rpn", "roi"}),
    ],
)
def test_steps_train_their_own_layers(
    head: str, trains: str, freeze: str, learning: tuple[str, ...], names: set[str]
) -> None:
    """Losses of what is not trained are not computed; a pyramid's last stage is shared, another's is for regions."""
    pyramid: dict[str, Any] = {"head": "fpn", "pooling": "align", "anchor_sides": (8, 16, 24, 32, 48), "pooled_side": 2}
    detector = make_detector(**(pyramid if head == "fpn" else {}), norm="trained", trains=trains, freeze=freeze).train()
    before = {name: tensor.clone() for name, tensor in detector.state_dict().items()}
    losses = detector.losses(*draw_scenes(2), torch.Generator().manual_seed(0))
    assert set(losses) == {f"{name}_{kind}" for name in names for kind in ("class", "box")}
    torch.stack(list(losses.values())).sum().backward()
    last = "body.blocks.conv5"
    if head == "fpn":
        learning = tuple(part for part in learning if part != last) + ((last,) if freeze != "shared" else ())
    trained = {name for name, weight in detector.named_parameters() if weight.grad is not None}
    assert trained == {name for name, _ in detector.named_parameters() if name.startswith(learning)}
    assert all(weight.requires_grad == (name in trained) for name, weight in detector.named_parameters())
    moved = {name for name, tensor in detector.state_dict().items() if not torch.equal(tensor, before[name])}
    assert all(name.startswith(learning) for name in moved)
    assert detector(draw_scenes(1)[0]).requires_grad  # what a step is timed by


def test_images_without_objects_are_background() -> None:
    """Also if all they have is difficult or a crowd, which is neither: then what is in it is not background."""
    detector = make_detector(**ALIGNED)
    images, targets = draw_scenes(2)
    empty = targets.clone()
    empty[:, 1:, 4] = ABSENT
    losses = [detector.losses(images, empty, torch.Generator().manual_seed(0))]
    for mark in (DIFFICULT, CROWD):
        marked = targets.clone()
        marked[:, 1:, MARK] = mark
        losses.append(detector.losses(images, marked, torch.Generator().manual_seed(0)))
    assert all(each["rpn_box"] == 0 and each["roi_box"] == 0 for each in losses)
    assert torch.equal(losses[0]["rpn_class"], losses[1]["rpn_class"])
    frame_alone = detector.losses(images, targets[:, :1], torch.Generator().manual_seed(0))
    assert torch.equal(frame_alone["rpn_class"], losses[0]["rpn_class"])
    crowded = targets.clone()
    crowded[:, 1] = torch.tensor([0, 0, 64, 64, 0, CROWD, 64 * 64])
    crowded[:, 2:, 4] = ABSENT
    everywhere = detector.losses(images, crowded, torch.Generator())
    assert not everywhere["roi_class"].detach()


def test_a_hundred_and_one_layers_share_91() -> None:
    """The paper's count of convolutions that proposals and regions share, projections aside."""
    with torch.device("meta"):
        detector = Detector(find("resnet-101", {"classes": 20}), Detection())
    convolutions = {name for name, _ in detector.body.named_modules() if name.endswith(".conv")}
    shared = {name for name in convolutions if not name.startswith("blocks.conv5_")}
    assert len({name for name in shared if "shortcut" not in name}) == 91 and len(shared) == 94
    assert detector.strides == (16,) and detector.proposer.head.objectness.out_channels == 9
    assert detector.outputs.boxes.out_features == 84


def test_a_folded_detector_finds_the_same(learnt: tuple[Detector, list[float]]) -> None:
    """Constant normalizations go into the convolutions before them."""
    detector, _ = learnt
    images, targets = draw_scenes(2, seed=1)
    folded = fold(detector)
    assert not any(name.endswith(".norm") for name, _ in folded.named_modules())
    torch.testing.assert_close(folded(images, targets), detector(images, targets), rtol=1e-3, atol=1e-2)


@pytest.mark.parametrize("norm", ["frozen", "trained"])
def test_the_optimizer_takes_all_that_is_trained(norm: str) -> None:
    """As it takes a network's weights."""
    detector = make_detector(norm=norm, freeze="conv2")
    ahead = count_stages_ahead(detector)
    assert set(ahead) == {name for name, _ in detector.named_parameters()}


def test_new_layers_start_small() -> None:
    """N(0, 0.01), and the boxes of regions N(0, 0.001)."""
    detector = Detector(find("resnet-18", {"classes": 20}), Detection())
    head, outputs = detector.proposer.head, detector.outputs
    for layer, deviation in ((head.conv, 0.01), (head.boxes, 0.01), (outputs.scores, 0.01), (outputs.boxes, 0.001)):
        assert float(layer.weight.detach().std()) == pytest.approx(deviation, rel=0.05)


@pytest.mark.parametrize("fields", [{}, {"pooling": "align"}])
def test_weights_that_are_no_numbers_give_losses_that_are_none(fields: dict[str, Any]) -> None:
    """So that a training which diverges ends with its own sentence, not in the middle of a map."""
    detector = make_detector(**fields)
    with torch.no_grad():
        detector.proposer.head.boxes.weight.fill_(torch.nan)
    losses = detector.losses(*draw_scenes(2), torch.Generator().manual_seed(0))
    assert not torch.isfinite(losses["rpn_box"])


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"head": "fpn"},
        {"trains": "proposals"},
        {"trains": "regions", "trunks": "separate"},
        {"trains": "regions", "freeze": "shared"},
    ],
)
def test_a_step_is_captured_and_repeats_itself(fields: dict[str, Any]) -> None:
    """Nothing waits for the device; two steps from the same seed give the same bits, and the host's numbers."""
    from reslab.runtime.capture import capture

    spec, detection = find("resnet-18", {"classes": 2}), Detection(**fields, proposal_side=2, norm="trained")
    detector = Detector(spec, detection)
    images, targets = draw_scenes(2, side=128, objects=4)
    on_host = detector.losses(images, targets, torch.Generator().manual_seed(0))
    device = torch.device("cuda")
    detector, images, targets = detector.to(device), images.to(device), targets.to(device)
    generator, kept = torch.Generator(device).manual_seed(0), {}

    def step() -> None:
        detector.zero_grad(set_to_none=False)
        losses = detector.losses(images, targets, generator)
        torch.stack(list(losses.values())).sum().backward()
        kept.update(losses)

    with torch.backends.cudnn.flags(enabled=True, deterministic=True):
        replay = capture(step, device=device, generator=generator)
    seen = []
    for _ in range(2):
        generator.manual_seed(3)
        replay()
        seen.append(
            [
                *[loss.clone() for loss in kept.values()],
                *[w.grad.clone() for w in detector.parameters() if w.grad is not None],
            ]
        )
    assert all(map(torch.equal, *seen))
    assert all(torch.isfinite(loss) for loss in kept.values())
    assert set(on_host) == set(kept)
