"""How a published quantity is read off the record of a run.

Iterations are the paper's, of 64,000 on CIFAR-10; in the log of a shorter run they stand at the same fraction of it,
as the drops of the rate do.
"""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, TypeGuard

ITERATIONS = 64_000
LOG_EVERY = 1_000
ENSEMBLE = "ensemble"
LATENCY = "latency"  # of a test of one image, as it is kept beside what instruments found
CPU = "cpu"  # the device of a run without a GPU
OBJECTS = "class_objects"  # of a detector's test, for each class
OtherProtocol: TypeAlias = Literal["10-crop", "multi-scale", "refined", "refined-several-scales"]


class Unreadable(Exception):
    """A record does not hold the quantity; the message says why."""


@dataclass(frozen=True, kw_only=True)
class Record:
    """What a finished run left behind, as plain data.

    `analyses` has by name what instruments found in it, and its scores by other protocols than its own. `timings` are
    what its training took, on `devices`, each with the processor beside it; it was `alone` if no other run shared them,
    nor another process its batches.
    """

    data: str
    iterations: int
    evaluate_every: int
    result: Mapping[str, Any]
    log: Sequence[Mapping[str, float]]
    analyses: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    timings: Mapping[str, float | None] = field(default_factory=dict)
    devices: Mapping[str, str] = field(default_factory=dict)
    alone: bool = True


@dataclass(frozen=True)
class AtTheEnd:
    """A number of the result, or one class's, taken with the weights that were saved."""

    metric: str
    of_class: str = ""

    def read(self, record: Record) -> float:
        """Return the number."""
        value = _pick(record.result.get(self.metric), self.of_class, record)
        if not _is_number(value):
            raise Unreadable(f"its result has no {_name(self.metric, self.of_class)}")
        return value


@dataclass(frozen=True, kw_only=True)
class Logged:
    """The mean of a metric over the entries logged after iteration `after` and up to iteration `upto`, of `iterations`.

    A training error is logged as the mean since the entry before, so a log coarser than the recipe's own would mix
    iterations that lie far apart; such a log is not read.
    """

    metric: str
    after: int
    upto: int
    iterations: int = ITERATIONS
    log_every: int = LOG_EVERY

    @property
    def least_iterations(self) -> int:
        """The shortest run whose log can be as fine as the recipe's own."""
        return -(-self.iterations // self.log_every)

    def coarsest(self, iterations: int) -> int:
        """Return how far apart the entries of the log of so many iterations may be; 0 where they are too few."""
        return iterations * self.log_every // self.iterations

    def read(self, record: Record) -> float:
        """Return the mean."""
        coarsest = self.coarsest(record.iterations)
        if record.evaluate_every > coarsest:
            raise Unreadable(
                f"it evaluates every {record.evaluate_every:,} of {record.iterations:,} iterations; "
                + (f"recipe.evaluate_every={coarsest} is enough" if coarsest else "these are too few for a curve")
            )
        scale = record.iterations / self.iterations
        values = {
            entry["step"]: value
            for entry in record.log
            if self.after * scale < entry["step"] <= self.upto * scale and _is_number(value := entry.get(self.metric))
        }
        for step in range(record.evaluate_every, record.iterations + 1, record.evaluate_every):
            if self.after * scale < step <= self.upto * scale and step not in values:
                raise Unreadable(f"its log has no {self.metric} at iteration {step:,}")
        if not values:
            raise Unreadable("its log has no entries in that range")
        return statistics.fmean(values.values())


@dataclass(frozen=True)
class ResponseStd:
    """The standard deviation of a layer's responses to the test images, by rank from the largest; None: the median."""

    rank: int | None = None

    def read(self, record: Record) -> float:
        """Return the standard deviation."""
        if "responses" not in record.analyses:
            raise Unreadable("its responses were not measured")
        try:
            return self._find(record, record.analyses["responses"])
        except (LookupError, TypeError, ValueError) as error:
            raise Unreadable(f"its responses cannot be read ({error})") from error

    def _find(self, record: Record, responses: Mapping[str, Any]) -> float:
        _check_images(record, responses, what="its responses were measured on")
        ranked = sorted((layer["std"] for layer in responses["layers"]), reverse=True)
        if not all(map(_is_number, ranked)):
            raise Unreadable("its responses are not finite")
        if self.rank is None:
            return statistics.median(ranked)
        if self.rank > len(ranked):
            raise Unreadable(f"it has only {len(ranked)} layers")
        return ranked[self.rank - 1]


@dataclass(frozen=True)
class ByProtocol:
    """A number of a test by another protocol than the run's own, or one class's, with the weights that were saved."""

    protocol: OtherProtocol
    metric: str
    of_class: str = ""

    def read(self, record: Record) -> float:
        """Return the number."""
        found = record.analyses.get(self.protocol)
        if found is None:
            raise Unreadable(f"it was not tested with {self.protocol}; run `reslab reproduce` without --from")
        return _read_test(record, found, self.metric, of_class=self.of_class, name=self.protocol)


@dataclass(frozen=True)
class ByEnsemble:
    """A number of several runs' probabilities averaged, which is kept with the run of the first member."""

    protocol: OtherProtocol
    metric: str
    members: tuple[str, ...]

    def seeds(self, first: int) -> list[int]:
        """Return the seed of each member: `first`, and where a network comes again the next."""
        return [first + self.members[:place].count(network) for place, network in enumerate(self.members)]

    def read(self, record: Record) -> float:
        """Return the number."""
        found = record.analyses.get(ENSEMBLE)
        if found is None:
            raise Unreadable("no ensemble with it was tested; run `reslab reproduce` without --from")
        if found.get("networks") != list(self.members) or found.get("protocol") != self.protocol:
            raise Unreadable("it was tested in another ensemble")
        return _read_test(record, found, self.metric, name=ENSEMBLE)


@dataclass(frozen=True)
class Timed:
    """What a training took by its log of timings: the most memory in GiB, or, by its median speed, ms for an image.

    On a CPU the log has the memory of the whole process, other work and libraries included, which says little of a run.
    """

    metric: Literal["peak_memory_bytes", "images_per_second"]

    def read(self, record: Record) -> float:
        """Return the number."""
        of_memory = self.metric == "peak_memory_bytes"
        if of_memory and CPU in record.devices:
            raise Unreadable("the memory of a training is only known on a GPU, and it was trained on a CPU")
        if not record.alone:
            raise Unreadable("it was not alone on its device, so that its time and memory are not those of one run")
        value = record.timings.get(self.metric)
        if not _is_number(value) or value <= 0:
            raise Unreadable(f"its log of timings has no {self.metric}")
        return value / 2**30 if of_memory else 1000 / value

    def list_devices(self, record: Record) -> tuple[str, ...]:
        """Return what it was trained on."""
        return tuple(processor if device == CPU else device for device, processor in record.devices.items())


@dataclass(frozen=True)
class Latency:
    """The milliseconds that a test takes for one image, as a median, where the run was measured."""

    def read(self, record: Record) -> float:
        """Return the milliseconds."""
        found = record.analyses.get(LATENCY)
        if found is None:
            raise Unreadable("its latency was not measured; run `reslab reproduce` without --from")
        if not _is_number(value := found.get("milliseconds")):
            raise Unreadable("its latency cannot be read")
        if found.get("data") != record.data:
            raise Unreadable(f"its latency was measured on images of {found.get('data')}")
        return value

    def list_devices(self, record: Record) -> tuple[str, ...]:
        """Return what it was measured on."""
        return (str(record.analyses[LATENCY].get("device", "unknown")),)


def _read_test(record: Record, found: Mapping[str, Any], metric: str, *, of_class: str = "", name: str) -> float:
    """Return a number of a test of all the images a run is tested on."""
    try:
        _check_images(record, found, what=f"its {name} test used")
        if not _is_number(value := _pick(found[metric], of_class, record)):
            raise Unreadable(f"its {name} test has no {_name(metric, of_class)}")
        return float(value)
    except (LookupError, TypeError, ValueError) as error:
        raise Unreadable(f"its {name} test cannot be read ({error})") from error


def _pick(value: Any, of_class: str, record: Record) -> Any:
    """Return a value, or that of one class: tests have them by class, results in the order of the classes."""
    if of_class and isinstance(value, list):
        value = dict(zip(record.result.get("class_names", ()), value, strict=False))
    return value.get(of_class) if of_class and isinstance(value, Mapping) else value


def _name(metric: str, of_class: str) -> str:
    return f"{metric} of {of_class}" if of_class else metric


def _check_images(record: Record, found: Mapping[str, Any], *, what: str) -> None:
    """Refuse what was not found on all the images that the run is tested on; with objects, by how many these are."""
    if found["data"] == record.data and (objects := record.result.get(OBJECTS)) is not None:
        if (here := sum(found[OBJECTS].values())) != sum(objects):
            raise Unreadable(f"{what} images with {here:,} objects, not the {sum(objects):,} that the run is tested on")
        return
    images = sum(map(sum, record.result.get("confusion", ())))
    if found["data"] != record.data or found["images"] != images:
        tested = f", not the {images:,} test images of the run" if images else ""
        raise Unreadable(f"{what} {found['images']:,} images of {found['data']}{tested}")


def _is_number(value: Any) -> TypeGuard[float]:
    """Whether a record has a number there: what was not finite is null, and in early ones NaN."""
    return isinstance(value, (int, float)) and math.isfinite(value)


Measurement: TypeAlias = AtTheEnd | Logged | ResponseStd | ByProtocol | ByEnsemble | Timed | Latency
