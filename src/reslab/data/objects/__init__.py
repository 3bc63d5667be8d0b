"""Photographs with boxes around objects: files of annotations, and batches of whole images."""
