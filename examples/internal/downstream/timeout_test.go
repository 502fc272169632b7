package downstream

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
		c, err := New("service", "http://service.test", 7*time.Second)
		require.NoError(t, err)
		c.http.Transport = silent{}
		began := time.Now()
		err = c.Do(t.Context(), http.MethodPost, "v1/things", "k", struct{}{}, nil)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, 7*time.Second, time.Since(began))
	})
}
