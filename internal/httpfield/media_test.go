package httpfield

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestMediaTypesOfJSON(t *testing.T) {
	t.Parallel()
	for _, media := range []string{
		"", " ", "application/json", "Application/JSON ; charset=utf-8", "text/json", " application/json\t",
		"application/vnd.shop.v1+json",
		"application/merge-patch+JSON;q=1", ";charset=utf-8",
	} {
		assert.True(t, IsJSON(media), media)
	}
	for _, media := range []string{
		"text/plain", "application/x-www-form-urlencoded", "application/jsonp", "json", "application/x-ndjson",
		"text/plain; a=+json",
		"application/json, text/plain", "multipart/mixed",
	} {
		assert.False(t, IsJSON(media), media)
	}
}
