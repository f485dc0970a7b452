package traceview

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var today = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// savedSpan is a span of a trace that ended some hours before today.
func savedSpan(trace string, hours int) Span {
	return Span{
		TraceID: trace, ID: trace, Service: "utilizer", Name: "recall", Start: today.Add(-time.Duration(hours) * time.Hour),
		Error:      true,
		Message:    "no key mneme:local:ines",
		Attributes: []Attribute{{"http.route", "/v1/recall"}, {"mneme.session.id", "ines-1"}, {"mneme.user.id", "ines"}},
		Events:     []Event{{Name: "exception", Attributes: []Attribute{{"exception.message", "ines"}}}},
		Links:      []Link{{"other", "span"}},
	}
}

func reopen(t *testing.T, s *Store, folder string, now time.Time, limit int64) *Store {
	t.Helper()
	if s != nil {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	s, err := open(folder, 1000, now, limit)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func content(t *testing.T, folder string) (all string, bytes int) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		part, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all += string(part)
	}
	return all, len(all)
}

func TestTracesOfADaySurviveARestartWithoutIDs(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "traces")
	s := reopen(t, nil, folder, today, fileBytes)
	if err := s.Add([]Span{savedSpan("fresh", 1), savedSpan("old", 30)}); err != nil {
		t.Fatal(err)
	}
	if saved, _ := content(t, folder); strings.Contains(saved, "ines") || !strings.Contains(saved, "/v1/recall") {
		t.Errorf("the file has an id of a user, or lacks the route:\n%s", saved)
	}
	// A killed process leaves half a line.
	if err := os.WriteFile(filepath.Join(folder, "older.jsonl"), []byte(`{"trace_id":"half`), 0o600); err != nil {
		t.Fatal(err)
	}
	s = reopen(t, s, folder, today, fileBytes)
	got, ok := s.Trace("fresh")
	if !ok || len(got.Spans) != 1 || got.Spans[0].Name != "recall" || !got.Spans[0].Error || len(got.Spans[0].Links) != 1 {
		t.Errorf("the trace of today is %+v", got)
	}
	if _, ok := s.Trace("old"); ok {
		t.Error("a trace of the day before yesterday is there")
	}
	if saved, _ := content(t, folder); strings.Contains(saved, `"old"`) || strings.Contains(saved, "half") {
		t.Errorf("the files have old spans:\n%s", saved)
	}
	s = reopen(t, s, folder, today.Add(keepFor), fileBytes)
	if traces, _ := s.Size(); traces != 0 {
		t.Errorf("%d traces are there a day later", traces)
	}
}

func TestSavedTracesAreBounded(t *testing.T) {
	folder := t.TempDir()
	const limit = 2000
	s := reopen(t, nil, folder, today, limit)
	for i := range 100 {
		if err := s.Add([]Span{savedSpan(fmt.Sprint("trace", i), 0)}); err != nil {
			t.Fatal(err)
		}
		if _, size := content(t, folder); size > 2*limit+1000 {
			t.Fatalf("the files have %d bytes after %d spans", size, i+1)
		}
	}
	s = reopen(t, s, folder, today, limit)
	if _, ok := s.Trace("trace99"); !ok {
		t.Error("the last trace is gone")
	}
}

func TestUnwritableTracesAreReported(t *testing.T) {
	s := reopen(t, nil, t.TempDir(), today, fileBytes)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Add([]Span{savedSpan("one", 0)}); err == nil {
		t.Error("a span that could not be saved was accepted")
	}
}
