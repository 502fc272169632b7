package dynamo_test

import (
	"net/http"
	"regexp"
	"strconv"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/dynamo"
)

// TestSDKIsRecentEnough logs with which versions of the SDK the tests run. Clients of DynamoDB
// before v1.72.3 have regressions.
func TestSDKIsRecentEnough(t *testing.T) {
	t.Parallel()
	var agent string
	tr := &transport{answer: func(_ int, r *http.Request, _ request) (*http.Response, error) {
		agent = r.Header.Get("User-Agent")
		return done.send()
	}}
	_, _, err := dynamo.New(scriptedClient(tr), table).Get(t.Context(), "key")
	require.NoError(t, err)
	version := regexp.MustCompile(`api/dynamodb#1\.(\d+)\.(\d+)`).FindStringSubmatch(agent)
	require.Len(t, version, 3, agent)
	t.Logf("aws-sdk-go-v2 v%s, service/dynamodb v1.%s.%s", aws.SDKVersion, version[1], version[2])
	minor, err := strconv.Atoi(version[1])
	require.NoError(t, err)
	patch, err := strconv.Atoi(version[2])
	require.NoError(t, err)
	require.GreaterOrEqual(t, minor*1000+patch, 72*1000+3)
}
