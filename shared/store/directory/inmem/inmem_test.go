package inmem_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/mneme-memory/mneme/shared/store/directory"
	"github.com/mneme-memory/mneme/shared/store/directory/directorytest"
	"github.com/mneme-memory/mneme/shared/store/directory/inmem"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConformance(t *testing.T) {
	directorytest.Run(t, func(*testing.T) directory.Directory { return inmem.New() })
}
