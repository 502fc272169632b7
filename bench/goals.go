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
	return judged(
		verdict{g.ratio, f.ratio, fmt.Sprintf("ratio ≤ %g", g.ratio)},
		verdict{float64(g.own), f.own, "own CPU ≤ " + micros(float64(g.own))},
		verdict{g.ownAllocs, f.ownAllocs, fmt.Sprintf("own allocs ≤ %g", g.ownAllocs)},
	)
}

// verdict is an upper limit, zero for none, and what was measured.
type verdict struct {
	limit, measured float64
	text            string
}

func judged(all ...verdict) string {
	var texts []string
	for _, v := range all {
		switch {
		case v.limit == 0:
		case v.measured <= v.limit:
			texts = append(texts, v.text+" met")
		default:
			texts = append(texts, v.text+" MISSED")
		}
	}
	return strings.Join(texts, ", ")
}
