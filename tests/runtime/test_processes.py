"""What processes share, and that sums of our own are torch's."""

from __future__ import annotations

import datetime
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.processes import run_in_processes
from torch import Tensor
from torch.distributed import DistStoreError, HashStore, Store
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel

from reslab.errors import UserError
from reslab.networks import create_model
from reslab.runtime.processes import ALONE, Processes, find_corner, joined, refuse_undivided
from reslab.spec.recipe import Recipe
from reslab.training.state import TrainingState

SOON = datetime.timedelta(seconds=0.2)
LATER = datetime.timedelta(seconds=20)


@given(st.integers(0, 200), st.integers(1, 9))
def test_shares_are_everything_once(size: int, count: int) -> None:
    """Also where the size is not a multiple, or there are more processes than things."""
    things = [thing for rank in range(count) for thing in range(size)[Processes(rank, count).share(size)]]
    assert things == list(range(size))


def test_alone_nothing_happens() -> None:
    """No group is needed, and tensors stay what they are."""
    tensor = torch.arange(3.0)
    ALONE.sum(tensor)
    ALONE.average(tensor)
    ALONE.take_from_first([tensor])
    assert tensor.tolist() == [0, 1, 2]
    assert ALONE.agree(True, False) == (True, False)
    assert ALONE.ask_first("x") == "x"
    with joined() as processes:
        assert processes == ALONE


@pytest.mark.parametrize(
    ("variables", "sentence"),
    [
        ({"WORLD_SIZE": "two"}, "WORLD_SIZE is 'two'"),
        ({"WORLD_SIZE": "2"}, "RANK is ''"),
        ({"WORLD_SIZE": "2", "RANK": "0", "RESLAB_TIMEOUT": "soon"}, "RESLAB_TIMEOUT is 'soon'"),
        ({"WORLD_SIZE": "2", "RANK": "0", "RESLAB_TIMEOUT": "-1"}, "RESLAB_TIMEOUT is '-1'"),
    ],
)
def test_a_wrong_environment_is_told(variables: dict[str, str], sentence: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one sentence, before anything waits."""
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(UserError, match=sentence), joined():
        pass


def test_a_batch_that_cannot_be_shared_is_refused() -> None:
    """Accumulation counts too: each part is shared."""
    refuse_undivided(Recipe(batch=128, accumulate=2), 4)
    with pytest.raises(UserError, match="batch is 128, which 3 processes cannot share evenly; choose a multiple of 3"):
        refuse_undivided(Recipe(batch=128), 3)
    with pytest.raises(UserError, match="in 32 parts, which 8 processes"):
        refuse_undivided(Recipe(batch=128, accumulate=32), 8)


def average_beside_torchs(processes: Processes) -> tuple[Tensor, Tensor]:
    """The gathered gradient of one iteration, ours and that of torch's wrapper."""
    torch.manual_seed(1)
    network = create_model("cifar-resnet-8", in_chans=1, input_size=8)
    state = TrainingState(network, Recipe(), processes=processes)
    torch.manual_seed(2)
    images, labels = torch.randn(8, 1, 8, 8), torch.arange(8)
    part = processes.share(8)
    gathered = []
    for model, average in ((network, processes.average), (DistributedDataParallel(network), lambda gradients: None)):
        F.cross_entropy(model(images[part]), labels[part]).backward()
        state.optimizer.gather()
        average(state.optimizer.gradients)
        gathered.append(state.optimizer.gradients.clone())
    return gathered[0], gathered[1]


def test_the_average_is_that_of_torchs_wrapper() -> None:
    """The same gradients, and the same in both processes, to the bit."""
    (ours, theirs), (others, _) = run_in_processes(average_beside_torchs, 2)
    torch.testing.assert_close(ours, theirs, rtol=1e-6, atol=1e-8)
    assert torch.equal(ours, others)
    assert ours.norm() > 0.1


def decide(processes: Processes) -> tuple[object, ...]:
    """What two decide who want different things."""
    tensor = torch.full((3,), float(processes.rank))
    processes.take_from_first([tensor])
    wishes = processes.agree(processes.rank == 1, False)
    return wishes, processes.ask_first(processes.rank), tensor.tolist(), processes.gather(tensor + 1).tolist()


def test_decisions_are_everyones() -> None:
    """A wish of one is granted to all; the first is asked; all gather the same."""
    assert run_in_processes(decide, 3) == [((True, False), 0, [0.0] * 3, [[1.0] * 3] * 3)] * 3


def leave(processes: Processes) -> str:
    """Go without a word, or hear that someone did."""
    if processes.rank == 1:
        return "gone"
    with pytest.raises(UserError) as told:
        while True:
            processes.agree(False)
    return str(told.value)


def test_a_process_that_is_gone_is_told() -> None:
    """With what to do."""
    said = run_in_processes(leave, 2)[0]
    assert "another of the 2 processes is gone (this is process 0); run the same command" in said


def fail(processes: Processes, error: Exception) -> None:
    """Fail as the last, or miss the one that did."""
    if processes.rank == 2:
        raise error
    while True:
        processes.agree(False)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (UserError("photos/\udcff.jpg is damaged"), r"photos/\udcff.jpg is damaged"),
        (KeyError("mean"), "process 2 of 3 failed (KeyError); its own output says where"),
    ],
)
def test_the_words_of_the_first_to_fail_are_everyones(error: Exception, said: str) -> None:
    """Those who merely miss it say why it failed, whatever their number; none says that another is gone."""
    with pytest.raises(AssertionError) as told:
        run_in_processes(fail, 3, error)
    assert str(told.value).count(f"processes.Lost: {said}") == 2
    assert "another of" not in str(told.value)


def meet(store: Store, count: int) -> list[str]:
    """All processes of one attempt, as threads; what each then reads that the first wrote."""
    with ThreadPoolExecutor(count) as threads:
        corners = list(
            threads.map(lambda rank: find_corner(store, rank=rank, count=count, timeout=LATER), range(count))
        )
    assert not corners[0].check(["address"])
    corners[0].set("address", "here")
    return [corner.get("address").decode() for corner in corners]


def test_a_new_attempt_has_a_corner_of_its_own() -> None:
    """Nothing of the attempts before is there: not of one that met, nor of one whose process died after it asked."""
    store = HashStore()
    assert meet(store, 3) == ["here"] * 3
    with pytest.raises(DistStoreError):
        find_corner(store, rank=2, count=3, timeout=SOON)
    assert meet(store, 3) == ["here"] * 3


def test_who_does_not_come_is_not_waited_for_forever() -> None:
    """By the first, or by another."""
    with pytest.raises(RuntimeError, match=r"timed out waiting for processes \[1, 2\]"):
        find_corner(HashStore(), rank=0, count=3, timeout=SOON)
    with pytest.raises(DistStoreError, match="timeout"):
        find_corner(HashStore(), rank=1, count=3, timeout=SOON)
