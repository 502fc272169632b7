//go:build !race

package jmespath

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAllocationsOfASearch(t *testing.T) {
	payload := []byte(apiGatewayEvent)
	for source, most := range map[string]float64{
		// the copy of the payload, the names seen in its objects, the search
		`headers."idempotency-key"`:                             3,
		`requestContext.authorizer.jwt.claims.sub`:              3,
		`[headers."idempotency-key", requestContext.accountId]`: 5,
		`powertools_json(body).[tenant, order_id]`:              10,
	} {
		expression, err := Compile(source)
		require.NoError(t, err)
		got := testing.AllocsPerRun(100, func() {
			if _, err := expression.Search(payload); err != nil {
				t.Fatal(err)
			}
		})
		assert.LessOrEqual(t, got, most, source)
	}
}
