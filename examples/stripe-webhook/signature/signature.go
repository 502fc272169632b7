// Package signature checks the header Stripe-Signature of a webhook, with the standard library:
// https://docs.stripe.com/webhooks/signature
package signature

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strconv"
	"strings"
	"time"
)

// Tolerance is how far the time of a signature may be from now. It is that of Stripe's own libraries. Whoever has recorded an event can
// send it again for so long; an event that comes again does no harm here.
const Tolerance = 5 * time.Minute

// ErrInvalid is returned for a header that does not sign the body. It does not say what is wrong with it: that is nobody's business who
// cannot sign.
var ErrInvalid = errors.New("signature: the body is not signed")

// scheme is the only one that counts. There is a v0, which is for tests of the other side.
const scheme = "v1"

// Verify checks that the header signs the body with one of the secrets: t=TIMESTAMP,v1=SIGNATURE, where the signature is the HMAC-SHA256 of
// the time, a period, and the body as it came. While a secret is being replaced there are several v1 signatures, of which one has to fit.
func Verify(header string, body []byte, secrets []string, now time.Time) error {
	stamp, signatures := parse(header)
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil || now.Sub(time.Unix(seconds, 0)).Abs() > Tolerance {
		return ErrInvalid
	}
	valid := false
	for _, secret := range secrets {
		want := sign(stamp, body, secret)
		for _, got := range signatures {
			if secret != "" && hmac.Equal(got, want) { // in constant time
				valid = true
			}
		}
	}
	if !valid {
		return ErrInvalid
	}
	return nil
}

// Header signs a body. It is for tests.
func Header(body []byte, secret string, at time.Time) string {
	stamp := strconv.FormatInt(at.Unix(), 10)
	return "t=" + stamp + "," + scheme + "=" + hex.EncodeToString(sign(stamp, body, secret))
}

func sign(stamp string, body []byte, secret string) []byte {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(stamp + "."))
	mac.Write(body)
	return mac.Sum(nil)
}

// parse returns the time, empty if there is none or more than one, and the signatures that can be read.
func parse(header string) (stamp string, signatures [][]byte) {
	stamps := 0
	for part := range strings.SplitSeq(header, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		switch name {
		case "t":
			stamp = value
			stamps++
		case scheme:
			if signature, err := hex.DecodeString(value); err == nil {
				signatures = append(signatures, signature)
			}
		}
	}
	if stamps != 1 {
		return "", nil
	}
	return stamp, signatures
}
