package features

import "math"

// setMeaning compares by word vectors: texts as a whole, and word by word.
func (x *Index) setMeaning(rows [][]float32, a asked) {
	near := x.compare(a)
	x.setHead(rows, a.head, near)
	if len(a.words) == 0 {
		return
	}
	x.setMeans(rows, a)
	x.setNear(rows, a, near)
	for i, row := range rows {
		if j := x.beside[i][oneBack]; j >= 0 && x.units[j].asks {
			row[answers] = rows[j][nearWords]
		}
	}
}

// setForeign uses the embedding of a unit whose language differs from the query's instead of its words. No vectors
// compare words of two languages, but embeddings may.
func (x *Index) setForeign(rows [][]float32, a asked) {
	for i, row := range rows {
		if x.units[i].language == a.language {
			continue
		}
		for _, f := range [...]int{meaning, nearWords, nearAround, focus, around, apart} {
			row[f] = max(0, row[similarity])
		}
	}
}

// setMeans compares the directions of the texts.
func (x *Index) setMeans(rows [][]float32, a asked) {
	query := make([]float32, len(x.common))
	for k, w := range a.words {
		a.addToText(query, w, a.weights[k])
	}
	scale(query, inverse(query))
	apartQuery := append([]float32(nil), query...)
	addTo(apartQuery, x.common, -1)
	scale(apartQuery, inverse(apartQuery))
	common := dot(apartQuery, x.common)
	for i, row := range rows {
		mean := x.mean(i)
		row[meaning] = dot(query, mean)
		row[apart] = (dot(apartQuery, mean) - common) * x.apart[i]
	}
	for i, row := range rows {
		sum := row[meaning]
		for _, j := range [...]int32{x.beside[i][oneBack], x.beside[i][oneOn]} {
			if j >= 0 {
				sum += 0.5 * rows[j][meaning]
			}
		}
		row[around] = sum * x.around[i]
	}
}

// likeness has how like each word of the vocabulary is to some words of the table.
type likeness map[int32][]float32

// setNear finds the nearest word to each of the query's words, in each unit and in its neighbours. It also sets the
// similarity of all words of a unit.
func (x *Index) setNear(rows [][]float32, a asked, like likeness) {
	n := len(rows)
	closest, here, near, beside := make([]float32, len(x.words)), make([]float32, n), make([]float32, n),
		make([]float32, n)
	for k, w := range a.words {
		row, weight := like[w], a.weights[k]
		for p, v := range row {
			closest[p] = max(closest[p], a.discounts[k]*v)
		}
		from := int32(0)
		for i, to := range x.ends {
			top := float32(0)
			for _, p := range x.places[from:to] {
				if v := row[p]; v > top {
					top = v
				}
			}
			from, here[i] = to, top
		}
		for i, top := range here {
			near[i] += weight * top
			around := &x.beside[i]
			if j := around[oneBack]; j >= 0 {
				top = max(top, here[j])
			}
			if j := around[oneOn]; j >= 0 {
				top = max(top, here[j])
			}
			beside[i] += weight * top
		}
	}
	set(rows, nearWords, near)
	set(rows, nearAround, beside)
	x.setFocus(rows, closest)
}

// setFocus sets the similarity of a unit's words to the query's words. It takes the closest query word for each; rare
// words count more.
func (x *Index) setFocus(rows [][]float32, closest []float32) {
	for p := range closest {
		closest[p] *= x.rarities[p]
	}
	for i, row := range rows {
		own := x.wordsOf(i)
		sum := float32(0)
		for _, p := range own {
			sum += closest[p]
		}
		if total := x.rare[i] * float32(len(own)); total > 0 {
			row[focus] = sum / total
		}
	}
}

// setHead compares the requested kind of thing with the three nearest words of each unit: a single near word may be an
// accident.
func (x *Index) setHead(rows [][]float32, sought []int32, like likeness) {
	for _, w := range sought {
		row := like[w]
		for i := range rows {
			var top nearest
			for _, p := range x.wordsOf(i) {
				if v := row[p]; v > top[2] {
					top.take(v)
				}
			}
			rows[i][head] += top.mean() / float32(len(sought))
		}
	}
}

// compare compares all words of a query with the vocabulary.
func (x *Index) compare(a asked) likeness {
	d := x.table.Dimension()
	out, v := likeness{}, make([]float32, d)
	for _, list := range [...][]int32{a.words, a.head} {
		for _, w := range list {
			if out[w] != nil {
				continue
			}
			clear(v)
			a.add(v, w, 1)
			row := make([]float32, len(x.words))
			for p := range row {
				row[p] = dot(v, x.vectors[p*d:(p+1)*d])
			}
			out[w] = row
		}
	}
	return out
}

// rarity is the weight of a word of the table. It is text.InverseFrequency with the count of all units instead of the
// units without the word: the shared weights were learned with it.
func (x *Index) rarity(word int32) float32 {
	n, frequency := float64(len(x.units)), 0.0
	if p, ok := x.wordPlaces[word]; ok {
		frequency = float64(x.frequency[p])
	}
	return float32(math.Log(1 + (n+0.5)/(frequency+0.5)))
}

// nearest keeps the greatest three.
type nearest [3]float32

// take keeps a value that is greater than the least of them.
func (t *nearest) take(v float32) {
	switch {
	case v > t[0]:
		t[0], t[1], t[2] = v, t[0], t[1]
	case v > t[1]:
		t[1], t[2] = v, t[1]
	default:
		t[2] = v
	}
}

func (t *nearest) mean() float32 { return (t[0] + t[1] + t[2]) / 3 }
