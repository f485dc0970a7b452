package formation

// Division says which steps of a former may be given a session in parts.
type Division struct {
	// Extract says that what a turn says depends on the turns shortly before it at most, and on who else speaks in the session: parts
	// of a session, each with such context, say together what the session says.
	Extract bool
	// Decide says that candidates which have nothing to do with each other can be decided apart, in any order. The former neither
	// looks anything up nor keeps a core block.
	Decide bool
}

// Divisible is a former whose work on a long session can be shared out; package parallel does so. One that is not divisible gets
// every session as a whole.
type Divisible interface {
	Former
	// Division says what can be divided.
	Division() Division
}
