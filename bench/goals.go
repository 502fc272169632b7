package main

import (
	"fmt"
	"strings"
	"time"
)

// goals are upper limits, zero for none: of the ratio of the times, and in addition to the other
// case of the time, of the allocations, and of the bytes of the binary.
type goals struct {
	ratio              float64
	own                time.Duration
	ownAllocs, ownSize float64
}

// judge says which goals there are and whether they are met.
func (g goals) judge(f figures) string {
	var texts []string
	say := func(limit, measured float64, text string) {
		switch {
		case limit == 0:
		case measured <= limit:
			texts = append(texts, text+" met")
		default:
			texts = append(texts, text+" MISSED")
		}
	}
	say(g.ratio, f.ratio, fmt.Sprintf("ratio ≤ %g", g.ratio))
	say(float64(g.own), f.own, "own CPU ≤ "+micros(float64(g.own)))
	say(g.ownSize, f.ownSize, "own binary ≤ "+megabytes(g.ownSize))
	say(g.ownAllocs, f.ownAllocs, fmt.Sprintf("own allocs ≤ %g", g.ownAllocs))
	return strings.Join(texts, ", ")
}
