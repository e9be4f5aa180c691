"""The calibration wizard."""
