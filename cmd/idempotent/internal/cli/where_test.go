package cli

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/connect"
)

// caller is a source in AWS, which says who the caller is.
func caller(t *testing.T, status int, arn string) *source {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		fmt.Fprintf(w, `<GetCallerIdentityResponse><GetCallerIdentityResult><Arn>%s</Arn></GetCallerIdentityResult></GetCallerIdentityResponse>`, arn)
	}))
	t.Cleanup(s.Close)
	return &source{conn: &connect.Connection{Config: aws.Config{
		Region: "eu-central-1", BaseEndpoint: aws.String(s.URL), RetryMaxAttempts: 1,
		Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""),
	}}}
}

func TestWhoActsIsWhoseCredentialsTheyAre(t *testing.T) {
	t.Parallel()
	a := &app{world: World{User: "root"}}
	const arn = "arn:aws:sts::123456789012:assumed-role/on-call/dana@example.com"
	by, err := a.who(t.Context(), caller(t, 200, arn), "")
	require.NoError(t, err)
	assert.Equal(t, arn, by)
	by, err = a.who(t.Context(), caller(t, 200, arn), "night shift")
	require.NoError(t, err)
	assert.Equal(t, "night shift", by, "what is said counts")
	_, err = a.who(t.Context(), caller(t, 403, ""), "")
	assert.Equal(t, exitUsage, exitCode(err), "nobody is not the user of this machine: %v", err)

	by, err = a.who(t.Context(), &source{}, "")
	require.NoError(t, err)
	assert.Equal(t, "root", by, "in the demo")
	_, err = (&app{}).who(t.Context(), &source{}, "")
	assert.Equal(t, exitUsage, exitCode(err))
}
