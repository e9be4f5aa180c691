"""What both ways of damped least squares, compiled and NumPy, agree on."""

from __future__ import annotations

FIRST_DAMPING = 0.3  # times the squared error
DAMPING_DOWN, DAMPING_UP = 0.3, 8.0
LEAST_DAMPING = 1e-9
LARGEST_STEP_RAD = 1.0
STALL_STEPS = 4
STALL_GAIN = 1e-4  # of the cost, in one step

CONVERGED, STALLED, MAX_STEPS, REFUSED = 0, 1, 2, -1
START_SLACK_DEG = 1e-6

# An arm's constants in one flat array: these four, then four rows of limits (least and most, degrees; the same,
# radians), the frames (n + 1, 3, 4), and a row for each restart. One array crosses into machine code quicker than ten
# values.
NEAR_M, NEAR_RAD, FIRST_NEAR_M, STEPS_A_TRY, HEAD = 0, 1, 2, 3, 4
