package observe_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/go-idempotent/idempotent/report"
)

// A metric counts steps and commits, and not invocations. Which end they have is tested beside the
// protocol.
func TestEveryEndOfAStepAndOfACommitIsCounted(t *testing.T) {
	t.Parallel()
	type counted = map[string]float64
	secret := errors.New(secretPayload) // only the kind of what failed is told
	of := func(change func(d *report.Delivery)) report.Delivery {
		d := report.Delivery{Operation: "charge", Outcome: report.Executed, Settlement: report.Completed}
		change(&d)
		return d
	}
	steps := func(ends ...report.StepEnd) report.Delivery {
		return of(func(d *report.Delivery) {
			for _, end := range ends {
				d.Steps = append(d.Steps, report.Step{Name: "charge", End: end, Err: secret})
			}
		})
	}
	commits := func(all ...report.Commit) report.Delivery {
		return of(func(d *report.Delivery) { d.Commits = all })
	}
	orphans := of(func(d *report.Delivery) { d.OrphanSteps = []string{"y", "z"} })
	done, tried := report.Commit{End: report.CommitDone, Tries: 1}, report.Commit{End: report.CommitDone, Tries: 3}
	failed, lost := report.Commit{End: report.CommitNotDone, Err: secret}, report.Commit{End: report.CommitLeaseLost}
	for name, tc := range map[string]struct {
		event report.Delivery
		want  counted
		level string
	}{
		"none":       {steps(), counted{}, "INFO"},
		"recorded":   {steps(report.StepRecorded, report.StepRecorded), counted{"StepsRecorded": 2}, "INFO"},
		"resolved":   {steps(report.StepResolved), counted{"StepsRecorded": 1}, "INFO"},
		"resumed":    {steps(report.StepResumed), counted{"StepsResumed": 1}, "INFO"},
		"failed":     {steps(report.StepFailed), counted{"StepsFailed": 1}, "INFO"},
		"refused":    {steps(report.StepRefused), counted{"StepsFailed": 1}, "INFO"},
		"lease lost": {steps(report.StepLeaseLost), counted{"StepsFailed": 1}, "INFO"},
		"unreadable": {steps(report.StepUnreadable), counted{"StepsFailed": 1}, "INFO"},
		"unknown":    {steps(report.StepUnknown), counted{"StepsFailed": 1}, "INFO"},
		"lost":       {steps(report.StepLost), counted{"StepsLost": 1}, "WARN"},
		"several": {
			steps(report.StepResumed, report.StepLost), counted{"StepsResumed": 1, "StepsLost": 1}, "WARN",
		},
		"orphans":          {orphans, counted{"OrphanSteps": 2}, "WARN"},
		"committed":        {commits(done), counted{"Commits": 1}, "INFO"},
		"at the third try": {commits(tried), counted{"Commits": 1, "CommitRetries": 2}, "INFO"},
		"declined, and another way": {
			commits(report.Commit{End: report.CommitDeclined, Err: secret}, done),
			counted{"CommitsDeclined": 1, "Commits": 1},
			"INFO",
		},
		"refused, and answered all the same": {
			commits(report.Commit{End: report.CommitRefused, Err: secret}), counted{"CommitsFailed": 1}, "WARN",
		},
		"commit without a lease": {commits(lost), counted{"CommitsFailed": 1}, "WARN"},
		"commit that failed":     {commits(failed), counted{"CommitsFailed": 1}, "WARN"},
		"told of its failure, once": {of(func(d *report.Delivery) {
			d.Outcome, d.Commits = report.CommitFailed, []report.Commit{failed}
		}), counted{"CommitsFailed": 1}, "WARN"},
		"told of a failure alone": {
			of(func(d *report.Delivery) { d.Outcome = report.CommitFailed }), counted{"CommitsFailed": 1}, "WARN",
		},
		"otherwise": {of(func(d *report.Delivery) {
			d.Commits, d.OtherAnswer, d.Err = []report.Commit{done}, true, &declinedError{}
		}), counted{"Commits": 1, "CommittedOtherwise": 1}, "WARN"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			line := rawLineOf(t.Context(), tc.event)
			d, got := read(t, line), counted{}
			for _, m := range d.counts() {
				got[m] = d.members[m].(float64)
			}
			tc.want["Created"] = 1
			assert.Equal(t, tc.want, got)
			logged := logOf(t, tc.event)
			assert.Contains(t, logged, "level="+tc.level)
			assert.NotContains(t, string(line)+logged, secretPayload)
		})
	}
}
