package formation

import (
	"context"
	"fmt"
	"testing"

	"github.com/mneme-memory/mneme/evaluation/corpus"
	"github.com/mneme-memory/mneme/shared/formation/embedded"
	"github.com/mneme-memory/mneme/shared/formation/guard"
	"github.com/mneme-memory/mneme/shared/formation/relation"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/embedding/builtin"
)

func TestZY(t *testing.T) {
	cases, err := corpus.Cases()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		p := Pipeline{Former: guard.New(embedded.NewFormer(embedded.IdentityOf("salimory"))), Strategy: "salimory", Embedder: builtin.New()}
		r, err := MeasureCases(context.Background(), p, []corpus.Case{c})
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Wrong) == 0 {
			continue
		}
		fmt.Println("=====", c.ID, c.Kind)
		for _, w := range r.Wrong {
			fmt.Println("   !", w)
		}
		f, _ := p.Form(context.Background(), subjectOf(c))
		by := map[string]memory.Memory{}
		for _, m := range f.Entries {
			by[m.ID] = m
		}
		j := relation.Shipped()
		for _, op := range f.Operations {
			for _, id := range op.Targets {
				fmt.Printf("   %s %s: %q \n", op.Kind, op.Reason, by[id].Content)
				if op.New != nil {
					r := j.Judge(relation.Statement{Text: op.New.Content, Role: memory.RoleUser, Speaker: "a"}, []relation.Statement{{Text: by[id].Content, Role: memory.RoleUser, Speaker: "a"}})
					fmt.Printf("       %s alone %.2f\n", op.New.Content, r[0].Change())
				}
			}
		}
	}
}
