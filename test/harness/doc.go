// Package harness runs the whole of Mneme for tests. It runs real back-ends on loopback in one directory, with the
// four services in front of them. The services run in this process, or in separate processes that can be killed.
// Tests use the public interfaces: session events, RPCs and dead letters.
//
// The tests of a package may share a System, each with separate users or tenants. TestMain then opens it with Open. A
// test that breaks a server starts a separate system with Start.
package harness
