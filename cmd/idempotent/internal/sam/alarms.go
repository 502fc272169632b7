package sam

import "regexp"

// Metric is one that an alarm watches.
type Metric struct {
	Namespace, Name string
	// Dimensions have the values as they are written, with references.
	Dimensions map[string]string
	// Query says that it is a query of Metrics Insights. It is of all values of a dimension that it does not name, but those that it excludes.
	Query    bool
	Excluded map[string][]string
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
			if parts := insights.FindStringSubmatch(text(at(m, "Expression"))); parts != nil {
				metrics = append(metrics, queried(parts))
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

// insights is a query of Metrics Insights: its metric, its namespace with quotes or without, and what comes after it. comparison is one of its WHERE. See
// https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/cloudwatch-metrics-insights-querylanguage.html.
var (
	insights   = regexp.MustCompile(`(?is)^\s*SELECT\s+\w+\s*\(\s*"?([^")]+?)"?\s*\)\s*FROM\s+(?:SCHEMA\s*\(\s*)?(?:"([^"]+)"|([^\s,)]+))(.*)$`)
	comparison = regexp.MustCompile(`"?(\w+)"?\s*(!?=)\s*'([^']*)'`)
)

// queried is the metric of a query, of which insights has found the parts.
func queried(parts []string) Metric {
	m := Metric{Name: parts[1], Namespace: parts[2] + parts[3], Dimensions: map[string]string{}, Query: true, Excluded: map[string][]string{}}
	for _, c := range comparison.FindAllStringSubmatch(parts[4], -1) {
		if dimension, operator, value := c[1], c[2], c[3]; operator == "=" {
			m.Dimensions[dimension] = value
		} else {
			m.Excluded[dimension] = append(m.Excluded[dimension], value)
		}
	}
	return m
}
