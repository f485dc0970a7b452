// Package reinforcement trains the decisions of the embedded policy by what they lead to in made-up lives, and holds what papers claim of
// such training against it. A session of a life is drawn several times, what each draw comes to is rewarded, and better draws are made
// likelier; rewards and learning are in lab/reward and lab/learning. It knows the truth of the lives and so is no part of a service.
package reinforcement
