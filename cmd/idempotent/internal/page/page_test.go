package page_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/page"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/operate"
	"github.com/go-idempotent/idempotent/outbox"
	"github.com/go-idempotent/idempotent/store"
)

// What is stuck, by what is to be done, without anything that a client got.
func TestWhatIsStuck(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	a := s.get(t, "/")
	assert.Equal(t, http.StatusOK, a.status)
	sections := strings.Split(a.body, "<h2>")
	require.Len(t, sections, 4)
	for i, keys := range [][]string{
		{"charge#uncertain", "order#stopped", "order#begun"},
		{"charge#given-up"},
		{"order#not-due"},
	} {
		for _, key := range keys {
			assert.Contains(t, sections[i+1], ">"+key+"<", key)
			assert.Equal(t, 1, strings.Count(a.body, ">"+key+"<"), key)
		}
	}
	assert.Less(t, strings.Index(a.body, "charge#error"), strings.Index(a.body, "charge#crashed"), "the oldest first")
	assert.NotContains(t, a.body, "charge#completed")
	one := s.get(t, "/?operation=order")
	assert.NotContains(t, one.body, "charge#")
	assert.Contains(t, one.body, "order#begun")
	assert.Contains(t, s.get(t, "/?operation=nothing").body, "Nothing is stuck")
}

func TestOnlySoManyAreListed(t *testing.T) {
	t.Parallel()
	s := newSiteOn(t, memory.New())
	for i := range 230 {
		s.put(t, "charge#crashed", func(r *store.Record) {
			r.Key = fmt.Sprintf("charge#%d", i)
			r.Attention = store.AttentionOf(r.Key)
		})
	}
	a := s.get(t, "/")
	assert.Equal(t, 200, strings.Count(a.body, "<tr role=\"row\">\n"))
	assert.Contains(t, a.body, "the oldest 200 of 230")
	a = newSite(t, (&outboxOf{more: 227}).of).get(t, "/messages")
	assert.Equal(t, 200, strings.Count(a.body, `name="id"`))
	assert.Contains(t, a.body, "The first 200 of 230")
}

// A table without the index says so.
func TestWithoutAnIndex(t *testing.T) {
	t.Parallel()
	over := newOtherwise(t)
	over.list = func(context.Context, store.Query) iter.Seq2[store.Record, error] {
		return func(yield func(store.Record, error) bool) {
			yield(store.Record{}, &store.Error{Op: "list", Kind: store.FailureRejected, Err: store.ErrNoIndex})
		}
	}
	s := newSiteOn(t, over)
	for path, says := range map[string]string{
		"/": "idempotent list --scan", "/search?q=8e48d9e1-f17f-854f-9761-73a77acb7875": "There is no index",
	} {
		a := s.get(t, path)
		assert.Equal(t, http.StatusOK, a.status)
		assert.Contains(t, a.body, says)
	}
}

// Whatever somebody wrote into a record is text, and steers neither the page nor the eye.
func TestHostileRecords(t *testing.T) {
	t.Parallel()
	const bad = "</p></textarea></pre><script>alert(1)</script><img src=x " +
		"onerror=alert(1)>\"'`{{.}}\u202e\u2066\u200b\x00\x1b[31m\u0085\ufeff"
	s := newSiteOn(t, memory.New(), func(c *page.Config) {
		c.Sentence = func(err error) string { return err.Error() + bad }
		c.Store = bad
	})
	const unknown, begun, recorded = bad + "#" + bad, bad, bad + "2"
	result, err := json.Marshal(bad)
	require.NoError(t, err)
	s.put(t, "order#begun", func(r *store.Record) {
		r.Key, r.Reason, r.Derived = unknown, bad, []string{bad}
		r.SettledBy, r.SettledAt, r.SettledReason = bad, s.now, bad
		r.Attention = store.AttentionOf(r.Key)
		r.Steps = map[string]store.Step{
			begun:    {Kind: store.StepStarted, Seal: store.Seal(r.Owner, nil)},
			recorded: {Kind: store.StepValue, Seal: store.Seal(r.Owner, result), Result: result},
		}
	})
	s.put(t, "charge#completed", func(r *store.Record) {
		r.Result, r.Seal = []byte(bad), store.Seal(r.Owner, []byte(bad))
	})
	preview := func(verdict string, more map[string]string) answer {
		fields := map[string]string{"verdict": verdict, "step": url.QueryEscape(begun)}
		maps.Copy(fields, more)
		return s.preview(t, unknown, fields)
	}
	key, text := url.QueryEscape(unknown), url.QueryEscape(bad)
	pages := map[string]answer{
		"overview": s.get(t, "/"), "operation": s.get(t, "/?operation="+text),
		"record": s.get(t, "/record?key="+key+"&derived="+text), "act": s.get(t, "/act?key="+key),
		"preview":    preview("not-executed", nil),
		"step":       preview("executed", map[string]string{"result": string(result)}),
		"step fails": preview("failed", map[string]string{"type": bad, "message": bad}),
		"no verdict": preview(bad, nil), "no result": preview("executed", map[string]string{"result": bad}),
		"why":     preview("released", map[string]string{"why": bad}),
		"by":      preview("released", map[string]string{"by": bad}),
		"missing": s.record(t, bad), "search": s.get(t, "/search?q="+text), "path": s.get(t, "/"+url.PathEscape(bad)),
		"step result": s.result(t, unknown, recorded), "result": s.result(t, "charge#completed", ""),
	}
	for name, a := range pages {
		assert.NotContains(t, a.body, "<script", name)
		assert.NotContains(t, a.body, "<img", name)
		assert.Equal(t, strings.Count(a.body, "<p"),
			strings.Count(a.body, "</p")+strings.Count(a.body, "<pre")-strings.Count(a.body, "</pre"), name)
		assert.Empty(t, unprintableText(a.body), name)
	}
	assert.Contains(t, pages["result"].body, `\u202e`)
	assert.Contains(t, pages["step result"].body, `&lt;script&gt;`)
	assert.Contains(t, pages["preview"].body, "Nothing has been changed yet")
	assert.Contains(t, pages["step"].body, "Nothing has been changed yet")
	assert.Contains(t, s.confirm(t, pages["step"]).body, "It is done", "what goes through forms comes back as it was")
	assert.JSONEq(t, string(result), string(s.kept(t, unknown).Steps[begun].Result))
	assert.Empty(t, s.wrong)
}

// unprintableText is what of a page no person should meet: what is neither printable nor white
// space, outside of the values of forms.
func unprintableText(body string) string {
	var b strings.Builder
	inTag, inTextarea := false, false
	for i, r := range body {
		switch {
		case strings.HasPrefix(body[i:], "<textarea"):
			inTag, inTextarea = true, true
		case strings.HasPrefix(body[i:], "</textarea"):
			inTag, inTextarea = true, false
		case r == '<':
			inTag = true
		case r == '>':
			inTag = false
		case !inTag && !inTextarea && r != '\n' && !unicode.IsPrint(r):
			fmt.Fprintf(&b, "%U ", r)
		}
	}
	return b.String()
}

// A result is read when somebody asks for it, and is nowhere before.
func TestAResultIsShownOnDemandOnly(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for key, c := range map[string]struct{ step, secret string }{
		"charge#completed": {"", "ch_2"},
		"charge#declined":  {"", "the card was declined"},
		"order#begun":      {"reserve", "reserve-1"},
	} {
		a := s.record(t, key)
		assert.Equal(t, http.StatusOK, a.status, key)
		assert.NotContains(t, a.body, c.secret, key)
		assert.Contains(t, s.result(t, key, c.step).body, c.secret, key)
	}
	assert.Equal(t, http.StatusConflict, s.result(t, "charge#uncertain", "").status, "it has none")
	assert.Equal(t, http.StatusNotFound, s.result(t, "charge#nothing", "").status)
}

func TestALongResultIsCut(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	result := []byte(`"` + strings.Repeat("ä", 200<<10) + `"`)
	s.put(t, "charge#completed", func(r *store.Record) {
		r.Key, r.Result, r.Seal = "charge#long", result, store.Seal(r.Owner, result)
	})
	a := s.result(t, "charge#long", "")
	assert.Contains(t, a.body, fmt.Sprintf("%d more bytes", len(result)-256<<10))
	assert.NotContains(t, a.body, "\ufffd")
}

// Each verdict is shown before, changes nothing until it is confirmed, and leaves who, when and
// why.
func TestSettleAndRelease(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		key, verdict string
		fields       map[string]string
		shows        string
		action       operate.Action
		state        operate.State
	}{
		"executed": {
			"charge#uncertain", "executed",
			map[string]string{"result": "{\"statusCode\":201,\r\n\"body\":\"{}\"}"},
			"completed with the given result", operate.ActionExecuted, operate.StateCompleted,
		},
		"not executed": {
			"charge#uncertain", "not-executed", nil,
			"kept as released", operate.ActionNotExecuted, operate.StateReleased,
		},
		"failed": {
			"charge#died", "failed",
			map[string]string{"type": "Declined", "message": "the card was declined"},
			"completed with an error of type", operate.ActionFailed, operate.StateCompleted,
		},
		"released": {
			"charge#died", "released", nil,
			"kept as released", operate.ActionRelease, operate.StateReleased,
		},
		"half done": {
			"order#stopped", "failed",
			map[string]string{"type": "Abandoned", "message": "the order was undone"},
			"completed with an error of type", operate.ActionFailed, operate.StateCompleted,
		},
		"step executed": {
			"order#begun", "executed",
			map[string]string{"step": "charge", "result": `{"id":"ch_1"}`},
			"is recorded with the given result", operate.ActionStepExecuted, operate.StateReleased,
		},
		"step failed": {
			"order#begun", "failed",
			map[string]string{"step": "charge", "type": "Declined", "message": "no"},
			"is recorded with an error", operate.ActionStepFailed, operate.StateReleased,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			fields := verdictOf(c.verdict)
			maps.Copy(fields, c.fields)
			previewed := s.preview(t, c.key, fields)
			assert.Contains(t, previewed.body, c.shows)
			s.untouched(t, c.key)
			done := s.confirm(t, previewed)
			assert.Equal(t, http.StatusOK, done.status)
			for _, says := range []string{"It is done", "by dana", "ticket 4711"} {
				assert.Contains(t, done.body, says)
			}
			r := s.kept(t, c.key)
			assert.Equal(t, c.state, operate.StateOf(r, s.now))
			assert.Equal(t, []string{"dana", "ticket 4711"}, []string{r.SettledBy, r.SettledReason})
			require.Len(t, s.done, 1)
			assert.Equal(t, c.action, s.done[0].Action)
			if name == "executed" {
				assert.Equal(t, "{\"statusCode\":201,\n\"body\":\"{}\"}", string(r.Result), "as it was typed")
			}
			for _, at := range []string{"1", "", "0"} { // a link of somebody who wants it to look done
				assert.NotContains(t, s.get(t, "/record?key="+url.QueryEscape(c.key)+"&done="+at).body, "It is done")
			}
			again := s.confirm(t, previewed) // somebody who clicks twice
			assert.Equal(t, http.StatusConflict, again.status)
			assert.Len(t, s.done, 1)
		})
	}
}

// What is confirmed is what was shown: nothing else is taken.
func TestOnlyWhatWasShownIsConfirmed(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	previewed := s.preview(t, "charge#uncertain", verdictOf("not-executed"))
	other := s.preview(t, "charge#crashed", verdictOf("released"))
	form := previewed.confirmation(t)
	for name, change := range map[string]map[string]string{
		"another change": {"asked": other.field(t, "asked")}, "another seal": {"seal": other.field(t, "seal")},
		"no seal": {"seal": ""},
		"nothing": {"asked": "", "seal": ""},
		"a seal of something else": {
			"asked": "charge#uncertain",
			"seal":  s.get(t, "/act?key=charge%23uncertain").field(t, "seen"),
		},
	} {
		changed := maps.Clone(form)
		for k, v := range change {
			changed.Set(k, v)
		}
		assert.Equal(t, http.StatusForbidden, s.post(t, "/confirm", changed).status, name)
	}
	s.untouched(t, "charge#uncertain")
}

// A stored answer that is wrong is forgotten: nothing else is offered of a record that is
// completed.
func TestARecordIsForgotten(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	assert.NotContains(t, s.get(t, "/act?key="+url.QueryEscape("charge#completed")).body, `value="not-executed"`)
	assert.Contains(t, s.confirm(t, s.preview(t, "charge#completed", verdictOf("deleted"))).body,
		"The record is deleted")
	_, found, err := s.store.Get(t.Context(), "charge#completed")
	require.NoError(t, err)
	assert.False(t, found)
	require.Len(t, s.done, 1)
	assert.Equal(t, operate.ActionDelete, s.done[0].Action)
}

// outboxOf has messages that were given up. The second one is redriven by somebody else meanwhile.
type outboxOf struct {
	redriven []string
	more     int
}

func (o *outboxOf) of(c *page.Config) { c.Messages, c.Redrive = o.list, o.redrive }

func (o *outboxOf) list(context.Context) ([]outbox.GivenUpMessage, error) {
	var all []outbox.GivenUpMessage
	for i := range 3 + o.more {
		all = append(all, outbox.GivenUpMessage{Message: outbox.Message{
			ID:    fmt.Sprint("m-", i+1),
			Topic: "order-placed", Tries: 9,
		}})
	}
	return all, nil
}

func (o *outboxOf) redrive(_ context.Context, m outbox.GivenUpMessage, by, why string) error {
	if m.ID == "m-2" {
		return outbox.ErrNotGivenUp
	}
	o.redriven = append(o.redriven, m.ID+" by "+by+": "+why)
	return nil
}

func TestMessagesAreRedriven(t *testing.T) {
	t.Parallel()
	messages := &outboxOf{}
	s := newSite(t, messages.of)
	listed := s.get(t, "/messages")
	assert.Contains(t, listed.body, "order-placed")
	form := listed.form(t, []string{"form"}, map[string]string{"why": ""})
	form["id"] = []string{"m-1", "m-2", "m-9"}
	assert.Equal(t, http.StatusUnprocessableEntity, s.post(t, "/redrive", form).status, "nobody says why")
	form.Set("why", "ticket 4711")
	a := s.post(t, "/redrive", form)
	assert.Contains(t, a.body, "1 redriven")
	assert.Contains(t, a.body, "2 had changed")
	assert.Equal(t, []string{"m-1 by dana: ticket 4711"}, messages.redriven)
	assert.Equal(t, http.StatusNotFound, newSite(t).get(t, "/messages").status)
}

// Whoever decides on a record that has changed meanwhile is shown the record as it is now, at
// either of the two steps.
func TestARecordThatHasChangedMeanwhile(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	form := s.verdict(t, "charge#uncertain", verdictOf("released"))
	previewed := s.preview(t, "charge#uncertain", verdictOf("not-executed"))
	shown, err := s.operator().Inspect(t.Context(), "charge#uncertain")
	require.NoError(t, err)
	_, err = s.operator().Settle(t.Context(), shown, operate.Responded([]byte(`{"statusCode":201}`)),
		operate.Act{By: "kim", Why: "ticket 4712"})
	require.NoError(t, err)
	owner := s.kept(t, "charge#uncertain").Owner
	for name, a := range map[string]answer{"preview": s.post(t, "/preview", form), "confirm": s.confirm(t, previewed)} {
		assert.Equal(t, http.StatusConflict, a.status, name)
		assert.Contains(t, a.body,
			"The record has changed since you looked at it: it is completed now. Nothing was changed.", name)
		assert.Contains(t, a.body, "by kim", name)
	}
	assert.Equal(t, owner, s.kept(t, "charge#uncertain").Owner)
	deleted, err := s.store.Delete(t.Context(), s.kept(t, "charge#uncertain"))
	require.NoError(t, err)
	require.True(t, deleted)
	a := s.confirm(t, previewed)
	assert.Equal(t, http.StatusConflict, a.status)
	assert.Contains(t, a.body, "The record is gone")
	assert.Empty(t, s.done)
}

// A change between the look at the record and the write is refused by the write itself.
func TestARecordThatChangesAtTheLastMoment(t *testing.T) {
	t.Parallel()
	over := newOtherwise(t)
	s := newSiteOn(t, over)
	previewed := s.preview(t, "charge#uncertain", verdictOf("not-executed"))
	over.swap = func(ctx context.Context, seen, next store.Record) (store.Record, bool, error) {
		over.swap = over.Store.Swap
		shown, err := s.operator().Inspect(ctx, "charge#uncertain")
		assert.NoError(t, err)
		_, err = s.operator().Release(ctx, shown, operate.Act{By: "kim", Why: "ticket 4712"})
		assert.NoError(t, err)
		return over.swap(ctx, seen, next)
	}
	a := s.confirm(t, previewed)
	assert.Equal(t, http.StatusConflict, a.status)
	assert.Contains(t, a.body, "The record has changed since you looked at it")
	assert.Contains(t, a.body, "by kim")
	assert.Empty(t, s.done)
}

// What is wrong with what was asked is said beside the form, which keeps what was typed.
func TestWhatCannotBeRight(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for name, c := range map[string]struct {
		fields map[string]string
		says   string
	}{
		"no verdict": {map[string]string{}, "Say what became of the execution."},
		"no result":  {map[string]string{"verdict": "executed"}, "The result is missing"},
		"no JSON":    {map[string]string{"verdict": "executed", "result": "{"}, "The result of 1 bytes is no JSON."},
		"no response": {
			map[string]string{"verdict": "executed", "result": `{"id":"ch_1"}`},
			"esult is no response of a gateway",
		},
		"half an error": {
			map[string]string{"verdict": "failed", "type": "Declined"},
			"A failure needs a type and a message",
		},
		"a danger":   {map[string]string{"verdict": "not-executed", "repeat": ""}, "may have had its effect"},
		"a deletion": {map[string]string{"verdict": "deleted", "repeat": ""}, "may have had its effect"},
		"no reason": {
			map[string]string{"verdict": "released", "repeat": "1", "why": " "},
			"Say who you are, and why.",
		},
		"nobody": {map[string]string{"verdict": "released", "repeat": "1", "by": ""}, "Say who you are, and why."},
		"no such step": {
			map[string]string{"verdict": "executed", "step": "mail", "result": "1"},
			"the record has no such step",
		},
	} {
		a := s.preview(t, "charge#uncertain", c.fields)
		assert.GreaterOrEqual(t, a.status, 400, name)
		assert.Contains(t, a.body, c.says, name)
		assert.Contains(t, a.body, `name="why"`, name)
		if c.fields["type"] != "" {
			assert.Contains(t, a.body, `value="Declined"`, name)
		}
	}
	for _, key := range []string{"charge#in-progress", "billing.handler#5d41402abc4b2a76b9719d911017c592"} {
		a := s.get(t, "/act?key="+url.QueryEscape(key))
		assert.Equal(t, http.StatusConflict, a.status, key)
		assert.Contains(t, a.body, "There is nothing to settle", key)
	}
	s.untouched(t, "charge#uncertain")
}

func TestReadOnly(t *testing.T) {
	t.Parallel()
	s, open := newSite(t, func(c *page.Config) { c.ReadOnly = true }), newSite(t)
	a := s.record(t, "charge#uncertain")
	assert.NotContains(t, a.body, "/act")
	assert.Contains(t, a.body, "read only")
	assert.Equal(t, http.StatusForbidden, s.get(t, "/act?key=charge%23uncertain").status)
	form := open.preview(t, "charge#uncertain", verdictOf("released")).confirmation(t)
	form.Set("form", s.record(t, "charge#completed").field(t, "form"))
	for _, path := range []string{"/preview", "/confirm"} {
		assert.Equal(t, http.StatusForbidden, s.post(t, path, form).status, path)
	}
	assert.Contains(t, s.result(t, "charge#completed", "").body, "ch_2")
	s.untouched(t, "charge#uncertain")
}

// A record is told as the command tells it: the keys to ask a provider by, and the moments in their
// order, of which those are marked that are still to come.
func TestTheStoryOfARecord(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	assert.Contains(t, s.record(t, "order#begun").body, ">charge: 8e48d9e1-f17f-854f-9761-73a77acb7875<")
	assert.Contains(t, s.record(t, "charge#died").body, "inspect --derived NAME computes the key")
	for key, want := range map[string][]string{
		"charge#in-progress": {"quiet 02:59:56", "quiet ahead 03:00:18", "quiet ahead 02:59:56"},
		"charge#expired":     {"quiet 02:00:00", "well 02:00:01", "quiet 02:00:00"},
	} {
		var told []string
		moment := regexp.MustCompile(`<li class="([a-z ]+)">\n<p class="when"><time datetime="[0-9-]+T([0-9:]+)Z"`)
		for _, found := range moment.FindAllStringSubmatch(s.record(t, key).body, -1) {
			told = append(told, found[1]+" "+found[2])
		}
		assert.Equal(t, want, told, key)
	}
}

func TestSearch(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	begun := recordOf(t, "order#begun")
	d := idempotent.Description{Protected: true, RecordKey: begun.Key, Fingerprint: begun.Fingerprint}
	a := s.get(t, "/search?q="+d.DerivedKey("charge"))
	assert.Contains(t, a.body, `<h1 class="key">order#begun</h1>`)
	assert.Contains(t, a.body, "as “charge”")
	a = s.get(t, "/search?q="+url.QueryEscape(" charge#died "))
	assert.Contains(t, a.body, `<h1 class="key">charge#died</h1>`)
	assert.Equal(t, s.home+"/", s.get(t, "/search?q=").url)
	for q, c := range map[string]struct {
		status int
		says   string
	}{
		"charge#nothing":     {http.StatusNotFound, "There is no such record"},
		d.DerivedKey("mail"): {http.StatusNotFound, "No record has handed out this key"},
		"order-1":            {http.StatusUnprocessableEntity, "This is no key"},
	} {
		a := s.get(t, "/search?q="+url.QueryEscape(q))
		assert.Equal(t, c.status, a.status, q)
		assert.Contains(t, a.body, c.says, q)
	}
}
