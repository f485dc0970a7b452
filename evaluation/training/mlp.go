package training

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/mneme-memory/mneme/evaluation/corpus"
	"github.com/mneme-memory/mneme/shared/formation/relation"
	"github.com/mneme-memory/mneme/shared/model/wordvector"
	"github.com/mneme-memory/mneme/shared/text"
)

type MLP struct {
	H, Epochs, Seeds                    int
	Rate, Drop, HDrop, Init, L2, Smooth float64
	Lin, Aux                            float64
	Kinds                               [][]int `json:"-"`
	K                                   int     `json:"-"`
}

func softmax(z *[5]float64) {
	m := slices.Max(z[:])
	s := 0.0
	for i := range z {
		z[i] = math.Exp(z[i] - m)
		s += z[i]
	}
	for i := range z {
		z[i] /= s
	}
}

func (c MLP) Run(rows [][]cell, labels []relation.Label, test [][]cell, columns int, seed uint64) [][5]float64 {
	rnd := rand.New(rand.NewPCG(seed, 77))
	H := c.H
	U := make([]float32, columns*H)
	GU := make([]float32, columns*H)
	for i := range U {
		U[i] = float32(rnd.NormFloat64() * c.Init)
		GU[i] = 1e-2
	}
	W := make([]float32, columns*5)
	GW := make([]float32, columns*5)
	for i := range GW {
		GW[i] = 1e-2
	}
	O := make([]float32, H*5)
	GO := make([]float32, H*5)
	for i := range O {
		O[i] = float32(rnd.NormFloat64() * 0.3)
		GO[i] = 1e-2
	}
	A := make([]float32, H*c.K)
	GA := make([]float32, H*c.K)
	AB := make([]float32, c.K)
	for i := range GA {
		A[i] = float32(rnd.NormFloat64() * 0.1)
		GA[i] = 1e-2
	}
	for i := range AB {
		AB[i] = -3
	}
	h := make([]float32, H)
	dh := make([]float32, H)
	forward := func(row []cell, z *[5]float64) {
		clear(h)
		var zz [5]float32
		for _, x := range row {
			u := U[int(x.column)*H : int(x.column)*H+H]
			for k := range u {
				h[k] += x.value * u[k]
			}
			w := W[int(x.column)*5 : int(x.column)*5+5]
			for k := range w {
				zz[k] += x.value * w[k]
			}
		}
		for k := range h {
			if h[k] < 0 {
				h[k] = 0
			}
		}
		for k := range zz {
			z[k] = float64(zz[k])
		}
	}
	rate := float32(c.Rate)
	kept := make([]cell, 0, 2000)
	mask := make([]float32, H)
	for e := range c.Epochs {
		lr := rate * float32(1-float64(e)/float64(c.Epochs))
		for _, i := range rnd.Perm(len(rows)) {
			kept = kept[:0]
			for _, x := range rows[i] {
				if rnd.Float64() >= c.Drop {
					kept = append(kept, cell{x.column, x.value / float32(1-c.Drop)})
				}
			}
			var z [5]float64
			forward(kept, &z)
			for k := range h {
				mask[k] = 0
				if rnd.Float64() >= c.HDrop {
					mask[k] = float32(1 / (1 - c.HDrop))
				}
				for l := range z {
					z[l] += float64(h[k] * mask[k] * O[k*5+l])
				}
			}
			softmax(&z)
			for l := range z {
				y := c.Smooth / 5
				if l == int(labels[i]) {
					y += 1 - c.Smooth
				}
				z[l] -= y
			}
			for k := range h {
				dh[k] = 0
				if h[k] > 0 && mask[k] > 0 {
					for l := range z {
						g := float32(z[l])
						dh[k] += g * O[k*5+l] * mask[k]
					}
				}
				for l := range z {
					g := float32(z[l])*h[k]*mask[k] + float32(c.L2)*O[k*5+l]
					GO[k*5+l] += g * g
					O[k*5+l] -= lr * g / float32(math.Sqrt(float64(GO[k*5+l])))
				}
			}
			if c.Aux > 0 {
				for a := range c.K {
					zz := float64(AB[a])
					for k := range h {
						zz += float64(h[k] * mask[k] * A[a*H+k])
					}
					g0 := float32(1/(1+math.Exp(-zz))) * float32(c.Aux)
					if slices.Contains(c.Kinds[i], a) {
						g0 -= float32(c.Aux)
					}
					AB[a] -= 0.1 * lr * g0
					for k := range h {
						if h[k] > 0 && mask[k] > 0 {
							dh[k] += g0 * A[a*H+k] * mask[k]
							g := g0 * h[k] * mask[k]
							GA[a*H+k] += g * g
							A[a*H+k] -= lr * g / float32(math.Sqrt(float64(GA[a*H+k])))
						}
					}
				}
			}
			for _, x := range kept {
				at := int(x.column) * H
				for k := range dh {
					if dh[k] != 0 {
						g := x.value*dh[k] + float32(c.L2)*U[at+k]
						GU[at+k] += g * g
						U[at+k] -= lr * g / float32(math.Sqrt(float64(GU[at+k])))
					}
				}
				if c.Lin > 0 {
					at = int(x.column) * 5
					for l := range z {
						g := x.value*float32(z[l]) + float32(c.L2)*W[at+l]
						GW[at+l] += g * g
						W[at+l] -= float32(c.Lin) * lr * g / float32(math.Sqrt(float64(GW[at+l])))
					}
				}
			}
		}
	}
	out := make([][5]float64, len(test))
	for i, row := range test {
		forward(row, &out[i])
		for k := range h {
			for l := range out[i] {
				out[i][l] += float64(h[k] * O[k*5+l])
			}
		}
		softmax(&out[i])
	}
	return out
}

// Deep returns linear relation probs and mlp probs on te.
func Deep(train, test []corpus.Pair, o RelationOptions, cs []MLP) (lin [][5]float64, deep [][][5]float64) {
	var statements []string
	for _, p := range train {
		statements = append(statements, p.Stored, p.Later)
	}
	o.Strangers = 0
	train = augment(train)
	lexicon := relation.NewLexicon(wordvector.Shipped(), statements, o.Groups, o.Seed)
	ex := relationExamples(lexicon, train, o)
	te := relationExamples(lexicon, test, o)
	m := newMatrix(lexicon, ex, o)
	var rows [][]cell
	for _, e := range te {
		var r []cell
		for b := range m.blocks {
			r = append(r, m.cells(b, e.inputs.Sparse[b])...)
		}
		for j, x := range e.inputs.Dense {
			r = append(r, cell{int32(m.columns + j), (x - m.dense.Mean[j]) * m.dense.Scale[j]})
		}
		r = append(r, cell{int32(m.columns + lexicon.Dense()), 1})
		rows = append(rows, r)
	}
	columns := m.columns + lexicon.Dense() + 1
	labels := make([]relation.Label, len(ex))
	for i, e := range ex {
		labels[i] = e.label
	}
	lin = make([][5]float64, len(te))
	for l := range 5 {
		w := m.labelled(ex, relation.Label(l), o)
		for i, r := range rows {
			lin[i][l] = 1 / (1 + math.Exp(-product(w, r)))
		}
	}
	for i := range lin {
		s := 0.0
		for _, v := range lin[i] {
			s += v
		}
		for l := range lin[i] {
			lin[i][l] /= s
		}
	}
	kc := map[string]int{}
	for _, p := range train {
		for _, w := range strings.Fields(p.Kind) {
			kc[strings.ToLower(strings.Trim(w, ","))]++
		}
	}
	var kw []string
	for k, n := range kc {
		if n >= 15 && k != "a" && k != "of" && k != "the" {
			kw = append(kw, k)
		}
	}
	slices.Sort(kw)
	kinds := make([][]int, len(train))
	for i, p := range train {
		for _, w := range strings.Fields(p.Kind) {
			if j, ok := slices.BinarySearch(kw, strings.ToLower(strings.Trim(w, ","))); ok {
				kinds[i] = append(kinds[i], j)
			}
		}
	}
	for _, c := range cs {
		c.Kinds, c.K = kinds, len(kw)
		sum := make([][5]float64, len(te))
		var wg sync.WaitGroup
		var mu sync.Mutex
		lim := make(chan bool, 2)
		for s := range c.Seeds {
			wg.Go(func() {
				lim <- true
				p := c.Run(m.rows, labels, rows, columns, uint64(s))
				mu.Lock()
				for i := range p {
					for l := range p[i] {
						sum[i][l] += p[i][l] / float64(c.Seeds)
					}
				}
				mu.Unlock()
				<-lim
			})
		}
		wg.Wait()
		deep = append(deep, sum)
	}
	return lin, deep
}

func MLPs() (cs []MLP) {
	base := MLP{H: 16, Epochs: 10, Seeds: 2, Rate: 0.05, Drop: 0.3, HDrop: 0.2, Init: 0.1, L2: 0, Smooth: 0.05, Lin: 1}
	var lines []json.RawMessage
	if err := json.Unmarshal([]byte(os.Getenv("MLP")), &lines); err != nil {
		fmt.Println(err)
	}
	for _, l := range lines {
		c := base
		if err := json.Unmarshal(l, &c); err != nil {
			fmt.Println(err)
		}
		cs = append(cs, c)
	}
	return cs
}

var neigh = map[int32][]string{}

func augment(train []corpus.Pair) []corpus.Pair {
	n, p, th := 0, 0.0, 0.0
	fmt.Sscanf(os.Getenv("AUG"), "%d %g %g", &n, &p, &th)
	if n == 0 {
		return train
	}
	table := wordvector.Shipped()
	words := table.Words()
	count := map[string]int{}
	for _, q := range train {
		for _, w := range text.Words(q.Later + " " + q.Stored) {
			count[w.Lower]++
		}
	}
	rnd := rand.New(rand.NewPCG(5, 5))
	change := func(s string) string {
		var b strings.Builder
		at := 0
		for _, w := range text.Words(s) {
			b.WriteString(s[at:w.Start])
			at = w.End
			id, ok := table.Find(w.Lower)
			if ok && words[id] == w.Lower && count[w.Lower] < 60 && rnd.Float64() < p {
				if neigh[id] == nil {
					neigh[id] = []string{}
					type sw struct {
						w string
						s float32
					}
					var all []sw
					for j, u := range words {
						if x := table.Similarity(id, int32(j)); x > float32(th) && int32(j) != id && count[u] > 0 {
							all = append(all, sw{u, x})
						}
					}
					slices.SortFunc(all, func(a, b sw) int { return int(1e6 * (b.s - a.s)) })
					for _, a := range all[:min(5, len(all))] {
						neigh[id] = append(neigh[id], a.w)
					}
				}
				if l := neigh[id]; len(l) > 0 {
					b.WriteString(l[rnd.IntN(len(l))])
					continue
				}
			}
			b.WriteString(s[w.Start:w.End])
		}
		b.WriteString(s[at:])
		return b.String()
	}
	out := slices.Clone(train)
	for range n {
		for _, q := range train {
			q.Later, q.Stored = change(q.Later), change(q.Stored)
			out = append(out, q)
		}
	}
	fmt.Println(out[len(train)+7], train[7])
	return out
}
