package main_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// response is what a handler of HTTP requests returns.
const response = `{"statusCode":201,"body":"{\"id\":\"ch_1\"}"}`

// demoRequest is one that the demo has a record of, but for its stage.
var demoRequest = slices.Clip([]string{
	"key", "--demo", "--operation", "charge", "--key", "order-1", "--method", "POST", "--route", "/charges",
	"--api", "a1b2c3",
})

// Every command on the demo, with everything that it prints, and every exit code.
func TestWhatTheCommandsPrint(t *testing.T) {
	t.Parallel()
	settle := func(args ...string) []string { return append([]string{"settle", "--demo", "--by", "dana"}, args...) }
	why := []string{"--reason", "ticket 4711"}
	for name, c := range map[string]struct {
		args []string
		in   string
		code int
	}{
		"help":            {args: []string{"--help"}},
		"help-settle":     {args: []string{"settle", "--help"}},
		"help-list":       {args: []string{"list", "--help"}},
		"help-key":        {args: []string{"key", "--help"}},
		"help-serve":      {args: []string{"serve", "--help"}},
		"list":            {args: []string{"list", "--demo"}},
		"list-json":       {args: []string{"list", "--demo", "-o", "json"}},
		"list-all":        {args: []string{"list", "--demo", "--state", "all", "--scan"}},
		"list-states":     {args: []string{"list", "--demo", "--state", "crashed,released", "--scan"}},
		"list-needs-scan": {args: []string{"list", "--demo", "--state", "crashed"}, code: 2},
		"list-bad-state":  {args: []string{"list", "--demo", "--state", "stuck"}, code: 2},
		"list-operation":  {args: []string{"list", "--demo", "--state", "all", "--scan", "--operation", "ship"}},
		"list-nothing":    {args: []string{"list", "--demo", "--operation", "ship"}},
		"list-older":      {args: []string{"list", "--demo", "--older-than", "6h"}},
		"list-limit": {args: []string{
			"list", "--demo", "--limit", "2", "--operation", "charge",
			"--older-than", "7h",
		}},
		"inspect-unknown":     {args: []string{"inspect", "--demo", "charge#result-lost"}},
		"inspect-json":        {args: []string{"inspect", "--demo", "charge#result-lost", "-o", "json"}},
		"inspect-in-progress": {args: []string{"inspect", "--demo", "charge#in-progress"}},
		"inspect-ended":       {args: []string{"inspect", "--demo", "charge#died", "--derived", "charge,mail"}},
		"inspect-settled":     {args: []string{"inspect", "--demo", "charge#settled"}},
		"inspect-declined":    {args: []string{"inspect", "--demo", "charge#declined"}},
		"inspect-expired":     {args: []string{"inspect", "--demo", "charge#expired"}},
		"inspect-powertools": {args: []string{
			"inspect", "--demo",
			"billing.handler#5d41402abc4b2a76b9719d911017c592",
		}},
		"inspect-result":      {args: []string{"inspect", "--demo", "charge#completed", "--result"}},
		"inspect-result-json": {args: []string{"inspect", "--demo", "charge#completed", "--result", "-o", "json"}},
		"inspect-no-result":   {args: []string{"inspect", "--demo", "charge#died", "--result"}, code: 1},
		"inspect-not-found":   {args: []string{"inspect", "--demo", "charge#nothing"}, code: 3},
		"inspect-client-key":  {args: []string{"inspect", "--demo", "order-1"}, code: 3},
		"inspect-two":         {args: []string{"inspect", "--demo", "charge", "1"}, code: 2},
		"list-not-due":        {args: []string{"list", "--demo", "--state", "released", "--operation", "order"}},
		"list-not-due-json": {args: []string{
			"list", "--demo", "--state", "released", "--operation", "order",
			"-o", "json",
		}},
		"list-scan":          {args: []string{"list", "--demo", "--scan"}},
		"list-released":      {args: []string{"list", "--demo", "--scan", "--state", "released"}},
		"inspect-stopped":    {args: []string{"inspect", "--demo", "order#stopped"}},
		"inspect-begun":      {args: []string{"inspect", "--demo", "order#begun"}},
		"inspect-begun-json": {args: []string{"inspect", "--demo", "order#begun", "-o", "json"}},
		"inspect-not-due":    {args: []string{"inspect", "--demo", "order#not-due"}},
		"inspect-step":       {args: []string{"inspect", "--demo", "order#stopped", "--step", "reserve"}},
		"inspect-step-json": {args: []string{
			"inspect", "--demo", "order#stopped", "--step", "reserve",
			"-o", "json",
		}},
		"inspect-step-open":  {args: []string{"inspect", "--demo", "order#begun", "--step", "charge"}, code: 1},
		"inspect-step-none":  {args: []string{"inspect", "--demo", "order#begun", "--step", "mail"}, code: 1},
		"inspect-step-empty": {args: []string{"inspect", "--demo", "order#begun", "--step", ""}, code: 2},
		"inspect-step-result": {
			args: []string{"inspect", "--demo", "order#begun", "--step", "charge", "--result"},
			code: 2,
		},
		"settle-step": {args: settle(append(why, "order#begun", "--step", "charge", "--executed", "-",
			"--yes")...), in: charged},
		"settle-step-json": {args: settle(append(why, "order#begun", "--step", "charge", "--executed", "-",
			"--yes", "-o", "json")...), in: charged},
		"settle-step-dry-run": {args: settle(append(why, "order#begun", "--step", "charge", "--executed", "-",
			"--dry-run")...), in: charged},
		"settle-step-failed": {args: settle(append(why, "order#begun", "--step", "charge", "--failed",
			"Declined: the card was declined", "--yes")...)},
		"settle-step-recorded": {args: settle(append(why, "order#begun", "--step", "reserve", "--executed", "-",
			"--yes")...), in: charged, code: 1},
		"settle-step-unknown": {args: settle(append(why, "order#begun", "--step", "mail", "--failed", "A: b",
			"--yes")...), code: 1},
		"settle-step-no-steps": {args: settle(append(why, "charge#uncertain", "--step", "charge", "--executed", "-",
			"--yes")...), in: charged, code: 1},
		"settle-step-none": {args: settle(append(why, "order#begun", "--step", "charge", "--yes")...), code: 2},
		"settle-step-two": {args: settle(append(why, "order#begun", "--step", "charge", "--executed", "-",
			"--failed", "A: b", "--yes")...), code: 2},
		"settle-step-not": {args: settle(append(why, "order#begun", "--step", "charge", "--not-executed",
			"--yes")...), code: 2},
		"settle-step-empty": {args: settle(append(why, "order#begun", "--step", "", "--failed", "A: b",
			"--yes")...), code: 2},
		"settle-step-no-json": {args: settle(append(why, "order#begun", "--step", "charge", "--executed", "-",
			"--yes")...), in: "{", code: 2},
		"settle-begun": {args: settle(append(why, "order#begun", "--not-executed", "--may-repeat-effect",
			"--dry-run")...)},
		"settle-stopped": {
			args: settle(append(why, "order#stopped", "--executed", "-", "--yes")...),
			in:   response,
		},
		"settle-stopped-again": {args: settle(append(why, "order#stopped", "--not-executed", "--yes")...), code: 1},
		"settle-seen": {args: settle(append(why, "order#begun", "--not-executed", "--may-repeat-effect",
			"--seen", seenBegun, "--yes")...)},
		"release-begun": {
			args: settle(append(why, "order#begun", "--released", "--may-repeat-effect", "--yes")...),
		},
		"delete-stopped": {args: append(why, "delete", "order#stopped", "--demo", "--by", "dana", "--dry-run")},
		"settle-not-executed": {
			args: settle(append(why, "charge#uncertain", "--not-executed", "--may-repeat-effect", "--yes")...),
		},
		"settle-executed": {
			args: settle(append(why, "charge#uncertain", "--executed", "-", "--yes")...),
			in:   response,
		},
		"settle-executed-json": {args: settle(append(why, "charge#uncertain", "--executed", "-", "--yes", "-o",
			"json")...), in: response},
		"settle-value": {args: settle(append(why, "charge#uncertain", "--executed", "-", "--value",
			"--dry-run")...), in: `{"parcel":"p-1"}`},
		"settle-no-response": {
			args: settle(append(why, "charge#uncertain", "--executed", "-", "--yes")...),
			in:   `{"parcel":"p-1"}`, code: 2,
		},
		"settle-bad-response": {
			args: settle(append(why, "charge#uncertain", "--executed", "-", "--yes")...),
			in:   `{"statusCode":201,"body":{"id":"ch_1"}}`, code: 2,
		},
		"settle-failed": {
			args: settle(append(why, "charge#uncertain", "--failed", "Declined: the card was declined", "--yes")...),
		},
		"settle-dry-run": {args: settle(append(why, "charge#died", "--not-executed", "--dry-run")...)},
		"settle-dry-run-json": {args: settle(append(why, "charge#died", "--not-executed", "--dry-run",
			"-o", "json")...)},
		"settle-no-terminal": {args: settle(append(why, "charge#uncertain", "--not-executed")...), code: 2},
		"settle-stdin-is-taken": {
			args: settle(append(why, "charge#uncertain", "--executed", "-")...),
			in:   response, code: 2,
		},
		"settle-no-reason":  {args: settle("charge#uncertain", "--not-executed", "--yes"), code: 2},
		"settle-no-verdict": {args: settle(append(why, "charge#uncertain", "--yes")...), code: 2},
		"settle-two-verdicts": {args: settle(append(why, "charge#uncertain", "--not-executed", "--failed", "A:b",
			"--yes")...), code: 2},
		"settle-no-json": {
			args: settle(append(why, "charge#uncertain", "--executed", "-", "--yes")...),
			in:   "{", code: 2,
		},
		"settle-no-file": {args: settle(append(why, "charge#uncertain", "--executed", "/nowhere/result.json",
			"--yes")...), code: 2},
		"settle-bad-failure": {
			args: settle(append(why, "charge#uncertain", "--failed", "Declined", "--yes")...),
			code: 2,
		},
		"settle-long-reason": {args: settle("charge#uncertain", "--not-executed", "--yes", "--reason",
			strings.Repeat("x", 513)), code: 2},
		"settle-live": {
			args: settle(append(why, "charge#in-progress", "--not-executed", "--yes")...),
			code: 1,
		},
		"settle-completed": {args: settle(append(why, "charge#completed", "--not-executed", "--yes")...), code: 1},
		"settle-expired":   {args: settle(append(why, "charge#expired", "--not-executed", "--yes")...), code: 1},
		"settle-powertools": {
			args: settle(append(why, "billing.handler#5d41402abc4b2a76b9719d911017c592", "--not-executed", "--yes")...),
			code: 1,
		},
		"settle-not-found": {args: settle(append(why, "charge#nothing", "--not-executed", "--yes")...), code: 3},
		"settle-changed": {args: settle(append(why, "charge#uncertain", "--not-executed", "--may-repeat-effect",
			"--seen", seenBefore, "--yes")...), code: 4},
		"settle-changed-json": {args: settle(append(why, "charge#uncertain", "--not-executed", "--may-repeat-effect",
			"--seen", seenBefore, "--yes", "-o", "json")...), code: 4},
		"settle-bad-seen": {args: settle(append(why, "charge#uncertain", "--not-executed", "--seen", "latest",
			"--yes")...), code: 2},
		"settle-danger": {
			args: settle(append(why, "charge#uncertain", "--not-executed", "--yes")...),
			code: 1,
		},
		"settle-danger-dry-run": {args: settle(append(why, "charge#result-lost", "--not-executed", "--dry-run")...)},
		"settle-not-stored": {
			args: settle(append(why, "charge#uncertain", "--executed", "-", "--yes")...),
			in:   `{"statusCode":503}`, code: 2,
		},
		"release-danger": {args: settle(append(why, "charge#result-lost", "--released", "--yes")...), code: 1},
		"delete-danger": {
			args: append(why, "delete", "charge#result-lost", "--demo", "--by", "dana", "--yes"),
			code: 1,
		},
		"key-found":     {args: append(demoRequest, "--stage", "$default")},
		"key-neighbour": {args: append(demoRequest, "--stage", "live")},
		"key-neighbour-caller": {args: append(demoRequest, "--stage", "$default", "--caller",
			"jwt:https://issuer.example,user-17", "-o", "json")},
		"key-none":  {args: append(demoRequest, "--stage", "$default", "--key", "order-2")},
		"key-stage": {args: append(demoRequest, "--stage", "/live"), code: 2},
		"release": {
			args: settle(append(why, "charge#crashed", "--released", "--may-repeat-effect", "--yes")...),
		},
		"release-live":     {args: settle(append(why, "charge#in-progress", "--released", "--yes")...), code: 1},
		"release-released": {args: settle(append(why, "charge#released", "--released", "--yes")...), code: 1},
		"delete":           {args: append(why, "delete", "charge#completed", "--demo", "--by", "dana", "--yes")},
		"delete-json": {args: append(why, "delete", "charge#completed", "--demo", "--by", "dana", "--yes",
			"-o", "json")},
		"delete-live": {
			args: append(why, "delete", "charge#in-progress", "--demo", "--by", "dana", "--yes"),
			code: 1,
		},
		"doctor":             {args: []string{"doctor", "--demo"}},
		"doctor-help":        {args: []string{"doctor", "--help"}},
		"doctor-no-template": {args: []string{"doctor", "--template", "nowhere.yaml"}, code: 1},
		"doctor-without":     {args: []string{"doctor", "--build-dir", "x"}, code: 2},
		"no-table":           {args: []string{"list"}, code: 2},
		"no-region":          {args: []string{"list", "--table", "idempotency"}, code: 2},
		"no-credentials": {
			args: []string{"list", "--table", "idempotency", "--region", "eu-central-1"},
			code: 1,
		},
		"no-profile": {args: []string{"list", "--table", "idempotency", "--profile", "nobody"}, code: 2},
		"bad-table": {args: []string{
			"list", "--table", "a b", "--region", "eu-central-1",
			"--endpoint-url", "http://127.0.0.1:1",
		}, code: 2},
		"bad-endpoint": {
			args: []string{"list", "--table", "idempotency", "--endpoint-url", "localhost:8000"},
			code: 2,
		},
		"bad-attribute":          {args: []string{"list", "--table", "idempotency", "--attribute", "state=s"}, code: 2},
		"bad-partition":          {args: []string{"list", "--table", "idempotency", "--sort-key", "sk"}, code: 2},
		"bad-output":             {args: []string{"list", "--demo", "-o", "yaml"}, code: 2},
		"unknown-command":        {args: []string{"fix"}, code: 2},
		"command-that-was-meant": {args: []string{"setle"}, code: 2},
		"command-of-before":      {args: []string{"redrive"}, code: 2},
		"flag-that-was-meant":    {args: []string{"list", "--limt", "2"}, code: 2},
		"unknown-flag":           {args: []string{"list", "--all"}, code: 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := run(t, arranged(c.args), in(c.in))
			golden(t, name, arranged(c.args), r, nil)
			assert.Equal(t, c.code, r.code, r.err)
		})
	}
}

// charged is what the step of a handler returns.
const charged = `{"id":"ch_1"}`

// seenBegun is what inspect prints of a record as it is.
const seenBegun = "FnUwDdnWGHoTuXG9"

// seenBefore is what inspect prints of another record.
const seenBefore = "cGJYU68267qXbKiU"

// arranged puts the command first.
func arranged(args []string) []string {
	for i, a := range args {
		if a == "delete" {
			return append([]string{a}, append(append([]string{}, args[:i]...), args[i+1:]...)...)
		}
	}
	return args
}

// Help is read on a terminal of 80 columns.
func TestHelpFitsATerminal(t *testing.T) {
	t.Parallel()
	for _, command := range []string{
		"", "list", "inspect", "key", "settle", "delete", "messages", "messages list",
		"messages redrive", "doctor", "serve",
	} {
		for line := range strings.Lines(run(t, append(strings.Fields(command), "--help")).out) {
			assert.LessOrEqual(t, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")), 80, "%s: %s", command, line)
		}
	}
}

// Eight commands, and not more flags than somebody can look through.
func TestThereAreFewFlags(t *testing.T) {
	t.Parallel()
	commands := []string{
		"list", "inspect", "key", "settle", "delete", "messages list", "messages redrive",
		"doctor", "serve",
	}
	flag, all := regexp.MustCompile(`(?m)^ +(-\w, )?--\w`), 0
	for _, command := range commands {
		own, global, both := strings.Cut(run(t, append(strings.Fields(command), "--help")).out, "\nGlobal Flags:\n")
		require.True(t, both, command)
		_, own, _ = strings.Cut(own, "\nFlags:\n")
		all += len(flag.FindAllString(own, -1)) - 1 // --help
		if command == commands[0] {
			all += len(flag.FindAllString(global, -1))
		}
	}
	assert.LessOrEqual(t, all, 60)
}
