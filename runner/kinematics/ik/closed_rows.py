"""What both ways of the closed form, compiled and NumPy, agree on: which row of an arm's constants is what, and how
exact is exact.

Vectors are in the shoulder frame, whose z is along the second and third axis and whose origin is on the second; of
three rows in a group the first is what stays, the second and third are what the cosine and sine of the fourth joint
multiply.
"""

from __future__ import annotations

# `Wrist.constants`, shape (25, 3)
A1, P1, L = 0, 1, 2  # first axis, a point on it, from the second axis to the third
G, S, N, M = 3, 6, 9, 12  # groups: from the third axis to the wrist's centre; fifth axis; sixth across it; across both
DOUBT = 15  # what two axes that pass each other may do to the lack and to the room; how far they pass, m
KAPPA_OFFSET_SIGN = 16  # cosine between axes 5 and 6; fourth axis to wrist's centre, m; -1 if axis 3 is against axis 2
F, P2 = 17, 20  # base frame to shoulder frame (three rows), its origin in the base frame
W_TOOL, A6_TOOL, X6_TOOL, Y6_TOOL = 21, 22, 23, 24  # wrist's centre, sixth axis and two across it in the tool's frame

# What a target becomes, shape (12, 3): groups for the first joint turned back
V, D, X, Y = 0, 3, 6, 9  # wrist's centre, sixth axis, the two across it

SLOTS = 16  # no arm of six joints has more branches
SAMPLES = 64  # of the fourth joint's turn, where branches lie close together
STEPS = 60
CLOSE_RAD2 = 1e-14  # two steps towards a root whose product is less leave no more than that
ROOT_RAD = 1e-13  # two looks at a root so near to each other are one
ALL_BUT = 1e-3  # so little room is wanting that the polish may find some
MARGIN = 1.0  # how many times the offset's effect the guess must keep off a singularity
NEAR_M, NEAR_RAD = 1e-8, 1e-7  # a branch is one if the arm's own model brings it there
SLACK_RAD = 1e-9
ROUGH_SLACK_RAD = 0.05  # before the polish
START_SLACK_DEG = 1e-6
REFUSED = -1  # a start that is no number or outside
SAME_RAD = 1e-6

# An arm's constants in one flat array, which crosses into machine code quicker than four: `Wrist.constants`, then
# `Wrist.frames` (7, 3, 4), then the least and the most of each joint, degrees
FRAMES_AT, MIN_AT, MAX_AT = 75, 159, 165
