package rpcerror

import (
	"errors"

	"connectrpc.com/connect"
)

// Reasons let programs distinguish errors that have the same code.
const (
	ReasonSuperseded   = "memory_superseded"
	ReasonRetracted    = "memory_retracted"
	ReasonQuarantined  = "memory_quarantined"
	ReasonTurnUsed     = "turn_id_used"
	ReasonRefused      = "change_refused"
	ReasonErasureEnded = "erasure_ended"
	ReasonChanged      = "changed_meanwhile"
	ReasonForming      = "memory_forming"
	ReasonImporting    = "import_running"
	ReasonNotEmpty     = "bank_not_empty"
	ReasonOutOfStep    = "import_out_of_step"
)

// Reasons lists every reason.
func Reasons() []string {
	return []string{
		ReasonSuperseded, ReasonRetracted, ReasonQuarantined, ReasonTurnUsed, ReasonRefused, ReasonErasureEnded,
		ReasonChanged, ReasonForming,
		ReasonImporting, ReasonNotEmpty, ReasonOutOfStep,
	}
}

// reasonHeader is the header that carries the reason of an error.
const reasonHeader = "Mneme-Reason"

// Because makes an error of a code with a reason, which may be empty.
func Because(code connect.Code, reason string, err error) *connect.Error {
	out := connect.NewError(code, err)
	if reason != "" {
		out.Meta().Set(reasonHeader, reason)
	}
	return out
}

// Reason returns the reason of an error, here and at the caller. It is empty for an error without a reason.
func Reason(err error) string {
	known, ok := errors.AsType[*connect.Error](err)
	if !ok {
		return ""
	}
	return known.Meta().Get(reasonHeader)
}
