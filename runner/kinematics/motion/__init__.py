"""How an arm gets from pose to pose: straight lines of the tool, set-points over time, set-points behind a moving goal.

Geometry and time only: it knows no surroundings, reads no arm and sends nothing.
"""

from runner.kinematics.motion.follow import Follower
from runner.kinematics.motion.line import StraightLine, straight_line
from runner.kinematics.motion.profile import RateLimits, set_points

__all__ = ["Follower", "RateLimits", "StraightLine", "set_points", "straight_line"]
