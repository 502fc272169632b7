// Package body writes JSON for the bodies of requests and answers.
package body

import (
	"bytes"
	"encoding/json"
)

// Max bounds a body that is read, in bytes. It is more than a Lambda function can receive (6 MB).
const Max = 8 << 20

// JSON writes JSON as it is meant, without escaping it for HTML and without a line feed behind it.
func JSON(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}
