"""The scores of networks that tell classes apart: errors, their spread over classes, calibration."""

from reslab.scores import Score

ERROR = Score(name="error_percent", words="error", logged=("train", "test"), shown="lists")
FIVE = 5
TOP5_ERROR = Score(name="top5_error_percent", words="top-5 error", logged=("test",))
# The mean of the class errors, there where classes have different numbers of images.
BALANCED_ERROR = Score(
    name="balanced_error_percent", words="balanced error", meaning="with all classes counting the same"
)
CONFIDENCE = Score(name="mean_confidence_percent", words="mean confidence", better="higher", shown="evaluation")
CALIBRATION_ERROR = Score(name="ece_percent", words="ECE", shown="evaluation")
LOSS = Score(name="loss", words="NLL", unit="", decimals=4, logged=("train", "test"), shown="evaluation")
SCORES = (ERROR, TOP5_ERROR, BALANCED_ERROR, CONFIDENCE, CALIBRATION_ERROR, LOSS)


def list_void(num_classes: int) -> tuple[Score, ...]:
    """Return the scores that say nothing of so many classes: five guesses cannot all be wrong of five."""
    return (TOP5_ERROR,) if 0 < num_classes <= FIVE else ()


CLASS_ERRORS = "class_error_percent"
CONFUSION = "confusion"  # images by truth and guess
BY_CLASS = (CLASS_ERRORS,)  # a number for each class
LARGE = (CONFUSION, *BY_CLASS)  # with a thousand classes, a million numbers
