"""Figures for people: drawings of arms and curves, as PNG or as a recording for a 3-D viewer. Nothing reads them back.

Drawn with OpenCV, whose own letters come with it: the same picture on every machine, and nothing more to install.
"""
