package main

import (
	"fmt"
	"strings"
	"time"
)

// goals are upper limits, zero for none: of the ratio of the times, of the time in addition to the
// other case, and of the allocations in addition.
type goals struct {
	ratio     float64
	own       time.Duration
	ownAllocs float64
}

// judge says which goals there are and whether they are met.
func (g goals) judge(f figures) string {
	var verdicts []string
	add := func(limit float64, met bool, text string) {
		switch {
		case limit == 0:
		case met:
			verdicts = append(verdicts, text+" met")
		default:
			verdicts = append(verdicts, text+" MISSED")
		}
	}
	add(g.ratio, f.ratio <= g.ratio, fmt.Sprintf("ratio ≤ %g", g.ratio))
	add(float64(g.own), f.own <= float64(g.own), "own CPU ≤ "+micros(float64(g.own)))
	add(g.ownAllocs, f.ownAllocs <= g.ownAllocs, fmt.Sprintf("own allocs ≤ %g", g.ownAllocs))
	return strings.Join(verdicts, ", ")
}
