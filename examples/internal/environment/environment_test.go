package environment

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/stretchr/testify/require"
)

// TestChecksumsAreCheckedUnlessTheServerIsOnThisMachine: only servers that send none with a refusal are excepted.
func TestChecksumsAreCheckedUnlessTheServerIsOnThisMachine(t *testing.T) {
	t.Parallel()
	for endpoint, disabled := range map[string]bool{
		"": false, // that of the Region
		"https://dynamodb.us-east-1.amazonaws.com":               false,
		"https://vpce-1-2.dynamodb.us-east-1.vpce.amazonaws.com": false,
		"http://dynamodb.us-east-1.amazonaws.com:80":             false,
		"http://localhost.example":                               false,
		"http://10.0.0.1:8000":                                   false,
		"http://127.0.0.1:8000":                                  true,
		"http://localhost:4566":                                  true,
		"http://[::1]:8000":                                      true,
	} {
		cfg := aws.Config{Region: "us-east-1"}
		if endpoint != "" {
			cfg.BaseEndpoint = aws.String(endpoint)
		}
		require.Equal(t, disabled, Base{cfg}.DynamoDB().Options().DisableValidateResponseChecksum, endpoint)
	}
}
