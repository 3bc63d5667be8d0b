"""How objects are written down, in data, networks and tasks alike: a row of seven numbers each.

Left, top, right, bottom, class, mark, area. Places are edges of pixels, so an image is 0, 0, width, height, and the
pixel that VOC calls 1 reaches from 0 to 1. Images have any number of objects: a batch has room for the most of them,
and the rows left over are of class `ABSENT`. The first row of every image is its frame: the image itself, which
whatever moves the image moves too, and in the last two columns its size as it is stored.
"""

LEFT, TOP, RIGHT, BOTTOM, CLASS, MARK, AREA = range(7)
COLUMNS = 7
WIDTH, HEIGHT = MARK, AREA  # of a frame
ABSENT, FRAME = -1, -2  # in place of a class
PLAIN, DIFFICULT, CROWD = range(3)  # only plain objects are trained on, and missed if they are not found

# A detection is a row of six: its box, its score, its class, which is `ABSENT` where fewer were found.
DETECTION_COLUMNS = 6
SCORE, FOUND = 4, 5
