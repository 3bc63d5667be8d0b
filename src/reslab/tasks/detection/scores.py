"""The scores of detectors: mean average precision as VOC and as COCO take it, of objects of each size, and recall.

Tests have no loss: what a detector learns from are regions that it proposes while it is trained.
"""

from functools import partial

from reslab.scores import Score

_found = partial(Score, better="higher")

# By VOC's rule of 2010, the area below the curve.
MAP50 = _found(name="map50_percent", words="mAP@.5", logged=("test",), shown="lists", interval="map50_interval_percent")
# COCO's: the mean over ten overlaps.
MAP = _found(
    name="map50_95_percent",
    words="mAP@[.5,.95]",
    logged=("test",),
    shown="lists",
    interval="map50_95_interval_percent",
)
MAP75 = _found(name="map75_percent", words="mAP@.75")
ELEVEN = _found(name="map50_11_point_percent", words="mAP@.5 by 11 points")  # VOC's rule to 2009
COCO_MAP50 = _found(name="coco_map50_percent", words="COCO's mAP@.5")  # by 101 points
# Of objects below 32² pixels, up to 96², and above.
SMALL = _found(name="map_small_percent", words="mAP (small)")
MEDIUM = _found(name="map_medium_percent", words="mAP (medium)")
BIG = _found(name="map_large_percent", words="mAP (large)")
RECALLS = tuple(
    _found(name=f"recall_{name}_percent", words=f"recall ({words})", shown="evaluation")
    for name, words in (
        ("1", "1 detection"),
        ("10", "10 detections"),
        ("100", "100 detections"),
        ("small", "small"),
        ("medium", "medium"),
        ("large", "large"),
    )
)
SCORES = (MAP50, MAP, MAP75, ELEVEN, COCO_MAP50, SMALL, MEDIUM, BIG, *RECALLS)

# COCO's own names for its twelve numbers.
COCO: dict[str, Score] = dict(
    zip(
        ("AP", "AP50", "AP75", "APs", "APm", "APl", "AR1", "AR10", "AR100", "ARs", "ARm", "ARl"),
        (MAP, COCO_MAP50, MAP75, SMALL, MEDIUM, BIG, *RECALLS),
        strict=True,
    )
)
SIZES = (("small", SMALL, RECALLS[3]), ("medium", MEDIUM, RECALLS[4]), ("large", BIG, RECALLS[5]))

INTERVALS = {score: score.interval for score in SCORES if score.interval}  # over test images
PRECISIONS_50 = "class_ap50_percent"  # None for a class without objects
PRECISIONS_11 = "class_ap50_11_point_percent"
PRECISIONS = "class_ap_percent"
OBJECTS = "class_objects"  # that are neither difficult nor crowds
CURVES = "precision_recall"  # of each class, at COCO's 101 recalls, by an overlap of a half
BY_CLASS = (PRECISIONS_50, PRECISIONS_11, PRECISIONS, OBJECTS)  # a number for each class
LARGE = (CURVES,)
# What a training is counted by, and what the detector calls it.
LOSSES = {f"{name}_loss": name for name in ("rpn_class", "rpn_box", "roi_class", "roi_box")}
