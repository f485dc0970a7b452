// Package config loads a service's settings from environment variables into a struct, once,
// and describes them for help texts and the reference documentation.
//
// Settings are exported fields with these tags:
//
//	env:"MNEME_REDIS_ADDR"      the variable; ",required" and ",notEmpty" as in caarlos0/env
//	envDefault:"127.0.0.1:6379" the value where the variable is unset or empty
//	envSeparator:";"            between the items of a list; a comma where it is missing
//	oneof:"json|text"           the only values allowed
//	desc:"..."                  what it means and its unit; every setting has one
//
// A field without an env tag that is a struct holds further settings; its envPrefix tag is put
// before their names. A struct at any depth may have a method Validate() error; it is called once
// the struct's own variables could be read, so that Load reports every problem in one go; the
// Problems it returns may name variables without the prefix.
package config
