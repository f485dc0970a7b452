package bus

import (
	"time"

	"github.com/mneme-memory/mneme/shared/fault"
)

// StandardConfig sets the options of the usual chain.
type StandardConfig struct {
	// Group is the consumer group's name on spans.
	Group string
	// Handler names the handler in dead letters.
	Handler string
	// DeadLetters is the topic for records that can never be processed.
	DeadLetters string
	// Retry sets the pauses. Zero means DefaultRetryConfig.
	Retry RetryConfig
	// Timeout bounds each attempt. 0 bounds nothing.
	Timeout time.Duration
}

// Standard surrounds h with the usual chain. From the outside in:
//
//   - Trace: one span a delivery, with any result;
//   - Isolate: a batch that fails for good is delivered one by one;
//   - DeadLetter: a record that fails for good goes to the dead letters;
//   - Retry: every other failure is tried again;
//   - Recover: a panic is an error, and is tried again a few times;
//   - Timeout: each attempt has a separate limit.
//
// Dead letters are published through pub, and traced.
func Standard(cfg StandardConfig, pub Publisher, ins *Instruments, h Handler) (Handler, error) {
	if cfg.Handler == "" || cfg.DeadLetters == "" || pub == nil || ins == nil || h == nil {
		return nil, fault.Terminal("bus", "handler, its name, dead letter topic, publisher and instruments must be given")
	}
	if cfg.Retry == (RetryConfig{}) {
		cfg.Retry = DefaultRetryConfig()
	}
	return Chain(h,
		Trace(ins, cfg.Group),
		Isolate(),
		DeadLetter(DeadLetterConfig{Topic: cfg.DeadLetters, Handler: cfg.Handler}, TracedPublisher(pub, ins), ins),
		Retry(cfg.Retry, ins),
		Recover(),
		Timeout(cfg.Timeout),
	), nil
}
