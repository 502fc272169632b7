package interop

import (
	"crypto/rand"
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/dynamo"
	"github.com/go-idempotent/idempotent/internal/dev/dynamolocal"
)

// direction is who comes first and who comes after.
type direction struct{ first, second side }

func (d direction) String() string { return d.first.name + " → " + d.second.name }

// TestMatrix runs every scenario in every direction.
func TestMatrix(t *testing.T) {
	for _, there := range []side{python(t), typescript(t)} {
		here := ours(t, there.language)
		for _, d := range []direction{{here, there}, {there, here}} {
			for _, s := range scenarios {
				t.Run(s.name+", "+d.String(), func(t *testing.T) { s.run(newStage(t, d)) })
			}
		}
	}
}

// stage is where one scenario plays: the two sides, and an invocation on a table.
type stage struct {
	*testing.T
	ask

	first, second *peer
	d             direction
}

// newStage starts both sides, on a table of their own.
func newStage(t *testing.T, d direction) *stage {
	t.Helper()
	remaining := int64(30_000)
	return &stage{
		T: t, d: d, first: d.first.start(t), second: d.second.start(t),
		ask: ask{
			Table: table(t, shape{}), KeyPath: "id", Event: event("1", 10), Prefix: "interop", RemainingMS: &remaining,
		},
	}
}

func event(id string, amount int) []byte {
	return fmt.Appendf(nil, `{"id":%q,"amount":%d}`, id, amount)
}

// table makes a table of this shape, for the time of the test.
func table(t *testing.T, s shape) string {
	t.Helper()
	client := dynamolocal.Client(dynamolocal.Endpoint(t))
	name := newName(t, client)
	require.NoError(t, dynamo.CreateTable(t.Context(), client, name, s.config()))
	return name
}

// newName returns the name of a table that is deleted after the test.
func newName(t *testing.T, client *dynamodb.Client) string {
	t.Helper()
	name := "interop-" + rand.Text()
	dynamolocal.DropAfter(t, client, name)
	return name
}
