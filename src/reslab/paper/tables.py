"""The classification tables of the paper as printed (arXiv 1512.03385), errors in percent.

Methods we do not build stand here as numbers only; `network` names the one that we do build.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Published:
    """One row: a method and what its authors, or the paper, measured for it.

    Where runs were repeated, `error_percent` is the best of them, beside their mean and standard deviation.
    """

    method: str
    network: str | None = None
    multiply_adds: float | None = None
    params: float | None = None
    top1_error_percent: float | None = None
    top5_error_percent: float | None = None
    error_percent: float | None = None
    mean_error_percent: float | None = None
    std_error_percent: float | None = None
    runs: int | None = None
    note: str = ""


# Table 1 prints multiply-adds to two digits (as "FLOPs"); section 3.3 gives the two for VGG.
TABLE_1 = (
    Published("ResNet-18", "resnet-18", multiply_adds=1.8e9),
    Published("ResNet-34", "resnet-34", multiply_adds=3.6e9),
    Published("ResNet-50", "resnet-50", multiply_adds=3.8e9),
    Published("ResNet-101", "resnet-101", multiply_adds=7.6e9),
    Published("ResNet-152", "resnet-152", multiply_adds=11.3e9),
    Published("VGG-16", "vgg-16", multiply_adds=15.3e9, note="without its fully-connected layers"),
    Published("VGG-19", "vgg-19", multiply_adds=19.6e9),
)

# 10-crop, validation set.
TABLE_2 = (
    Published("plain-18", "plain-18", top1_error_percent=27.94),
    Published("plain-34", "plain-34", top1_error_percent=28.54),
    Published("ResNet-18", "resnet-18", top1_error_percent=27.88),
    Published("ResNet-34", "resnet-34", top1_error_percent=25.03),
)

# 10-crop, validation set.
TABLE_3 = (
    Published("VGG-16", "vgg-16", top1_error_percent=28.07, top5_error_percent=9.33),
    Published("GoogLeNet", "googlenet", top5_error_percent=9.15),
    Published("PReLU-net", top1_error_percent=24.27, top5_error_percent=7.38),
    Published("plain-34", "plain-34", top1_error_percent=28.54, top5_error_percent=10.02),
    Published("ResNet-34 A", "resnet-34", top1_error_percent=25.03, top5_error_percent=7.76),
    Published("ResNet-34 B", "resnet-34 shortcut=B", top1_error_percent=24.52, top5_error_percent=7.46),
    Published("ResNet-34 C", "resnet-34 shortcut=C", top1_error_percent=24.19, top5_error_percent=7.40),
    Published("ResNet-50", "resnet-50", top1_error_percent=22.85, top5_error_percent=6.71),
    Published("ResNet-101", "resnet-101", top1_error_percent=21.75, top5_error_percent=6.05),
    Published("ResNet-152", "resnet-152", top1_error_percent=21.43, top5_error_percent=5.71),
)

# Single models, validation set unless noted; the ResNets fully-convolutional at five scales.
TABLE_4 = (
    Published("VGG (ILSVRC'14)", top5_error_percent=8.43, note="test set"),
    Published("GoogLeNet (ILSVRC'14)", "googlenet", top5_error_percent=7.89),
    Published("VGG (v5)", top1_error_percent=24.4, top5_error_percent=7.1),
    Published("PReLU-net", top1_error_percent=21.59, top5_error_percent=5.71),
    Published("BN-inception", top1_error_percent=21.99, top5_error_percent=5.81),
    Published("ResNet-34 B", "resnet-34 shortcut=B", top1_error_percent=21.84, top5_error_percent=5.71),
    Published("ResNet-34 C", "resnet-34 shortcut=C", top1_error_percent=21.53, top5_error_percent=5.60),
    Published("ResNet-50", "resnet-50", top1_error_percent=20.74, top5_error_percent=5.25),
    Published("ResNet-101", "resnet-101", top1_error_percent=19.87, top5_error_percent=4.60),
    Published("ResNet-152", "resnet-152", top1_error_percent=19.38, top5_error_percent=4.49),
)

# Ensembles, test set.
TABLE_5 = (
    Published("VGG (ILSVRC'14)", top5_error_percent=7.32),
    Published("GoogLeNet (ILSVRC'14)", top5_error_percent=6.66),
    Published("VGG (v5)", top5_error_percent=6.8),
    Published("PReLU-net", top5_error_percent=4.94),
    Published("BN-inception", top5_error_percent=4.82),
    Published("ResNet (ILSVRC'15)", top5_error_percent=3.57, note="six models, two of them of 152 layers"),
)

# CIFAR-10 test set, all with augmentation.
TABLE_6 = (
    Published("Maxout", error_percent=9.38),
    Published("NIN", error_percent=8.81),
    Published("DSN", error_percent=8.22),
    Published("FitNet-19", params=2.5e6, error_percent=8.39),
    Published(
        "Highway-19", "highway-19", params=2.3e6, error_percent=7.54, mean_error_percent=7.72, std_error_percent=0.16
    ),
    Published("Highway-32", "highway-32", params=1.25e6, error_percent=8.80),
    Published("ResNet-20", "resnet-20", params=0.27e6, error_percent=8.75),
    Published("ResNet-32", "resnet-32", params=0.46e6, error_percent=7.51),
    Published("ResNet-44", "resnet-44", params=0.66e6, error_percent=7.17),
    Published("ResNet-56", "resnet-56", params=0.85e6, error_percent=6.97),
    Published(
        "ResNet-110",
        "resnet-110",
        params=1.7e6,
        error_percent=6.43,
        mean_error_percent=6.61,
        std_error_percent=0.16,
        runs=5,
    ),
    Published("ResNet-1202", "resnet-1202", params=19.4e6, error_percent=7.93),
)
