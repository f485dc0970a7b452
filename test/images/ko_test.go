//go:build images && ko

package images_test

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// tools is the folder where make builds ko and crane. crane's registry stands for any other registry.
const tools = "../../.cache/tools"

// TestImagesAreReproducible makes ko build the images twice, from sources in two folders. The digests must be equal,
// and the images must contain the binaries of the Dockerfile's commands.
func TestImagesAreReproducible(t *testing.T) {
	registry := serveRegistry(t)
	base := pushBase(t, registry)
	copied := copySources(t)
	once := koBuild(t, "../..", registry+"/once", base)
	again := koBuild(t, copied, registry+"/again", base)
	for name := range mains {
		if once[name] == "" || once[name] != again[name] {
			t.Errorf("two images of %s are %q and %q", name, once[name], again[name])
			continue
		}
		t.Run(name, func(t *testing.T) { checkImage(t, registry+"/once/"+name+"@"+once[name], name) })
	}
}

// serveRegistry runs an empty registry and returns its address.
func serveRegistry(t *testing.T) string {
	t.Helper()
	addr := "127.0.0.1:" + freePort(t)
	program := filepath.Join(tools, "crane")
	server := exec.CommandContext(t.Context(), program, "registry", "serve", "--address", addr) //nolint:gosec // the tool
	var complaints bytes.Buffer
	server.Stderr = &complaints
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	})
	for deadline := time.Now().Add(time.Minute); ; {
		_, err := crane(t, "catalog", addr)
		if err == nil {
			return addr
		}
		if time.Now().After(deadline) {
			t.Fatalf("the registry does not answer: %v: %s", err, complaints.String())
		}
	}
}

func crane(t *testing.T, args ...string) ([]byte, error) {
	t.Helper()
	var out, complaints bytes.Buffer
	cmd := exec.CommandContext(t.Context(), filepath.Join(tools, "crane"), args...) //nolint:gosec // the tool
	cmd.Stdout, cmd.Stderr = &out, &complaints
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("crane %s: %w: %s", args[0], err, complaints.String())
	}
	return out.Bytes(), nil
}

// pushBase pushes a base image with the relevant parts of ko's own base image: authorities' certificates and the
// user.
func pushBase(t *testing.T, registry string) string {
	t.Helper()
	layer := filepath.Join(t.TempDir(), "layer.tar")
	var content bytes.Buffer
	w := tar.NewWriter(&content)
	certificates := []byte("none is asked here\n")
	err1 := w.WriteHeader(&tar.Header{Name: "etc/ssl/certs/ca-certificates.crt", Mode: 0o644,
		Size: int64(len(certificates))})
	_, err2 := w.Write(certificates)
	base := registry + "/base:latest"
	if err := errors.Join(err1, err2, w.Close(), os.WriteFile(layer, content.Bytes(), 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"append", "--new_layer", layer, "--new_tag", base}, {"mutate", base, "--user", fmt.Sprint(user), "--tag", base},
	} {
		if _, err := crane(t, args...); err != nil {
			t.Fatal(err)
		}
	}
	return base
}

// koBuild builds all images and returns their digests by name.
func koBuild(t *testing.T, sources, repository, base string) map[string]string {
	t.Helper()
	ko, err := filepath.Abs(filepath.Join(tools, "ko"))
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"build", "--base-import-paths", "--sbom", "none"}
	cmd := exec.CommandContext(t.Context(), ko, slices.AppendSeq(args, maps.Values(mains))...) //nolint:gosec // the tool
	cmd.Dir, cmd.Env = sources, append(os.Environ(), "KO_DOCKER_REPO="+repository, "KO_DEFAULTBASEIMAGE="+base, "GOFLAGS=")
	var out, log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &log
	if err := cmd.Run(); err != nil {
		t.Fatalf("ko: %v\n%s", err, log.String())
	}
	digests := map[string]string{}
	for _, reference := range strings.Fields(out.String()) {
		name, digest, _ := strings.Cut(strings.TrimPrefix(reference, repository+"/"), "@")
		name, _, _ = strings.Cut(name, ":")
		digests[name] = digest
	}
	return digests
}

// checkImage checks the command, the user and the contents of an image.
func checkImage(t *testing.T, reference, name string) {
	t.Helper()
	described, err := crane(t, "config", reference)
	if err != nil {
		t.Fatal(err)
	}
	var config struct {
		Config struct {
			User       string
			Entrypoint []string
		}
	}
	if err := json.Unmarshal(described, &config); err != nil {
		t.Fatal(err)
	}
	if config.Config.User != fmt.Sprint(user) || len(config.Config.Entrypoint) != 1 {
		t.Fatalf("it is run as %+v", config.Config)
	}
	exported, err := crane(t, "export", reference, "-")
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(filepath.Join(binaries(t), name))
	if err != nil {
		t.Fatal(err)
	}
	files, entries := 0, 0
	for r := tar.NewReader(bytes.NewReader(exported)); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if header.Typeflag != tar.TypeReg {
			continue
		}
		files++
		if header.Name != config.Config.Entrypoint[0] {
			continue
		}
		sum := sha256.New()
		if _, err := io.Copy(sum, r); err != nil { //nolint:gosec // of this repository
			t.Fatal(err)
		}
		if sum := [sha256.Size]byte(sum.Sum(nil)); sum != sha256.Sum256(want) {
			t.Errorf("%s is another binary than the Dockerfile's commands build", header.Name)
		}
		entries++
	}
	if entries != 1 || files != 2 {
		t.Errorf("%d files are the entry point %s, of %d, want it and the base's certificates", entries,
			config.Config.Entrypoint, files)
	}
}
