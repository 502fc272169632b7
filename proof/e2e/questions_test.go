package e2e_test

import (
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"
)

// serveQuestion answers GET /v1/keys/KEY/charges: which charge was made with a key.
func (p *provider) serveQuestion(w http.ResponseWriter, r *http.Request) {
	key := strings.TrimSuffix(strings.TrimPrefix(r.URL.Path, "/v1/keys/"), "/charges")
	p.ask(key, 1)
	time.Sleep(10 * time.Millisecond) // so that a client has time to come between
	p.mu.Lock()
	answer := p.questions
	p.mu.Unlock()
	if answer != nil && answer(w, r, key) {
		return
	}
	text := p.list(key)
	p.ask(key, -1)
	reply(w, http.StatusOK, text)
}

// ask notes that a question begins or ends. It ends before it is answered: what comes then is no request beside it.
func (p *provider) ask(key string, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asking[key] += n
}

// list is the truth about a key.
func (p *provider) list(key string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, e := range p.effects {
		if e.Key == key && e.Route == charge {
			_, body, _ := strings.Cut(p.known[key].request, " ")
			return listOf(e.ID, key, e.Amount, body)
		}
	}
	return `{"object":"list","data":[]}`
}

func listOf(id, key string, amount int64, request string) string {
	var sent struct {
		Currency string          `json:"currency"`
		Metadata json.RawMessage `json:"metadata"`
	}
	if err := json.Unmarshal([]byte(request), &sent); err != nil {
		panic(err) // the provider has read it before
	}
	text, err := json.Marshal(map[string]any{"object": "list", "data": []any{map[string]any{
		"id": id, "idempotency_key": key, "status": "succeeded", "amount": amount, "currency": sent.Currency, "metadata": sent.Metadata,
	}}})
	if err != nil {
		panic(err)
	}
	return string(text)
}

// misbehave answers a question with the truth, a failure, silence, nonsense, the charge of another key, or the lie that there is none.
func (p *provider) misbehave(w http.ResponseWriter, r *http.Request, key string) (answered bool) {
	var text string
	switch rand.N(10) {
	case 0, 1:
		p.ask(key, -1)
		refuse(w, http.StatusServiceUnavailable, "down")
		return true
	case 2:
		<-r.Context().Done() // the question lasts until whoever has asked goes away
		p.ask(key, -1)
		return true
	case 3:
		text = "<html>"
	case 4:
		text = listOf("ch_lie", key+"x", 1, `{"currency":"eur"}`)
	case 5, 6:
		text = `{"object":"list","data":[]}`
	default:
		return false
	}
	p.ask(key, -1)
	reply(w, http.StatusOK, text)
	return true
}

// questionsWith sets how questions are answered.
func (p *provider) questionsWith(answer func(w http.ResponseWriter, r *http.Request, key string) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.questions = answer
}

// besideQuestions are the keys of requests that came while a question about them ran.
func (p *provider) besideQuestions() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.beside
}

// letGo ends all holding.
func (p *provider) letGo() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.before, p.after = nil, nil
}
