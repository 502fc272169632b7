package lambdaruntime

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"slices"

	"github.com/aws/aws-lambda-go/events"
)

// answer sends the response of the function. If it returns an error, nothing was sent.
//
// Header values of multiValueHeaders are sent, too, although AWS documents that field for payload
// format 1.0 only: the type in aws-lambda-go has it.
func answer(w http.ResponseWriter, result []byte) error {
	var r events.APIGatewayV2HTTPResponse
	if err := json.Unmarshal(result, &r); err != nil {
		return fmt.Errorf("the response is not of payload format 2.0: %w", err)
	}
	if r.StatusCode < 200 || r.StatusCode > 599 {
		return fmt.Errorf("the response has the status code %d", r.StatusCode)
	}
	body := []byte(r.Body)
	if r.IsBase64Encoded {
		var err error
		if body, err = base64.StdEncoding.DecodeString(r.Body); err != nil {
			return fmt.Errorf("the body of the response is not valid base64: %w", err)
		}
	}
	set(w.Header(), r)
	w.WriteHeader(r.StatusCode)
	if _, err := w.Write(body); err != nil {
		slog.Warn("the answer did not reach the client", "error", err)
	}
	return nil
}

// connectionHeaders are the server's business.
var connectionHeaders = []string{"Connection", "Content-Length", "Keep-Alive", "Transfer-Encoding"}

func set(h http.Header, r events.APIGatewayV2HTTPResponse) {
	h.Set("Content-Type", "text/plain; charset=utf-8")
	for name, value := range r.Headers {
		h.Set(name, value)
	}
	for name, values := range r.MultiValueHeaders {
		h.Del(name)
		for _, value := range values {
			h.Add(name, value)
		}
	}
	for _, cookie := range r.Cookies {
		h.Add("Set-Cookie", cookie)
	}
	for name := range h {
		if slices.Contains(connectionHeaders, name) {
			h.Del(name)
		}
	}
}

// refuseRequest answers in the gateway's own words.
func refuseRequest(w http.ResponseWriter, status int) {
	write(w, status, fmt.Sprintf(`{"message":%q}`, http.StatusText(status)))
}
