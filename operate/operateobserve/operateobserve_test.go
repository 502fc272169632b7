package operateobserve_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/observe"
	"github.com/go-idempotent/idempotent/operate"
	"github.com/go-idempotent/idempotent/operate/operateobserve"
)

// filled is a report in which every count says something.
func filled(t *testing.T) operate.Swept {
	t.Helper()
	began := time.Unix(1_800_000_000, 0)
	s := operate.Swept{Began: began, Ended: began.Add(time.Second), Done: true, Err: errors.New("down")}
	o := operate.SweptOperation{}
	n := int64(100)
	for _, of := range []any{&s, &o} {
		v := reflect.ValueOf(of).Elem()
		for _, f := range v.Fields() {
			if f.Kind() == reflect.Int {
				n++
				f.SetInt(n)
			}
		}
	}
	s.Operations = map[string]operate.SweptOperation{"charge": o}
	s.Problems = []operate.SweepProblem{{RecordKey: "charge#1", Err: errors.New("denied")}}
	return s
}

// A count that package operate adds must not get lost on the way. Pages are nobody's alarm.
func TestEveryCountOfASweepIsTold(t *testing.T) {
	t.Parallel()
	var log, metrics bytes.Buffer
	report := filled(t)
	operateobserve.Both(operateobserve.SweepEMF(&metrics, observe.WithDimension("Stage", "prod")),
		operateobserve.SweepSlog(slog.New(slog.NewJSONHandler(&log, nil))))(t.Context(), report)
	for _, out := range []*bytes.Buffer{&log, &metrics} {
		told := map[any]bool{}
		for lines := json.NewDecoder(bytes.NewReader(out.Bytes())); lines.More(); {
			var line map[string]any
			require.NoError(t, lines.Decode(&line))
			for _, v := range line {
				if _, is := v.(float64); is {
					told[v] = true
				}
			}
		}
		counts := 0
		for _, of := range []any{report, report.Operations["charge"]} {
			v := reflect.ValueOf(of)
			for i := range v.NumField() {
				if name := v.Type().Field(i).Name; v.Field(i).Kind() == reflect.Int && name != "Pages" {
					counts++
					assert.True(t, told[float64(v.Field(i).Int())], name)
				}
			}
		}
		assert.Equal(t, 9, counts)
		assert.True(t, told[11.0], "deleted")
	}
	assert.Contains(t, log.String(), "denied")
	assert.Contains(t, log.String(), "down")
	assert.Contains(t, metrics.String(), `"Stage":"prod"`)
}

func TestASweepTakesTheObservers(t *testing.T) {
	t.Parallel()
	var metrics bytes.Buffer
	_, err := operate.Sweep(memory.New(), operate.SweepConfig{Observe: operateobserve.SweepEMF(&metrics)}).Run(t.Context())
	require.NoError(t, err)
	assert.Contains(t, metrics.String(), `"SweepDone":1`)
}

func TestASweepThatMetAnotherOneSaysSo(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]operate.Swept{
		"records": {BusyUntil: time.Unix(1, 0)},
	} {
		var log bytes.Buffer
		operateobserve.SweepSlog(slog.New(slog.NewTextHandler(&log, nil)))(t.Context(), s)
		assert.Contains(t, log.String(), "busy=true", name)
	}
}

func TestAWrongOptionPanics(t *testing.T) {
	t.Parallel()
	defer func() {
		_, is := recover().(*idempotent.ConfigError)
		assert.True(t, is)
	}()
	operateobserve.SweepEMF(nil)
}
