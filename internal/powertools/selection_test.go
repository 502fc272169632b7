package powertools_test

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/internal/powertools"
	"github.com/go-idempotent/idempotent/jmespath"
)

// expressionVector is an expression and an event, with what published packages select. proof/interop writes them.
type expressionVector struct {
	Expression string  `json:"expression"`
	Event      string  `json:"event"`
	Python     hashing `json:"python"`
	TypeScript hashing `json:"typescript"`
	Java       hashing `json:"java"`
}

// hashing is the text that a package hashes, nil for none.
type hashing struct {
	Hashed *string `json:"hashed"`
	Error  string  `json:"error"`
}

func readExpressions(t testing.TB) []expressionVector {
	t.Helper()
	file, err := os.Open(filepath.Join("testdata", "expressions.jsonl"))
	require.NoError(t, err)
	defer file.Close()
	var vectors []expressionVector
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var v expressionVector
		require.NoError(t, json.Unmarshal(lines.Bytes(), &v))
		vectors = append(vectors, v)
	}
	return vectors
}

// What is selected here is what the language selects, or nothing: there is no event on which the two make different keys.
func TestExpressionsSelectWhatTheLanguageSelects(t *testing.T) {
	t.Parallel()
	vectors := readExpressions(t)
	for _, tc := range []struct {
		language powertools.Language
		of       func(expressionVector) hashing
		// agreed is how many are not refused; the others are, when compiling or on the event.
		agreed int
	}{
		{powertools.Python, func(v expressionVector) hashing { return v.Python }, 1000},
		{powertools.TypeScript, func(v expressionVector) hashing { return v.TypeScript }, 700},
		{powertools.Java17, func(v expressionVector) hashing { return v.Java }, 500},
	} {
		t.Run(string(tc.language), func(t *testing.T) {
			t.Parallel()
			codec := newCodec(t, tc.language, "")
			agreed := 0
			for _, v := range vectors {
				compiled, err := codec.Compile(v.Expression)
				if err != nil {
					require.ErrorIs(t, err, jmespath.ErrDialect, v.Expression)
					continue
				}
				got, refused := selectionOf(codec, compiled, v.Event)
				want := tc.of(v)
				if refused && want.Error == "" {
					continue
				}
				agreed++
				want.Error, got.Error = "", ""
				assert.Equal(t, want, got, "%s\non %s", v.Expression, v.Event)
				assert.Equal(t, tc.of(v).Error != "", refused, "%s\non %s", v.Expression, v.Event)
			}
			assert.GreaterOrEqual(t, agreed, tc.agreed, "of %d", len(vectors))
		})
	}
}

func selectionOf(codec *powertools.Codec, compiled *jmespath.Expression, event string) (s hashing, refused bool) {
	selected, err := compiled.Search([]byte(event))
	if err != nil {
		return s, true
	}
	if codec.Missing(selected.JSON()) {
		return s, false
	}
	hashed, err := codec.Hashed(selected.JSON())
	if err != nil {
		return s, true
	}
	text := string(hashed)
	return hashing{Hashed: &text}, false
}
