"""The stages of a trial, one function each; their order is `runner/trial/sequence.py`'s."""
