// Package reinforcement trains the decisions of the embedded policy by their results in made-up lives. It also
// measures the largest possible gain of such a training. The trainer draws a session of a life several times,
// rewards each draw, and makes better draws likelier. Rewards and learning are in lab/reward and lab/learning. The
// package uses the truth of the lives, so it is no part of a service.
package reinforcement
