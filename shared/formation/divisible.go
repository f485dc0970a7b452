package formation

// Division says which steps of a former may be given a session in parts.
type Division struct {
	// Extract means that a turn's statements depend at most on the turns shortly before it and on the other speakers
	// of the session. Parts of a session, each with such context, then give all statements of the session.
	Extract bool
	// Decide says that candidates which have nothing to do with each other can be decided apart, in any order. The former
	// neither looks anything up nor keeps a core block.
	Decide bool
}

// Divisible is a former whose work on a long session can be divided; package parallel does so. Other formers get every
// session as a whole.
type Divisible interface {
	Former
	// Division says what can be divided.
	Division() Division
}
