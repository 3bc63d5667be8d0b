"""Images with any number of labels each."""
