"""What the gallery of several labels says."""

from reslab.tasks.gallery import Gallery


class LabelGallery(Gallery):
    """Images by label: those that have it and were told not to, and the reverse."""

    note = (
        "Test images by label. The mistakes are the ones that the network was most sure of: "
        "the label was missed, or predicted where it is wrong; below each is the prediction, with the probability."
    )


GALLERY = LabelGallery
