"""Many runs at once: an index over run folders that answers in milliseconds and can be thrown away at any time.

The folders are the truth. The index is only ever made from them, and one that is stale, damaged or of another version
is made again.
"""
