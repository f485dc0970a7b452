// Command prose reads Vale's JSON from standard input. It prints the errors that the style in .vale finds, and measures
// the sentences of documents and of Go comments. It exits with 1 on an error or an exceeded limit.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
)

// limits are maximum numbers of words in a sentence.
type limits struct {
	// longest holds for each sentence. mean and p90 hold for the sentences of a part.
	longest, p90 int
	mean         float64
}

var (
	documents = limits{longest: 35, mean: 16, p90: 26}
	comments  = limits{longest: 35, mean: 13, p90: 22}
)

// fewest is the least number of sentences in a measured part. The mean of fewer sentences varies too much.
const fewest = 20

// everySentence is the rule in .vale that reports every sentence.
const everySentence = "Mneme.Sentences"

// alert is one finding of Vale.
type alert struct {
	Check, Message, Severity, Match string
	Line                            int
}

func main() {
	found, err := read(os.Stdin)
	if err == nil {
		err = check(found, os.DirFS("."), os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// read returns Vale's findings by file. The input has one JSON object for each run of Vale.
func read(in io.Reader) (map[string][]alert, error) {
	found := map[string][]alert{}
	for dec := json.NewDecoder(in); ; {
		err := dec.Decode(&found)
		if errors.Is(err, io.EOF) {
			return found, nil
		} else if err != nil {
			return nil, fmt.Errorf("standard input must be Vale's JSON: %w", err)
		}
	}
}

// check prints the problems and the figures of all files. Its error gives the number of problems, or says that the
// findings have no sentence.
func check(found map[string][]alert, files fs.FS, out io.Writer) error {
	problems := 0
	report := func(format string, args ...any) {
		problems++
		fmt.Fprintf(out, format+"\n", args...)
	}
	parts := map[string][]int{} // the lengths of the sentences of a document, or of a folder of Go files
	for _, file := range slices.Sorted(maps.Keys(found)) {
		source, err := fs.ReadFile(files, file)
		if err != nil {
			return err
		}
		lines := strings.Split(string(source), "\n")
		for _, a := range found[file] {
			if a.Check != everySentence {
				report("%s:%d: %s", file, a.Line, a.Message)
				continue
			}
			name, most, n := part(file), limitsOf(file), words(a.Match)
			if n < 4 || afterCode(file, lines, a.Line) {
				continue
			}
			if n > most.longest {
				report("%s:%d: a sentence has %d words, want at most %d: %.60s...", file, a.Line, n, most.longest, a.Match)
			}
			parts[name] = append(parts[name], n)
		}
	}
	if len(parts) == 0 {
		return errors.New("found no sentence: the style must have the rule " + everySentence)
	}
	measure(parts, report, out)
	if problems > 0 {
		return fmt.Errorf("%d problems with the English, see docs/contributing.md", problems)
	}
	return nil
}

// measure compares the parts with their limits, and prints the figures of all documents and of all comments.
func measure(parts map[string][]int, report func(string, ...any), out io.Writer) {
	all := map[limits][]int{}
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		most, n := limitsOf(name), parts[name]
		all[most] = append(all[most], n...)
		mean, p90 := figures(n)
		if len(n) >= fewest && (mean > most.mean || p90 > most.p90) {
			report("%s: sentences have %.1f words on average and %d at the 90th percentile, want at most %g and %d",
				name, mean, p90, most.mean, most.p90)
		}
	}
	for _, kind := range []struct {
		name string
		limits
	}{{"documents", documents}, {"comments", comments}} {
		if n := all[kind.limits]; len(n) > 0 {
			mean, p90 := figures(n)
			fmt.Fprintf(out, "%s: %d sentences, %.1f words on average, %d at the 90th percentile\n", kind.name, len(n), mean,
				p90)
		}
	}
}

// figures returns the mean and the 90th percentile.
func figures(n []int) (mean float64, p90 int) {
	n = slices.Sorted(slices.Values(n))
	sum := 0
	for _, x := range n {
		sum += x
	}
	return float64(sum) / float64(len(n)), n[len(n)*9/10]
}

// part returns the document itself, or the folder of a Go file.
func part(file string) string {
	if path.Ext(file) == ".md" {
		return file
	}
	return path.Dir(file)
}

// limitsOf returns the limits of a file or part.
func limitsOf(name string) limits {
	if path.Ext(name) == ".md" {
		return documents
	}
	return comments
}

// word matches a word, or code that Vale masked.
var word = regexp.MustCompile(`\*{2,}|[A-Za-z][A-Za-z'-]*`)

// words returns the number of words.
func words(sentence string) int { return len(word.FindAllString(sentence, -1)) }

// afterCode reports whether a comment stands after code on its line. Vale joins such comments of consecutive lines to
// one sentence.
func afterCode(file string, lines []string, line int) bool {
	return path.Ext(file) == ".go" && line >= 1 && line <= len(lines) &&
		!strings.HasPrefix(strings.TrimSpace(lines[line-1]), "//")
}
