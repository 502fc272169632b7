package cli

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/connect"
)

// called is an app in AWS, which says who the caller is.
func called(t *testing.T, status int, arn string) *app {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		fmt.Fprintf(w, `<GetCallerIdentityResponse><GetCallerIdentityResult><Arn>%s</Arn><Account>123456789012</Account>
			</GetCallerIdentityResult></GetCallerIdentityResponse>`, arn)
	}))
	t.Cleanup(s.Close)
	conn := &connect.Connection{Table: "idempotency", Config: aws.Config{
		Region: "eu-central-1", BaseEndpoint: aws.String(s.URL), RetryMaxAttempts: 1,
		Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""),
	}}
	a := &app{world: World{User: "root", Err: new(strings.Builder), Getenv: func(string) string { return "" }}}
	a.place, a.unnamed = conn.Where(t.Context())
	return a
}

func TestWhoActsIsWhoseCredentialsTheyAre(t *testing.T) {
	t.Parallel()
	const arn = "arn:aws:sts::123456789012:assumed-role/on-call/dana@example.com"
	a := called(t, 200, arn)
	by, err := a.who()
	require.NoError(t, err)
	assert.Equal(t, arn, by)
	require.NoError(t, a.sayWhere())
	assert.Equal(t, "On table \"idempotency\" in eu-central-1, account 123456789012, as "+arn+".\n",
		fmt.Sprint(a.world.Err))
	a.by = "night shift"
	by, err = a.who()
	require.NoError(t, err)
	assert.Equal(t, "night shift", by, "what is said counts")

	a = called(t, 403, "")
	_, err = a.who()
	assert.Equal(t, 2, exitCode(err), "nobody is not the user of this machine: %v", err)
	require.NoError(t, a.sayWhere())
	assert.Contains(t, fmt.Sprint(a.world.Err), "in eu-central-1; AWS does not say whose credentials these are")

	by, err = (&app{world: World{User: "root"}}).who()
	require.NoError(t, err)
	assert.Equal(t, "root", by, "in the demo")
	_, err = (&app{}).who()
	assert.Equal(t, 2, exitCode(err))
}
