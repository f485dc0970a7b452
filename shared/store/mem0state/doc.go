// Package mem0state stores in Redis the state of mem0's API that no other store has. This is the events of
// additions, the requested exports, the memories of a user's last search, and the list of users. An erasure removes
// and counts all of it.
//
// Keys of a tenant T (H is a hash of the user's id, see redisstore.Hash), after the prefix "mneme:mem0:":
//
//	{T}:event:ID         hash: the event as JSON ("event"), and whether it is done ("done"); a week
//	{T}:events           sorted set of the tenant's event ids by time in ms, the newest 10,000; a week
//	{T}:events:H         the same of a user
//	{T}:export:ID        the request of an export as JSON; a week
//	{T}:exports:H        set of the ids of exports that are about a user; a week
//	{T}:recall:H         the last recall of a user: its id and the ids of its memories, as JSON; a day
//	{T}:users            sorted set of users by the time of the last addition, in ms
//	{T}:users:first      the same by the time of the first addition
//	{T}:erased:H         the erasures of a user, for a week (see redisstore.Fence)
package mem0state
