package observe

// Metric is a metric of a line: its name and its unit.
type Metric struct{ Name, Unit string }

// Metrics lists what all functions of this package write.
func Metrics() (all []Metric) {
	for _, c := range counts {
		all = append(all, Metric{Name: c.name, Unit: count})
	}
	for _, r := range reports {
		for _, f := range taggedOf(r, "emf") {
			if f.kind == "" {
				all = append(all, Metric{Name: f.name, Unit: f.unit})
			}
		}
	}
	return all
}
