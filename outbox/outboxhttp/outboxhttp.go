// Package outboxhttp delivers the messages of an outbox over HTTP:
//
//	relay := outbox.NewRelay(client, table, outboxhttp.To("https://mail.example.com/v1/messages"))
//
// # What the receiver gets
//
// A POST whose body is the body of the message, with these headers:
//
//   - Content-Type: application/json
//   - Idempotency-Key: the id of the message, as plain text without quotes. It is the same whenever
//     the message is delivered, and a message may be delivered more than once: a receiver that
//     knows the key again acts once
//   - Outbox-Topic: the topic
//   - X-Amzn-Trace-Id: the trace header of the invocation that has committed the message, if there
//     is one
//   - each attribute of the message, by its name
//   - those of [Config]
//
// # What it answers
//
// A status from 200 to 299 means that the message has arrived. Anything else is tried again. A
// redirect is not followed, because a POST would become a GET, whose 200 says nothing of the
// message. What stands in the answer does not matter.
//
// # What can be no header
//
// A message whose id, topic or attribute cannot be a header is given up at once: its text has to be
// printable ASCII without spaces at the ends, and the name of an attribute a header name. An
// attribute must not have the name of a header that this package, net/http or an option sets, and
// none that tells who the sender is: Authorization, Cookie and Proxy-Authorization are not for
// whoever fills in a message. The error names the attribute, and never its value.
package outboxhttp

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/go-idempotent/idempotent/outbox"
)

// maxDrained is how much of an answer is read, so that its connection can be used again.
const maxDrained = 64 << 10

// To returns a function that delivers messages to a URL, for [outbox.NewRelay]. The URL is absolute
// and begins with http or https; a user and a password in it become basic authentication. It sends
// nothing yet.
//
// It panics with a [*store.ConfigError] that names every problem of the configuration. Neither that
// nor an error of a delivery has anything of the URL but the host, nor anything of a message but
// the name of an attribute.
//
// The error of a delivery is a [*StatusError] if there was an answer. Otherwise the receiver may
// have got the message, or not. Only what can be no header is an [outbox.Permanent] error, unless
// [Config.Permanent] says otherwise.
//
// The function is safe for concurrent use. [outbox.Config] bounds each delivery. net/http itself
// sends a message again only on a connection that had been idle and turns out to be closed, which
// the key makes safe.
func To(url string, config ...Config) outbox.Deliver {
	return configOf(url, config).deliver
}

func (c *config) deliver(ctx context.Context, m outbox.Message) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(m.Body))
	if err != nil {
		return fmt.Errorf("outboxhttp: no request can be made: %w", withoutURL(err))
	}
	if req.Header, err = c.headersOf(m); err != nil {
		return outbox.Permanent(fmt.Errorf("outboxhttp: %w", err))
	}
	resp, err := c.client.Do(req)
	if err != nil {
		return fmt.Errorf("outboxhttp: no answer: %w", withoutURL(err))
	}
	defer resp.Body.Close()
	// The status has decided already: an answer that breaks off here costs its connection and
	// nothing else.
	_, _ = io.CopyN(io.Discard, resp.Body, maxDrained)
	return c.judge(resp.StatusCode)
}

func (c *config) judge(status int) error {
	if status >= 200 && status <= 299 {
		return nil
	}
	err := &StatusError{Status: status}
	if c.permanent != nil && c.permanent(status) {
		return outbox.Permanent(err)
	}
	return err
}

// StatusError is that of a receiver which has answered, but not that it has got the message. It has
// nothing of the answer but the status.
type StatusError struct {
	// Status is what the receiver has answered: none from 200 to 299.
	Status int
}

func (e *StatusError) Error() string {
	return fmt.Sprintf("outboxhttp: the receiver answered with status %d", e.Status)
}

// withoutURL drops the URL from an error of net/http: a user name, or a part of the path, may be a
// secret.
func withoutURL(err error) error {
	for {
		ue, is := err.(*url.Error) //nolint:errorlint // what wraps it may quote it
		if !is {
			return err
		}
		err = ue.Err
	}
}
