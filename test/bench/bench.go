// Package bench measures the speed of Mneme. Each figure has a baseline: the time of the systems under Mneme (Kafka,
// Redis, Temporal, Weaviate) for the bare minimum of the same work. Both are measured in the same run on the same
// machine.
package bench

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/pprof"
	"slices"
	"strings"
	"time"
)

// measure makes one row.
type measure func(ctx context.Context, b *bench) (Row, error)

// bench is one run.
type bench struct {
	*system
	quick          bool
	profiles       string
	boosterMetrics string
}

type named struct {
	name string
	run  measure
}

func measures() []named {
	return []named{
		{"visible", visible}, {"formed", formed}, {"recall-100", recallOf(100)}, {"recall-10000", recallOf(10_000)},
		{"gateway", throughGateway},
		{"intake", intake}, {"sessions", sessions},
	}
}

type options struct {
	only, data, profiles string
	json, quick          bool
}

// Execute runs the command and returns its exit code. The code 0 means that all rows were measured, even if targets
// were missed. A failure gives 1 and wrong usage 2. The table goes to out, all other output to errOut.
func Execute(ctx context.Context, args []string, out, errOut io.Writer) int {
	o, chosen, err := parse(args, errOut)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		fmt.Fprintf(errOut, "bench: %v\n", err)
		return 2
	}
	rows, err := runAll(ctx, o, chosen, errOut)
	if err == nil && o.json {
		err = writeJSON(out, rows)
	} else if err == nil {
		writeTable(out, rows)
	}
	if err != nil {
		fmt.Fprintf(errOut, "bench: %v\n", err)
		return 1
	}
	return 0
}

func parse(args []string, errOut io.Writer) (options, []named, error) {
	var o options
	all := measures()
	names := make([]string, len(all))
	for i, m := range all {
		names[i] = m.name
	}
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.SetOutput(errOut)
	f.StringVar(&o.only, "only", "", "measure these rows alone, comma-separated: "+strings.Join(names, ", "))
	f.StringVar(&o.data, "data", "", "empty folder for the servers' data; a temporary one when not given")
	f.StringVar(&o.profiles, "profiles", "", "folder for CPU profiles of this process while each row is measured")
	f.BoolVar(&o.json, "json", false, "print JSON instead of a table")
	f.BoolVar(&o.quick, "quick", false, "few samples: figures are rough")
	if err := f.Parse(args); err != nil {
		return o, nil, err
	}
	if f.NArg() > 0 {
		return o, nil, fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	if o.only == "" {
		return o, all, nil
	}
	var chosen []named
	for name := range strings.SplitSeq(o.only, ",") {
		i := slices.Index(names, name)
		if i < 0 {
			return o, nil, fmt.Errorf("--only: there is no row %q, want some of %s", name, strings.Join(names, ", "))
		}
		chosen = append(chosen, all[i])
	}
	return o, chosen, nil
}

func runAll(ctx context.Context, o options, chosen []named, progress io.Writer) (rows []Row, err error) {
	dir := o.data
	if dir == "" {
		if dir, err = os.MkdirTemp("", "mneme-bench-"); err != nil {
			return nil, err
		}
		defer os.RemoveAll(dir)
	}
	if o.profiles != "" {
		if err := os.MkdirAll(o.profiles, 0o755); err != nil {
			return nil, err
		}
	}
	s, err := startSystem(ctx, dir, progress)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.stop(context.WithoutCancel(ctx))) }()
	b := &bench{system: s, quick: o.quick, profiles: o.profiles}
	for _, a := range s.stack.Addresses() {
		if a[0] == "booster health" {
			b.boosterMetrics = strings.TrimSuffix(a[1], "/readyz") + "/metrics"
		}
	}
	for _, m := range chosen {
		began := time.Now()
		row, err := m.run(ctx, b)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.name, err)
		}
		row.Name = m.name
		rows = append(rows, row)
		fmt.Fprintf(progress, "measured %s in %.0f s: ratio %s\n", m.name, time.Since(began).Seconds(), figure(row.Ratio))
	}
	return rows, nil
}

// scaled returns the plan, made smaller for rough figures.
func (b *bench) scaled(p plan) plan {
	if b.quick {
		p.rounds, p.each, p.warm = min(p.rounds, 2), max(1, p.each/3), min(p.warm, 10)
	}
	return p
}

// profiled writes a CPU profile of every sample, if configured. pprof can merge these small profiles.
func (b *bench) profiled(name string, s sample) sample {
	if b.profiles == "" {
		return s
	}
	return func(ctx context.Context, i int) (time.Duration, error) {
		f, err := os.Create(filepath.Join(b.profiles, fmt.Sprintf("%s-%03d.pprof", name, i)))
		if err != nil {
			return 0, err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return 0, err
		}
		defer pprof.StopCPUProfile()
		return s(ctx, i)
	}
}
