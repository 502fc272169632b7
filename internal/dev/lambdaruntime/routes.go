package lambdaruntime

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"
)

const version = "/2018-06-01/runtime"

// The headers of an event.
const (
	headerRequestID = "Lambda-Runtime-Aws-Request-Id"
	headerDeadline  = "Lambda-Runtime-Deadline-Ms"
	headerARN       = "Lambda-Runtime-Invoked-Function-Arn"
	headerTraceID   = "Lambda-Runtime-Trace-Id"
	headerTenantID  = "Lambda-Runtime-Aws-Tenant-Id"
)

// The types of the errors that the API answers with.
const (
	invalidRequestID  = "InvalidRequestID"
	invalidTransition = "InvalidStateTransition"
	tooLarge          = "RequestEntityTooLarge"
	unreadableBody    = "InvalidRequestBody"
)

func (a *api) routes() http.Handler {
	mux := http.NewServeMux()
	for pattern, handle := range map[string]http.HandlerFunc{
		"GET " + version + "/invocation/next":           a.handleNext,
		"POST " + version + "/invocation/{id}/response": a.handleResponse,
		"POST " + version + "/invocation/{id}/error":    a.handleError,
		"POST " + version + "/init/error":               a.handleInitError,
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if !a.begin() {
				return
			}
			defer a.active.Done()
			handle(w, r)
		})
	}
	return mux
}

// handleNext blocks until there is an event for the process.
func (a *api) handleNext(w http.ResponseWriter, r *http.Request) {
	if at, ok := a.enter(phaseWaiting, phaseInit, phaseAnswered); !ok {
		refuseTransition(w, at, "next")
		return
	}
	select {
	case i := <-a.next:
		a.take(i)
		a.send(w, i)
	case <-r.Context().Done():
		// The process ended, or dropped the connection to ask again.
		a.enter(phaseAnswered, phaseWaiting)
	}
}

func (a *api) send(w http.ResponseWriter, i *invocation) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set(headerRequestID, i.id)
	h.Set(headerDeadline, strconv.FormatInt(i.deliver().UnixMilli(), 10))
	h.Set(headerARN, a.function.arn())
	h.Set(headerTraceID, traceID(time.Now()))
	if a.function.TenantID != "" {
		h.Set(headerTenantID, a.function.TenantID)
	}
	_, _ = w.Write(i.payload) // fails if the process was killed, and then its end is the answer
}

func (a *api) handleResponse(w http.ResponseWriter, r *http.Request) {
	a.answer(w, r, "response", func(body []byte) result { return result{response: body} })
}

func (a *api) handleError(w http.ResponseWriter, r *http.Request) {
	a.answer(w, r, "error", func(body []byte) result { return result{err: reported(body)} })
}

// answer ends the current invocation with the body of the request.
func (a *api) answer(w http.ResponseWriter, r *http.Request, what string, toResult func([]byte) result) {
	i, ok := a.invocation(r.PathValue("id"))
	if !ok {
		refuse(w, http.StatusBadRequest, invalidRequestID, "Invalid request ID")
		return
	}
	body, whole, err := read(r)
	if err != nil {
		refuse(w, http.StatusBadRequest, unreadableBody, "The body cannot be read")
		return
	}
	if at, ok := a.enter(phaseAnswered, phaseRunning); !ok {
		refuseTransition(w, at, what)
		return
	}
	if !whole {
		i.answered <- result{err: serviceError(TypeResponseTooLarge, i.id,
			"Response payload size exceeded maximum allowed payload size (%d bytes).", MaxResponse)}
		refuse(w, http.StatusRequestEntityTooLarge, tooLarge,
			fmt.Sprintf("Exceeded maximum allowed payload size (%d bytes)", MaxResponse))
		return
	}
	i.answered <- toResult(body)
	accept(w)
}

func (a *api) handleInitError(w http.ResponseWriter, r *http.Request) {
	body, _, err := read(r)
	if err != nil {
		refuse(w, http.StatusBadRequest, unreadableBody, "The body cannot be read")
		return
	}
	if at, ok := a.enter(phaseFailed, phaseInit); !ok {
		refuseTransition(w, at, "init/error")
		return
	}
	a.initFailed <- reported(body)
	accept(w)
}

// read reads a body up to the limit. What exceeds it is read, too, so that the connection stays usable, but not returned.
func read(r *http.Request) (body []byte, whole bool, err error) {
	body, err = io.ReadAll(io.LimitReader(r.Body, MaxResponse))
	if err != nil {
		return nil, false, err
	}
	rest, err := io.Copy(io.Discard, r.Body)
	return body, rest == 0, err
}

func accept(w http.ResponseWriter) {
	write(w, http.StatusAccepted, `{"status":"OK"}`)
}

func refuseTransition(w http.ResponseWriter, at phase, what string) {
	refuse(w, http.StatusForbidden, invalidTransition, fmt.Sprintf("%s is not allowed in state %s", what, at))
}

// refuse answers with an error. Its texts are constants of this file and need no escaping.
func refuse(w http.ResponseWriter, status int, kind, message string) {
	write(w, status, fmt.Sprintf(`{"errorType":%q,"errorMessage":%q}`, kind, message))
}

func write(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body) // fails if the process was killed
}
