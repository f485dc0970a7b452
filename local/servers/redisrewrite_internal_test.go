//go:build realservers

package servers

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/mneme-memory/mneme/local/process"
)

func TestARedisServersFileLosesWhatWasDeleted(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	dir := t.TempDir()
	r, err := StartRedisServer(ctx, process.Options{Dir: dir, Log: t.Output()})
	if err != nil {
		t.Fatal(err)
	}
	rewriting, stop := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r.rewriteRegularly(rewriting, 50*time.Millisecond)
	}()
	t.Cleanup(func() {
		stop()
		<-ended
		if err := r.Stop(context.WithoutCancel(ctx)); err != nil {
			t.Error(err)
		}
	})
	client := goredis.NewClient(&goredis.Options{Addr: r.Addr()})
	defer client.Close()
	const word = "Quillhaven"
	if err := client.Set(ctx, "secret", word, 0).Err(); err != nil {
		t.Fatal(err)
	}
	awaitWord(ctx, t, dir, word, true)
	if err := client.Del(ctx, "secret").Err(); err != nil {
		t.Fatal(err)
	}
	awaitWord(ctx, t, dir, word, false)
}

// awaitWord polls until the files of a folder contain a word, or until none does.
func awaitWord(ctx context.Context, t *testing.T, dir, word string, want bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for holdsWord(t, dir, word) != want {
		select {
		case <-ctx.Done():
			t.Fatalf("the files hold the word: want %v", want)
		case <-tick.C:
		}
	}
}

func holdsWord(t *testing.T, dir, word string) bool {
	t.Helper()
	held := false
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if os.IsNotExist(err) || err == nil && !d.Type().IsRegular() {
			return nil
		}
		if err != nil {
			return err
		}
		data, err := os.ReadFile(path)
		held = held || bytes.Contains(data, []byte(word))
		if os.IsNotExist(err) { // a rewrite has removed it
			return nil
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return held
}
