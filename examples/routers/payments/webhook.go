package payments

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"strings"
)

// webhook takes the word of a provider about a charge. Providers send no key of ours, and send a message again until they get an answer.
// What it does may be repeated: a charge that is disputed twice is disputed.
func (a *API) webhook(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		problem(w, http.StatusBadRequest, "The body cannot be read.")
		return
	}
	if !a.signed(r.Header, body) {
		problem(w, http.StatusUnauthorized, "The signature is wrong.")
		return
	}
	var message struct {
		Charge string `json:"charge"`
		Status string `json:"status"`
	}
	if err := json.Unmarshal(body, &message); err != nil {
		problem(w, http.StatusBadRequest, "The body must be a JSON object.")
		return
	}
	a.bank.Report(message.Charge, r.PathValue("provider")+": "+message.Status)
	w.WriteHeader(http.StatusNoContent)
}

// signed checks a header such as "t=1767323045,v1=5257a8…": the SHA-256 HMAC of time, a full stop and body. The adapter cuts the headers of
// an HTTP API at each comma, so the parts are put together again.
func (a *API) signed(h http.Header, body []byte) bool {
	parts := map[string]string{}
	for part := range strings.SplitSeq(strings.Join(h.Values("Webhook-Signature"), ","), ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		parts[name] = value
	}
	got, err := hex.DecodeString(parts["v1"])
	return err == nil && hmac.Equal(got, a.sum(parts["t"], body))
}

func (a *API) sum(at string, body []byte) []byte {
	mac := hmac.New(sha256.New, a.secret)
	mac.Write([]byte(at + "."))
	mac.Write(body)
	return mac.Sum(nil)
}
