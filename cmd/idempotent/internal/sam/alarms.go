package sam

import "strings"

// Metric is one that an alarm watches.
type Metric struct {
	Namespace, Name string
	// Dimensions have the values as they are written, with references.
	Dimensions map[string]string
	// Query is the text of a query of Metrics Insights, instead of all that.
	Query string
}

// Alarmed are the metrics that alarms watch.
func (t *Template) Alarmed() []Metric {
	metrics := []Metric{}
	for _, a := range t.Of("AWS::CloudWatch::Alarm") {
		if text(a.At("ActionsEnabled")) == "false" {
			continue // it wakes nobody
		}
		if a.At("MetricName") != nil {
			metrics = append(metrics, metric(a.Properties))
		}
		for _, m := range list(a.At("Metrics")) {
			if of, is := at(m, "MetricStat", "Metric").(map[string]any); is {
				metrics = append(metrics, metric(of))
			}
			if query := text(at(m, "Expression")); strings.HasPrefix(strings.ToUpper(strings.TrimSpace(query)), "SELECT") {
				metrics = append(metrics, Metric{Query: query})
			}
		}
	}
	return metrics
}

func metric(of map[string]any) Metric {
	m := Metric{Namespace: text(of["Namespace"]), Name: text(of["MetricName"]), Dimensions: map[string]string{}}
	for _, d := range list(of["Dimensions"]) {
		m.Dimensions[text(at(d, "Name"))] = text(at(d, "Value"))
	}
	return m
}
