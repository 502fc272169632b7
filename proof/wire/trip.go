package wire

import (
	"bytes"
	"encoding/json"
	"hash/crc32"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
)

// trip is one request on its way.
type trip struct {
	proxy    *Proxy
	exchange *Exchange
	w        http.ResponseWriter
	r        *http.Request
	// body is what is forwarded, reply what came back first, or is sent in its place; the zero
	// reply if there is none.
	body  []byte
	reply reply
}

// reply is an answer to a client.
type reply struct {
	status int
	header http.Header
	body   []byte
}

// serve handles one request.
func (p *Proxy) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler) // the client gave up before it had sent the request
	}
	x, f := p.arrive(r, body)
	t := &trip{proxy: p, exchange: x, w: w, r: r, body: body}
	for _, step := range f.steps {
		step(t)
	}
}

// forward sends the request to the server.
func (t *trip) forward() {
	reply, err := t.send()
	t.proxy.note(func() {
		t.exchange.Forwarded++
		switch {
		case err != nil:
			t.exchange.Err = err
		case t.exchange.Status == 0:
			t.exchange.Status, t.reply = reply.status, reply
		}
	})
}

func (t *trip) send() (reply, error) {
	out := t.r.Clone(t.proxy.lifetime)
	out.URL.Scheme, out.URL.Host = t.proxy.target.Scheme, t.proxy.target.Host
	out.RequestURI = "" // as clients must leave it
	out.Header.Del("Connection")
	// A body that cannot be rewound keeps the transport from sending it again by itself.
	out.Body, out.GetBody, out.ContentLength = io.NopCloser(bytes.NewReader(t.body)), nil, int64(len(t.body))
	response, err := t.proxy.client.Do(out)
	if err != nil {
		return reply{}, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return reply{}, err
	}
	return reply{status: response.StatusCode, header: response.Header, body: body}, nil
}

// answer passes the reply on. Where there is none, the client's connection is closed.
func (t *trip) answer() {
	if t.r.Context().Err() == nil {
		t.proxy.note(func() { t.exchange.Answered = t.reply.status })
	}
	t.write(len(t.reply.body))
}

func (t *trip) answerHalf() { t.write(len(t.reply.body) / 2) }

// write sends the head of the reply and the first n bytes of its body. It fails only if the client
// is gone.
func (t *trip) write(n int) {
	if t.reply.status == 0 {
		t.hangUp()
	}
	header := t.w.Header()
	maps.Copy(header, t.reply.header)
	header.Del("Connection")
	header.Set("Content-Length", strconv.Itoa(len(t.reply.body)))
	t.w.WriteHeader(t.reply.status)
	_, _ = t.w.Write(t.reply.body[:n])
	_ = http.NewResponseController(t.w).Flush()
}

// hangUp closes the client's connection.
func (t *trip) hangUp() { panic(http.ErrAbortHandler) }

// clientGone waits until the client has closed its connection.
func (t *trip) clientGone() { <-t.r.Context().Done() }

// errorReply is an error in the protocol of DynamoDB, see
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Programming.Errors.html. Of a
// transaction with items it says that it was cancelled because of one of them, for its code.
func errorReply(status int, code string, items, item int) reply {
	const prefix, message = "com.amazonaws.dynamodb.v20120810#", "injected by the proxy"
	content := map[string]any{"__type": prefix + code, "message": message}
	if items > 0 {
		reasons := slices.Repeat([]map[string]string{{"Code": "None"}}, items)
		reasons[item] = map[string]string{"Code": code, "Message": message}
		content["__type"], content["CancellationReasons"] = prefix+"TransactionCanceledException", reasons
	}
	body, header := marshal(content), make(http.Header)
	header.Set("Content-Type", "application/x-amz-json-1.0")
	header.Set("X-Amzn-Requestid", "INJECTED")
	header.Set("X-Amz-Crc32", strconv.FormatUint(uint64(crc32.ChecksumIEEE(body)), 10))
	return reply{status: status, header: header, body: body}
}

func marshal(content any) []byte {
	body, err := json.Marshal(content)
	if err != nil {
		panic(err) // texts, and what was JSON before, always have a JSON form
	}
	return body
}
