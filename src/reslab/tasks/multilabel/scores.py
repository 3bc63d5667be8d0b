"""The scores of networks that tell any number of labels: average precision, images with a label wrong."""

from reslab.scores import Score

ERROR = Score(
    name="error_percent",
    words="error",
    logged=("train", "test"),
    shown="lists",
    meaning="any label of an image wrong",
)
MEAN_PRECISION = Score(name="map_percent", words="mAP", better="higher", logged=("test",), shown="lists")
LOSS = Score(name="loss", words="cross-entropy", unit="", decimals=4, logged=("train", "test"), shown="evaluation")
SCORES = (MEAN_PRECISION, ERROR, LOSS)

PRECISIONS = "class_average_precision_percent"  # None for a label that no image has
POSITIVES = "class_positives"  # the images that have each label
BY_CLASS = (PRECISIONS, POSITIVES)  # a number for each class
LARGE = BY_CLASS
