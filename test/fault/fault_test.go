package fault_test

import "testing"

func TestNothingIsLostOrDoubled(t *testing.T) {
	sessions := talks()
	want := undisturbed(t, sessions)
	sys := system(t)
	for _, c := range append(serverOutages(sys), serviceOutages(sys)...) {
		t.Run(c.tenant, func(t *testing.T) { c.run(t, sys, sessions, want) })
	}
}
