"""Trained networks with a few digits, as instruments are pointed at them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from tests.trials import DIGITS

from reslab.networks import Network, create_model
from reslab.runtime.execution import EAGER
from reslab.spec import Preprocess
from reslab.tasks.subject import Subject


def make_subject(name: str, **fields: Any) -> Subject:
    """A network of random weights that has seen the digits, and these."""
    network = create_model(name, num_classes=10, in_chans=1, input_size=8, **fields)
    subject = subject_of(network)
    with torch.no_grad():
        network.train()(next(iter(subject.batches(64, on="train")))[0])
    network.eval()
    return subject


def subject_of(network: Network) -> Subject:
    """A network, and the digits."""
    return Subject(
        origin="untrained",
        network=network.eval(),
        own=False,
        data="digits",
        split="full",
        images=DIGITS.test,
        trained_on=DIGITS.train,
        class_names=DIGITS.class_names,
        brightest=DIGITS.brightest,
        preprocess=Preprocess(mean=(0.3,)),
        side=8,
        execution=EAGER,
        device="cpu",
        bad=None,
    )


def with_weights(subject: Subject, network: Network) -> Subject:
    """The same images for another network."""
    return replace(subject, network=network.eval())
