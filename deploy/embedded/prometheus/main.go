// Command prometheus analyses PromQL queries, one per line on standard input. For each it writes the query's metrics
// and labels as a line of JSON to standard output. It is a separate module, which also pins promtool, so that no
// other module has Prometheus' dependencies.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// asked is the analysis of a query.
type asked struct {
	// Error describes a mistake in the query; the other fields are then empty.
	Error string `json:"error,omitempty"`
	// Metrics are the query's selectors.
	Metrics []selected `json:"metrics,omitempty"`
	// Groups are the labels for grouping or matching, each with its metrics.
	Groups []group `json:"groups,omitempty"`
}

type selected struct {
	Name   string   `json:"name"`
	Labels []string `json:"labels,omitempty"`
}

type group struct {
	Labels  []string `json:"labels"`
	Metrics []string `json:"metrics"`
}

func main() {
	in, out := bufio.NewScanner(os.Stdin), json.NewEncoder(os.Stdout)
	for in.Scan() {
		if err := out.Encode(ask(in.Text())); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	if err := in.Err(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func ask(query string) asked {
	expr, err := parser.NewParser(parser.Options{}).ParseExpr(query)
	if err != nil {
		return asked{Error: err.Error()}
	}
	var out asked
	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		switch n := node.(type) {
		case *parser.VectorSelector:
			s := selected{Name: n.Name}
			for _, m := range n.LabelMatchers {
				if m.Name != labels.MetricName {
					s.Labels = append(s.Labels, m.Name)
				}
			}
			out.Metrics = append(out.Metrics, s)
		case *parser.AggregateExpr:
			out.group(n.Grouping, n.Expr)
		case *parser.BinaryExpr:
			if n.VectorMatching != nil {
				out.group(n.VectorMatching.MatchingLabels, n.LHS)
				out.group(n.VectorMatching.MatchingLabels, n.RHS)
			}
		}
		return nil
	})
	return out
}

func (a *asked) group(by []string, of parser.Expr) {
	if len(by) == 0 {
		return
	}
	g := group{Labels: by}
	parser.Inspect(of, func(node parser.Node, _ []parser.Node) error {
		if s, ok := node.(*parser.VectorSelector); ok {
			g.Metrics = append(g.Metrics, s.Name)
		}
		return nil
	})
	a.Groups = append(a.Groups, g)
}
