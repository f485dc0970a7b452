package relating_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/lab/corpus"
	"github.com/mneme-memory/mneme/lab/relating"
	"github.com/mneme-memory/mneme/shared/formation/relation"
)

func TestEvaluateCountsEveryPair(t *testing.T) {
	pairs, err := corpus.Pairs()
	if err != nil {
		t.Fatal(err)
	}
	sets := corpus.AmongStrangers(corpus.Of(pairs, corpus.Choose)[:200], 3, 1)
	r, err := relating.Evaluate(relation.Shipped(), sets, 3)
	if err != nil {
		t.Fatal(err)
	}
	binned, kinds := 0, 0
	for _, bin := range r.Reliability {
		binned += bin.Statements
	}
	for _, k := range r.Kinds {
		kinds += k.Of
	}
	if binned != 200 || kinds != 200-r.Changes || len(r.FalseChanges) != 3 || len(r.Misses) != 3 {
		t.Errorf("%d in bins, %d of a kind, %d changes; %d and %d errors", binned, kinds, r.Changes, len(r.FalseChanges),
			len(r.Misses))
	}
	if r.AtBar.False > 0.04 || r.Possible.Right+r.Possible.Wrong < r.Certain.Right+r.Certain.Wrong ||
		r.Certain.Within.Low > r.Certain.Right {
		t.Errorf("certain %+v, possible %+v, at the bar %+v", r.Certain, r.Possible, r.AtBar)
	}
	if r.FalseChanges[0].Change < r.FalseChanges[2].Change || r.Misses[0].Change > r.Misses[2].Change {
		t.Error("the worst errors are not first")
	}
	var out bytes.Buffer
	if err := r.Render(&out); err != nil || !strings.Contains(out.String(), "taken for changes") {
		t.Errorf("%v: %s", err, &out)
	}
}

func TestEvaluateNeedsChangesAndOthers(t *testing.T) {
	if _, err := relating.Evaluate(relation.Shipped(), nil, 0); !errors.Is(err, relating.ErrNoStatements) {
		t.Errorf("got %v", err)
	}
}
