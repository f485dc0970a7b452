// Package config loads a service's settings from environment variables into a struct, once. It also describes them
// for help texts and the reference documentation.
//
// Settings are exported fields with these tags:
//
//	env:"MNEME_REDIS_ADDR"      the variable; ",required" and ",notEmpty" as in caarlos0/env
//	envDefault:"127.0.0.1:6379" the value where the variable is unset or empty
//	envSeparator:";"            between the items of a list; a comma where it is missing
//	oneof:"json|text"           the only values allowed
//	desc:"..."                  the meaning and the unit; every setting has one
//
// A struct field without an env tag has further settings. Its envPrefix tag is put before their names. A struct at
// any depth may have a method Validate() error. Load calls it after it has read the variables of the struct, so
// Load reports every problem at once. The Problems of Validate may name variables without the prefix.
package config
