package payments

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// silent never answers.
type silent struct{}

func (silent) RoundTrip(req *http.Request) (*http.Response, error) {
	<-req.Context().Done()
	return nil, req.Context().Err()
}

func TestAClientWaitsAsLongAsTheTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &Client{url: "http://payments.test/v1/charges", http: &http.Client{Transport: silent{}}}
		began := time.Now()
		_, err := c.Charge(t.Context(), "k", Request{Amount: 1})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, Timeout, time.Since(began))
	})
}
