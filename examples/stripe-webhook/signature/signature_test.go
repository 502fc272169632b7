package signature_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/examples/stripe-webhook/signature"
)

const secret = "whsec_test_secret"

var (
	now  = time.Unix(1772364600, 0)
	body = []byte(`{"id":"evt_1"}`)
)

// The vector was computed with another tool: openssl dgst -sha256 -hmac.
func TestASignatureIsThatOfTheScheme(t *testing.T) {
	t.Parallel()
	require.Equal(t, "t=1772364600,v1=d23a019ea211c991789bd2c4c9dbe2b8c98d3d131c6fdd4c5cec0805ba16b0e8", signature.Header(body, secret, now))
}

func TestOneOfTheSignaturesHasToFitOneOfTheSecrets(t *testing.T) {
	t.Parallel()
	header := signature.Header(body, secret, now)
	stamp, v1, _ := strings.Cut(header, ",")
	zeros := "v1=" + strings.Repeat("0", 64)
	for name, c := range map[string]struct {
		header  string
		body    string
		secrets []string
		at      time.Time
		fine    bool
	}{
		"fine":                    {header, string(body), []string{secret}, now, true},
		"another secret first":    {header, string(body), []string{"whsec_new", secret}, now, true},
		"several signatures":      {stamp + "," + zeros + "," + v1 + ",v0=00", string(body), []string{secret}, now, true},
		"spaces":                  {stamp + ", " + v1, string(body), []string{secret}, now, true},
		"old, just":               {header, string(body), []string{secret}, now.Add(signature.Tolerance), true},
		"ahead, just":             {header, string(body), []string{secret}, now.Add(-signature.Tolerance), true},
		"too old":                 {header, string(body), []string{secret}, now.Add(signature.Tolerance + time.Second), false},
		"too far ahead":           {header, string(body), []string{secret}, now.Add(-signature.Tolerance - time.Second), false},
		"another body":            {header, string(body) + " ", []string{secret}, now, false},
		"another secret":          {header, string(body), []string{"whsec_new"}, now, false},
		"no secret":               {header, string(body), nil, now, false},
		"the empty secret":        {signature.Header(body, "", now), string(body), []string{""}, now, false},
		"another scheme":          {stamp + "," + strings.Replace(v1, "v1", "v0", 1), string(body), []string{secret}, now, false},
		"no signature":            {stamp, string(body), []string{secret}, now, false},
		"a part of it":            {stamp + "," + v1[:len(v1)-2], string(body), []string{secret}, now, false},
		"no hex":                  {stamp + ",v1=xyz", string(body), []string{secret}, now, false},
		"another time":            {"t=1772364601," + v1, string(body), []string{secret}, now, false},
		"two times":               {"t=1772364601," + header, string(body), []string{secret}, now, false},
		"no time":                 {v1, string(body), []string{secret}, now, false},
		"no number":               {"t=now," + v1, string(body), []string{secret}, now, false},
		"a time beyond all times": {"t=9223372036854775807," + v1, string(body), []string{secret}, now, false},
		"nothing":                 {"", string(body), []string{secret}, now, false},
	} {
		err := signature.Verify(c.header, []byte(c.body), c.secrets, c.at)
		if c.fine {
			require.NoError(t, err, name)
		} else {
			require.ErrorIs(t, err, signature.ErrInvalid, name)
		}
	}
}
