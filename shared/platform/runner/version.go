package runner

import "runtime/debug"

// version is the version that the build stamps with -ldflags; empty without a stamp.
var version string

// Version is the version of the running binary: the build's stamp, else the module version or the source revision
// that the Go toolchain recorded, else "devel".
func Version() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "devel"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" {
			return setting.Value
		}
	}
	return "devel"
}
