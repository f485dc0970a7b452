// Package harness runs the whole of Mneme for tests: real back-ends on loopback in one directory, and the four services
// before them, in this process or as processes of their own that can be killed. Tests talk to it through the
// public interfaces: session events, RPCs and dead letters.
//
// A System may be shared by a package's tests, each with users or tenants of its own; TestMain opens it with
// Open then. A test that breaks something starts its own with Start.
package harness
