package main

import (
	"testing"
)

// BenchmarkFake runs the cases of fake/first, fake/replay and fake/steps one by one, for profiles.
func BenchmarkFake(b *testing.B) {
	for name, p := range map[string]plan{"first": firsts, "replay": replays, "steps": stepwise} {
		groups, err := p.groups()
		if err != nil {
			b.Fatal(err)
		}
		for _, g := range groups {
			for _, c := range g.cases {
				b.Run(name+"/"+g.heading+"/"+c.name, func(b *testing.B) {
					b.ReportAllocs()
					if err := c.run(b.N); err != nil {
						b.Fatal(err)
					}
				})
			}
		}
	}
}
