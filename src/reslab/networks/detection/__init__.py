"""Faster R-CNN on the networks here: regions proposed from a network's maps, then classified (paper, appendix A).

Whatever depends on how many objects there are has a fixed number of rows and says which of them count, so that a step
never waits for the device and can be captured.
"""
