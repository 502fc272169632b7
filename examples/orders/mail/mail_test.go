package mail_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/examples/orders/counting"
	"github.com/go-idempotent/idempotent/examples/orders/mail"
	"github.com/go-idempotent/idempotent/examples/orders/mail/mailtest"
	"github.com/go-idempotent/idempotent/examples/orders/order"
	"github.com/go-idempotent/idempotent/outbox"
)

func at(t *testing.T, baseURL string) outbox.Deliver {
	t.Helper()
	u, err := url.Parse(baseURL)
	require.NoError(t, err)
	return mail.At(u)
}

// placed is the message of the sample event.
func placed() outbox.Message {
	return outbox.Message{ID: mailtest.ID, Topic: order.PlacedTopic, Body: json.RawMessage(mailtest.Body)}
}

func TestTheMailGetsTheMessageWithItsIDAsTheKey(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"", "/", "/mail", "/mail/"} {
		m := mailtest.NewMail(t)
		deliver := at(t, m.URL+path)
		for range 2 {
			require.NoError(t, deliver(t.Context(), placed()))
		}
		prefix := "/mail"
		if len(path) < 2 {
			prefix = ""
		}
		letter := mailtest.Letter{What: "POST " + prefix + "/v1/messages", Key: mailtest.ID, MediaType: "application/json", Body: mailtest.Body}
		require.Equal(t, []mailtest.Letter{letter, letter}, m.Letters(), "delivered again it is the same")
	}
}

func TestOnlyASuccessSaysThatTheMessageHasArrived(t *testing.T) {
	t.Parallel()
	m := mailtest.NewMail(t)
	deliver := at(t, m.URL)
	for _, status := range []int{200, 201, 202, 204, 299} {
		m.Answer(status)
		require.NoError(t, deliver(t.Context(), placed()), status)
	}
	for _, status := range []int{300, 302, 304, 400, 401, 404, 409, 410, 413, 422, 429, 500, 503} {
		m.Answer(status)
		err := deliver(t.Context(), placed())
		require.ErrorContains(t, err, strconv.Itoa(status))
		require.NotContains(t, err.Error(), "secret")
	}
}

// The mail that is configured gets the message, and nobody else.
func TestARedirectIsNotFollowed(t *testing.T) {
	t.Parallel()
	elsewhere := mailtest.NewMail(t)
	server := httptest.NewServer(http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect))
	t.Cleanup(server.Close)
	require.ErrorContains(t, at(t, server.URL)(t.Context(), placed()), "307")
	require.Empty(t, elsewhere.Letters())
}

func TestAMailThatIsGoneOrSilentIsTriedAgain(t *testing.T) {
	t.Parallel()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	require.Error(t, at(t, gone.URL)(t.Context(), placed()))

	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		_, _ = io.Copy(io.Discard, req.Body) // the server sees then that its client has gone
		<-req.Context().Done()
	}))
	t.Cleanup(silent.Close)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, at(t, silent.URL)(ctx, placed()), context.DeadlineExceeded)
}

// A message that a newer version of the orders has committed is kept for a newer version of the relay.
func TestAMessageOfAnotherTopicIsNotForTheMail(t *testing.T) {
	t.Parallel()
	m := mailtest.NewMail(t)
	other := placed()
	other.Topic = "order-cancelled"
	require.ErrorContains(t, at(t, m.URL)(t.Context(), other), `"order-cancelled"`)
	require.Empty(t, m.Letters())
}

func TestWithoutAMailMessagesAreCountedByTheirKeys(t *testing.T) {
	t.Parallel()
	counted := counting.New()
	deliver := mail.Counted(counted)
	another := placed()
	another.ID = "another"
	for _, m := range []outbox.Message{placed(), placed(), another} {
		require.NoError(t, deliver(t.Context(), m))
	}
	require.Equal(t, 2, counted.Done(counting.Message))
}
