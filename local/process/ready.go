package process

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
)

// GetOK returns nil when a GET of the address answers 200. trust is for https addresses; it may be nil.
func GetOK(ctx context.Context, url string, trust *tls.Config) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	transport := &http.Transport{DisableKeepAlives: true, TLSClientConfig: trust}
	res, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, res.Body)
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d", res.StatusCode)
	}
	return nil
}
