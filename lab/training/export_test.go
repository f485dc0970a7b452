package training

// Functions that tests use.
var (
	FilterData     = filterData
	CommitmentData = commitmentData
	ConstraintData = constraintData
	Within         = within
)
