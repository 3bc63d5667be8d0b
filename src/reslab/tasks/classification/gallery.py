"""What the gallery of a classification says."""

from reslab.tasks.gallery import Gallery


class ClassGallery(Gallery):
    """Images by their true class."""

    note = (
        "Test images by their true class. The mistakes are the ones that the network was most sure of; "
        "below each is the class it was taken for, with the probability."
    )


GALLERY = ClassGallery
