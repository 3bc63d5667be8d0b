"""The published datasets, as data."""

from __future__ import annotations

import pytest
from torchvision.datasets import SVHN, FashionMNIST

from reslab.data.arrays.sources import PUBLISHED


@pytest.mark.parametrize(("name", "classes"), [("cifar10", 10), ("cifar100", 100), ("svhn", 10), ("fashion-mnist", 10)])
def test_classes_have_names(name: str, classes: int) -> None:
    """Each its own; CIFAR-100's are in the alphabetical order of its fine labels."""
    names = PUBLISHED[name].class_names
    assert len(set(names)) == len(names) == classes
    if name == "cifar100":
        assert names == tuple(sorted(names))


def test_files_are_those_torchvision_knows() -> None:
    """Addresses and MD5 of SVHN and Fashion-MNIST."""
    known = {url: md5 for url, _, md5 in SVHN.split_list.values()}
    known |= {FashionMNIST.mirrors[0] + name: md5 for name, md5 in FashionMNIST.resources}
    for name in ("svhn", "fashion-mnist"):
        assert all(known[file.url] == file.md5 for file in PUBLISHED[name].files)
    assert PUBLISHED["fashion-mnist"].class_names == tuple(FashionMNIST.classes)
