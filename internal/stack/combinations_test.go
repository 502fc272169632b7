package stack_test

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/internal/stack"
)

// choices are values of the parameters that decide what is in a stack.
var choices = map[string][]string{
	"ApiType":                {"HTTP", "REST"},
	"Authorization":          {"NONE", "AWS_IAM", "JWT"},
	"JwtIssuer":              {"https://issuer.example"},
	"JwtAudience":            {"client"},
	"PaymentsSecretArn":      {"", "arn:aws:secretsmanager:us-east-1:123456789012:secret:payments-AbCdEf"},
	"ReservedConcurrency":    {"20", "-1"},
	"Orders":                 {"false", "true"},
	"MailUrl":                {"", "https://mail.example"},
	"MailSecretArn":          {"", mailSecret},
	"ShippingQueue":          {"none", "standard", "fifo"},
	"ShipSecretArn":          {"", shipSecret},
	"Reconcile":              {"false", "true"},
	"StripeSigningSecretArn": {"", stripeSecret},
	"KmsKeyArn":              {"", "arn:aws:kms:us-east-1:123456789012:key/1"},
	"AlarmTopicArn":          {"", "arn:aws:sns:us-east-1:123456789012:alarms"},
}

// combinations are all ways to choose.
func combinations(choices map[string][]string) []map[string]string {
	all := []map[string]string{{}}
	for _, name := range slices.Sorted(maps.Keys(choices)) {
		var longer []map[string]string
		for _, chosen := range all {
			for _, value := range choices[name] {
				with := maps.Clone(chosen)
				with[name] = value
				longer = append(longer, with)
			}
		}
		all = longer
	}
	return all
}

// referred are the resources to which what is left in a stack refers.
var referred = regexp.MustCompile(`\$\{([A-Za-z]+)(\.[A-Za-z]+)*\}`)

// TestNothingRefersToWhatIsNotThere tries every combination of parameters: it is refused by a rule, or makes a stack in which each reference is to
// a resource of it. CloudFormation would refuse another one.
func TestNothingRefersToWhatIsNotThere(t *testing.T) {
	t.Parallel()
	template, err := stack.Read(file)
	require.NoError(t, err)
	made, refused := 0, 0
	for _, parameters := range combinations(choices) {
		s, err := template.Stack(stackName, parameters)
		require.Equal(t, makesSense(parameters), err == nil, "%v: %v", parameters, err)
		if err != nil {
			require.ErrorContains(t, err, "rule ", parameters)
			refused++
			continue
		}
		made++
		text, err := json.Marshal(s)
		require.NoError(t, err)
		for _, reference := range referred.FindAllStringSubmatch(string(text), -1) {
			require.Contains(t, s.Resources, reference[1], "%s with %v", reference[0], parameters)
		}
		require.NotContains(t, strings.ToLower(string(text)), "novalue")
	}
	require.Greater(t, min(made, refused), 100)
}

// makesSense reports whether parameters go together.
func makesSense(chosen map[string]string) bool {
	open, orders := chosen["Authorization"] == "NONE", chosen["Orders"] == "true"
	mail := chosen["MailUrl"] + chosen["MailSecretArn"]
	real := chosen["PaymentsSecretArn"] + mail + chosen["ShipSecretArn"]
	switch {
	case chosen["ApiType"] == "REST" && chosen["Authorization"] != "AWS_IAM", chosen["ApiType"] == "REST" && orders:
		return false
	case chosen["Reconcile"] == "true" && chosen["PaymentsSecretArn"] == "":
		return false
	case chosen["StripeSigningSecretArn"] != "" && (chosen["Reconcile"] != "true" || chosen["ApiType"] != "HTTP"):
		return false
	case chosen["MailUrl"] != "" && chosen["MailSecretArn"] != "":
		return false
	case chosen["ShippingQueue"] != "none" && (!orders || mail != ""):
		return false
	default:
		return !open || real == ""
	}
}
