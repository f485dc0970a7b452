package formationtest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/shared/fault"
	model "github.com/mneme-memory/mneme/shared/model/llm"
	"github.com/mneme-memory/mneme/shared/model/llm/llmtest"
)

// Called runs one role on a good input against a scripted server and returns the number of results: 2 for a correct
// role.
type Called func(ctx context.Context, t *testing.T, s *llmtest.Server) (results int, err error)

// Misbehave makes each role's model return every kind of wrong answer. The role repairs the answers that it can
// repair. It accepts no other wrong answer, least of all an answer that states that there is nothing.
func Misbehave(t *testing.T, roles map[model.Role]Called) {
	unknown := llmtest.Altered(strings.NewReplacer(`"t1"`, `"t99"`, `"c1"`, `"c99"`).Replace)
	half := llmtest.Altered(func(a string) string { return a[:len(a)/2] })
	prose := llmtest.Text("I am afraid I would rather talk about something else.")
	empty := llmtest.Text(`{"turns":[],"memories":[],"operations":[],"topics":[],"facts":[],"nothing":false}`)
	twice := func(s llmtest.Step) []llmtest.Step { return []llmtest.Step{s, s} }
	thrice := func(s llmtest.Step) []llmtest.Step { return []llmtest.Step{s, s, s} }
	cases := []struct {
		name  string
		steps []llmtest.Step
		want  error
		calls int
	}{
		{"behaves", nil, nil, 1},
		{"prose around the answer", []llmtest.Step{llmtest.Prose()}, nil, 1},
		{"unknown ids, then good", []llmtest.Step{unknown}, nil, 2},
		{"unknown ids twice", twice(unknown), model.ErrMalformed, 2},
		{"half an answer, then good", []llmtest.Step{half}, nil, 2},
		{"half an answer twice", twice(half), model.ErrMalformed, 2},
		{"no JSON, then good", []llmtest.Step{prose}, nil, 2},
		{"no JSON twice", twice(prose), model.ErrMalformed, 2},
		{"empty object twice", twice(llmtest.Text("{}")), model.ErrMalformed, 2},
		{"empty lists twice", twice(empty), model.ErrMalformed, 2},
		{"truncated", thrice(llmtest.Truncated()), model.ErrTruncated, 1},
		{"refused", []llmtest.Step{llmtest.Refusal()}, model.ErrRefused, 1},
		{"filtered", []llmtest.Step{llmtest.Filtered()}, model.ErrRefused, 1},
		{"no choices", []llmtest.Step{llmtest.NoChoices()}, model.ErrEmpty, 1},
		{"no text", []llmtest.Step{llmtest.EmptyText()}, model.ErrEmpty, 1},
		{"429, then good", []llmtest.Step{llmtest.RateLimited("0")}, nil, 2},
		{"500, then good", []llmtest.Step{llmtest.Status(500)}, nil, 2},
		{"dropped, then good", []llmtest.Step{llmtest.Drop()}, nil, 2},
		{"500 for ever", thrice(llmtest.Status(500)), model.ErrUnavailable, 3},
		{"429 for ever", thrice(llmtest.RateLimited("0")), model.ErrUnavailable, 3},
		{"dropped for ever", thrice(llmtest.Drop()), model.ErrUnavailable, 3},
		{"401", []llmtest.Step{llmtest.Status(401)}, model.ErrUnauthorized, 1},
		{"404", []llmtest.Step{llmtest.Status(404)}, model.ErrNotFound, 1},
		{"400 for all", twice(llmtest.Status(400)), model.ErrRejected, 2},
		{"400 for what is said", []llmtest.Step{llmtest.Status(400), llmtest.FakeModel()}, model.ErrContent, 2},
	}
	for role, call := range roles {
		for _, tc := range cases {
			if role == model.RoleFilter && errors.Is(tc.want, fault.ErrUnusableAnswer) {
				tc.steps = slices.Repeat(tc.steps[:tc.calls], 2) // it asks about half of the turns next
				tc.calls *= 2
			}
			t.Run(string(role)+"/"+tc.name, func(t *testing.T) {
				s := llmtest.New(t)
				s.Script(role, tc.steps...)
				results, err := call(t.Context(), t, s)
				if !errors.Is(err, tc.want) || (tc.want == nil && err != nil) {
					t.Fatalf("error is %v, want %v", err, tc.want)
				}
				if want := map[bool]int{true: 2, false: 0}[tc.want == nil]; results != want {
					t.Errorf("%d results, want %d", results, want)
				}
				if n := s.Count(role); n != tc.calls {
					t.Errorf("%d calls, want %d", n, tc.calls)
				}
			})
		}
	}
}

// WithoutStructuredOutput runs each role against a server that knows no structured output.
func WithoutStructuredOutput(t *testing.T, roles map[model.Role]Called) {
	for role, call := range roles {
		s := llmtest.New(t, llmtest.WithRefusedFields("response_format"))
		if results, err := call(t.Context(), t, s); err != nil || results != 2 {
			t.Errorf("%s: %d results, error %v", role, results, err)
		}
	}
}
