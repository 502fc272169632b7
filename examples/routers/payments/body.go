package payments

import (
	"encoding/json"
	"log/slog"
	"net/http"
)

// maxBody is more than a Lambda function can receive (6 MB), in bytes.
const maxBody = 8 << 20

// read reads the body, and answers if it is none.
func read(w http.ResponseWriter, r *http.Request, v any) bool {
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody)).Decode(v); err != nil {
		problem(w, http.StatusBadRequest, "The body must be a JSON object.")
		return false
	}
	return true
}

// answer answers with JSON. The status is written first: a status after the body would count here, and would not on a server.
func answer(w http.ResponseWriter, status int, v any) { write(w, status, "application/json", v) }

// problem answers with a problem document (RFC 9457), the form in which idempotent.Wrap answers, too.
func problem(w http.ResponseWriter, status int, detail string) {
	write(w, status, "application/problem+json", map[string]any{"title": http.StatusText(status), "status": status, "detail": detail})
}

func write(w http.ResponseWriter, status int, mediaType string, v any) {
	w.Header().Set("Content-Type", mediaType)
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(v); err != nil {
		slog.Warn("the answer was not written", "error", err)
	}
}
