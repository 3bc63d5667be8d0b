"""Networks by name, with or without weights: the functions users call first."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from reslab.errors import UserError
from reslab.networks.build import build
from reslab.networks.detection.detector import Detector
from reslab.networks.freezing import head_parameters
from reslab.networks.network import Network
from reslab.networks.weights.adapters import to_foreign
from reslab.networks.weights.detectors import fit_proposals, start_from_classifier
from reslab.networks.weights.file import Weights, write_weights
from reslab.networks.weights.reading import load_tensors, read_weights
from reslab.spec import Spec, find, name_of
from reslab.spec.catalogue import asserted_fields, contradictions
from reslab.spec.codec import override

# What a name and a file must agree on even if nothing was overridden.
STRUCTURE = (
    "kind",
    "architecture",
    "stages.",
    "block",
    "dimensions",
    "stem.kernel",
    "stem.width",
    "stem.stride",
    "neck",
)


def create_model(
    name: str,
    weights: str | Path | None = None,
    *,
    num_classes: int | None = None,
    in_chans: int | None = None,
    **overrides: Any,
) -> Network:
    """Create the network `name` in train mode. `overrides` are fields of its spec, such as shortcut="C".

    `weights` is a weight file in any format that `read_weights` knows, "cifar10" for weights that come with the
    package, or "imagenet" for those that `reslab weights fetch` brought. The network is then built as
    those weights were trained; an override that contradicts them is refused. Another `num_classes` gets a new
    classifier.
    """
    asked = {**overrides, "num_classes": num_classes, "in_chans": in_chans}
    if weights is None:
        return build(find(name, _spec_fields(asked)))
    return restore_model(weights, name=name, overrides=asked)[0]


def load_model(path: str | Path, **overrides: Any) -> Network:
    """Rebuild a network from a weight file. The file is all it needs."""
    return restore_model(path, overrides=overrides)[0]


def restore_model(
    weights: str | Path, *, name: str | None = None, overrides: Mapping[str, Any]
) -> tuple[Network, Weights]:
    """Return the network of `create_model`, or without a name of `load_model`, and the weights it has, read once."""
    fields = overrides if name is None else _spec_fields(overrides)
    read = read_weights(weights, like=None if name is None else find(name, fields))
    return create_trained(name, read, fields, origin=str(weights)), read


def create_trained(
    name: str | None, weights: Weights, overrides: Mapping[str, Any], *, origin: str, where: str = ""
) -> Network:
    """Create the network `name`, or without a name that of the weights, which were read; `where` stands before fields.

    As `create_model` does it.
    """
    if name is None:
        asked, asserted = override(weights.spec, overrides, where=where), ()
    else:
        asked, asserted = find(name, overrides, where=where), asserted_fields(name)
    explicit = {*overrides, *asserted}
    _refuse_contradictions(asked, explicit, weights.spec, origin=origin, where=where)
    return _build_with(weights, {key: value for key, value in overrides.items() if key != "block"}, origin=origin)


def save_model(
    network: Network,
    target: str | Path,
    *,
    metrics: Mapping[str, float] | None = None,
    provenance: Mapping[str, Any] | None = None,
) -> Path:
    """Write `network` to the file `target`, or into the folder `target` under a name with a hash. Return the path."""
    network = _unwrap(network)
    if any(tensor.is_meta for tensor in network.state_dict().values()):
        raise UserError("a network on the meta device has no weights to save; build it on another device")
    weights = Weights(
        spec=network.spec,
        tensors=network.state_dict(),
        preprocess=network.preprocess,
        mean_image=network.mean_image,
        class_names=network.class_names,
        class_words=network.class_words,
        task=network.task,
        thresholds=network.thresholds,
        metrics=dict(metrics or {}),
        provenance=dict(provenance or {}),
    )
    return write_weights(weights, Path(target))


def foreign_state_dict(network: Network, target: str) -> dict[str, Any]:
    """Return the weights under the names of another library: torchvision, timm, akamaster or caffe.

    The state dict has no preprocessing: it does not contain `network.preprocess` or `network.mean_image`.
    """
    network = _unwrap(network)
    return to_foreign(target, network.spec, network.state_dict())


def adopt_weights(network: Network, weights: Weights, *, origin: str) -> None:
    """Load weights into a network of the same kind; if the classes differ, the network keeps its own classifier.

    A detector may start from a network of any other task, whose classifier it has no use for.
    """
    if isinstance(network, Detector) and weights.task.needs != network.task.needs:
        if network.separate is not None:
            raise UserError(
                f"task.trunks=separate needs a detector to propose regions, and {origin} is a classifier; "
                "start from the weights of a detector"
            )
        start_from_classifier(network, weights, origin=origin)
        return
    tensors = fit_proposals(network, weights.tensors) if isinstance(network, Detector) else dict(weights.tensors)
    if network.spec.classes != weights.spec.classes:
        drawn = network.state_dict()
        tensors |= {name: drawn[name] for name in head_parameters(network.spec, network.task)}
    load_tensors(network, tensors, origin=origin)


def _spec_fields(overrides: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that `create_model` was given as fields of a spec; two have other libraries' names."""
    words = {"num_classes": "classes", "in_chans": "channels"}
    fields = {field: value for field, value in overrides.items() if field not in words}
    for word, field in words.items():
        if (value := overrides.get(word)) is not None:
            if field in fields:
                raise UserError(f"{word} and {field} are the same; give one of them")
            fields[field] = value
    if "pretrained" in fields:
        raise UserError(
            "there is no 'pretrained'; pass weights=FILE, or a set of weights: weights='cifar10' or weights='imagenet'"
        )
    return fields


def _build_with(weights: Weights, overrides: Mapping[str, Any], *, origin: str) -> Network:
    network = build(override(weights.spec, overrides), task=weights.task)
    adopt_weights(network, weights, origin=origin)
    if network.spec.classes == weights.spec.classes:
        network.class_names, network.task = weights.class_names, weights.task
        network.class_words, network.thresholds = weights.class_words, weights.thresholds
    network.preprocess, network.mean_image = weights.preprocess, weights.mean_image
    network.origin = origin
    return network


def _unwrap(network: Any) -> Network:
    """Return the network inside torch.compile's or DataParallel's wrapper, if it still is what its spec says."""
    while not isinstance(network, Network):
        inner = getattr(network, "_orig_mod", None) or getattr(network, "module", None)
        if inner is None:
            raise UserError(
                f"a {type(network).__name__} has no spec to save; give a network made by create_model or build"
            )
        network = inner
    built = {
        name: tensor.shape
        for name, tensor in build(network.spec, task=network.task, device="meta").state_dict().items()
    }
    held = network.state_dict()
    changed = [name for name in {**built, **held} if name not in held or built.get(name) != held[name].shape]
    if changed:
        raise UserError(
            f"{changed[0]} does not match the network's spec; build it with the fields you need, such as classes=..."
        )
    return network


def _refuse_contradictions(asked: Spec, explicit: set[str], trained: Spec, *, origin: str, where: str = "") -> None:
    """Refuse fields that differ from the trained network's, if they were given or change its structure."""
    for field, (wanted, found) in contradictions(asked, trained).items():
        said = any(field == name or field.startswith(f"{name}.") for name in explicit)
        if field.startswith(STRUCTURE) or (field == "shortcut" and {wanted, found} & {"none", "gated"}):
            raise UserError(
                f"{origin} holds {name_of(trained)}, not {name_of(asked)}; ask for that network, or give another file"
            )
        if said and field != "classes":
            raise UserError(
                f"{where}{field}={wanted} contradicts {origin}, which was trained with {field}={found}; "
                f"leave out {where}{field}"
            )
