"""An earlier network of a run, by a snapshot."""

from reslab.errors import UserError
from reslab.networks import Network, read_weights
from reslab.networks.build import build_seeded
from reslab.networks.weights.reading import load_tensors
from reslab.tasks.subject import Subject


def load_snapshot(subject: Subject, step: int) -> Network:
    """Return the subject's network with the weights after an iteration, where these were kept."""
    path = subject.snapshots.get(step)
    if path is None:
        kept = ", ".join(map(str, sorted(subject.snapshots))) or "none"
        raise UserError(
            f"{subject.origin} has no snapshot of iteration {step}; it has {kept}; train with --snapshots {step},…"
        )
    network = build_seeded(subject.network.spec, task=subject.network.task, seed=0)
    load_tensors(network, read_weights(path).tensors, origin=str(path))
    subject.execution.prepare_network(network.to(subject.device))
    return network.eval()
