package storetest

func deleteChecks() []check {
	return []check{
		{"of a key without a record is false", func(p *probe) {
			seen := p.inProgress()
			for range 2 { // a key never used, and a key released
				deleted, err := p.store.Delete(p.t.Context(), seen)
				p.noError("Delete", err)
				if deleted {
					p.t.Fatalf("Delete reported true, but nothing was held")
				}
				p.absent(seen.Key)
				p.plant(seen)
				p.deletes(seen)
			}
		}},
		{"lets the next claim start afresh", func(p *probe) {
			first := p.plant(p.completed())
			p.deletes(first)
			next := p.plant(p.rival(first))
			p.deleteRefused(first, next)
		}},
		{"removes a record that was swapped, as it is now", func(p *probe) {
			seen := p.plant(p.inProgress())
			next := renewal(seen)
			p.swaps(seen, next)
			p.deleteRefused(seen, next)
			p.deletes(next)
		}},
	}
}
