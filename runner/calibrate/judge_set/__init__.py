"""Labelled sets for judges: scenes rendered in the twin, or pictures from a folder with a list of labels."""
