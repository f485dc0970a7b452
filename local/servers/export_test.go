package servers

// WritePid records a process as a child of an earlier run.
func WritePid(file string, pid int) error { return writePid(file, pid) }
