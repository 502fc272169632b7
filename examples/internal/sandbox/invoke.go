package sandbox

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
)

// Events serves a function that takes its events as they are, for [Sandbox.Invoke]. An invocation may take as long as the timeout.
func Events(function lambda.Handler, timeout time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		event, err := io.ReadAll(req.Body)
		if err != nil {
			return // whoever invokes is gone
		}
		ctx, cancel := context.WithTimeout(req.Context(), timeout)
		defer cancel()
		answer, err := function.Invoke(ctx, event)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		_, _ = w.Write(answer) // likewise
	})
}

// Invoke hands an event to the function and returns its answer.
func (s *Sandbox) Invoke(ctx context.Context, event []byte) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL, bytes.NewReader(event))
	if err != nil {
		return nil, err
	}
	client := http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("the function has failed: %s", answer)
	}
	return answer, err
}
