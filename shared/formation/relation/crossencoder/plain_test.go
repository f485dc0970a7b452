package crossencoder_test

import (
	"testing"

	"github.com/mneme-memory/mneme/shared/formation/relation"
	"github.com/mneme-memory/mneme/shared/formation/relation/crossencoder"
)

// A denial in the words of the stored statement hardly looks like news, and must not count as a repetition.
func TestAPlainDenialIsAChangeAndNotTheSame(t *testing.T) {
	judge := crossencoder.ShippedJudge()
	for _, c := range [][2]string{
		{"I want children.", "I don't want children."}, {"I have a dog.", "I have no dog."},
		{"I work at Siemens", "I don't work at Siemens."},
		{"I drink coffee", "I'm off coffee"}, {"I can swim.", "I cannot swim."},
	} {
		told := judge.Judge(user(c[1]), []relation.Statement{user("My sister is called Eva"), user(c[0])})[1]
		if told[relation.Same] >= 0.5 {
			t.Errorf("%q after %q says the same: %.2f", c[1], c[0], told)
		}
		if told.Change() < judge.Thresholds().Possible {
			t.Errorf("%q after %q changes nothing: %.2f", c[1], c[0], told)
		}
	}
	for _, c := range [][2]string{
		{"I live in Porto with my two cats", "I live in Porto"}, {"I'm allergic to peanuts", "I am allergic to peanuts."},
		{"I have a dog", "I have a dog."},
	} {
		told := judge.Judge(user(c[1]), []relation.Statement{user("My sister is called Eva"), user(c[0])})[1]
		if told.Change() >= judge.Thresholds().Possible {
			t.Errorf("%q after %q changes something: %.2f", c[1], c[0], told)
		}
	}
}
