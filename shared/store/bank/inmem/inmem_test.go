package inmem_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/mneme-memory/mneme/shared/store/bank"
	"github.com/mneme-memory/mneme/shared/store/bank/banktest"
	"github.com/mneme-memory/mneme/shared/store/bank/inmem"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConformance(t *testing.T) {
	banktest.Run(t, func(*testing.T) bank.Bank { return inmem.New(banktest.Dimension) })
}
