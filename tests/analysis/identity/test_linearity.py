"""Linear parts of blocks beside numpy's least squares."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tests.analysis.subjects import make_subject

from reslab.analysis.anatomy import take_apart
from reslab.analysis.identity.linearity import explain_linearly
from reslab.analysis.identity.measure import compare_blocks


def test_linear_changes_are_explained_whole_and_others_in_part() -> None:
    """By the same share as numpy's least squares over all positions."""
    subject = make_subject("cifar-resnet-8")
    block = take_apart(subject.network).parts[0]
    images, _ = next(iter(subject.batches(20)))
    with torch.no_grad():
        sums = compare_blocks(take_apart(subject.network), images, linear=True)
        x = take_apart(subject.network).before(images)
        change = block.module(x) - x
    rows = x.double().transpose(0, 1).flatten(1).numpy()
    targets = change.double().transpose(0, 1).flatten(1).numpy()
    design = np.concatenate([np.ones((1, rows.shape[1])), rows]).T
    left = np.linalg.lstsq(design, targets.T)[1].sum()
    shares = explain_linearly(sums["conv2_1.products"].numpy())
    for name, values in (("linear_share", targets), ("output_linear_share", targets + rows)):
        total = ((values - values.mean(1, keepdims=True)) ** 2).sum()
        assert shares[name] == pytest.approx(1 - left / total, rel=1e-6)
    mixed = np.random.default_rng(0).normal(size=(16, 16)) @ rows
    both = np.concatenate([np.ones((1, rows.shape[1])), rows, mixed + 3])
    assert list(explain_linearly(both @ both.T).values()) == pytest.approx([1, 1])
    still = np.concatenate([np.ones((1, rows.shape[1])), rows, 0 * mixed])
    assert explain_linearly(still @ still.T) == {"linear_share": None, "output_linear_share": pytest.approx(1)}
