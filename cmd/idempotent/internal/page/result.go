package page

import (
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/go-idempotent/idempotent/operate"
)

// mostShown is how much of a result is shown, in bytes.
const mostShown = 256 << 10

// result shows the result of a record, or of one of its steps: what a client got, perhaps personal, so only if somebody asks for it.
func (p *Page) result(w http.ResponseWriter, r *http.Request) {
	key := unfield(r.PostForm.Get("key"))
	shown, err := p.Operator.Inspect(r.Context(), key)
	if err != nil {
		p.failedOf(w, key, err)
		return
	}
	name := unfield(r.PostForm.Get("step"))
	result, err := p.read(r, shown, name)
	if err != nil {
		p.failedOf(w, key, err)
		return
	}
	v := p.storyOf(shown)
	v.ShownOf, v.Cut = name, max(0, len(result)-mostShown)
	text := strings.ToValidUTF8(string(clipped(result)), "\uFFFD")
	v.Shown = &text
	p.showRecord(w, http.StatusOK, v)
}

func (p *Page) read(r *http.Request, shown operate.Shown, step string) ([]byte, error) {
	if r.PostForm.Has("step") {
		return p.Operator.StepResult(r.Context(), shown, step)
	}
	return p.Operator.Result(r.Context(), shown)
}

// clipped is the beginning of a result, up to the end of a character.
func clipped(result []byte) []byte {
	if len(result) <= mostShown {
		return result
	}
	end := mostShown
	for end > mostShown-utf8.UTFMax && !utf8.RuneStart(result[end]) {
		end--
	}
	return result[:end]
}
