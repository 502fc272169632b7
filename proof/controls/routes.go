package main

// routeControls are the guards of handlers behind a router: which requests are protected, how their routes are named, and what they note
// because they cannot return it.
func routeControls() []control {
	const (
		protect = "Protect|Protected|SpellingOfAPath"
		paths   = "TestOrdinaryPath|TestUnusualSpelling|TestOnlyHTTPAPI"
		routes  = "TestRoute|TestHandlerHasAHundredRoutes|TestTemplates"
		notes   = "Noted|Note|TestMostCautious|TestOfMany|TestNilIsNoError"
	)
	return []control{
		{
			name: "protect-asked", without: "requests that are not to be protected are", first: protect,
			old: "if $src.exempt = !$s.http.protects($r); $src.exempt {", new: "if $src.exempt = false; $src.exempt {",
		},
		{
			name: "protect-readings", without: "a client gets around the protection by spelling a path in another way", first: protect,
			old: "slices.ContainsFunc($r.Paths(), func", new: "slices.ContainsFunc($r.Paths()[:1], func",
		},
		{
			name: "protect-described", without: "a description gives another reason for an unprotected request", first: "TestADescription",
			old: "case $src.exempt:", new: "case false:",
		},
		{
			name: "path-decoded", without: "an escape in a path hides a route", first: paths,
			old: "$decoded := unescape($sent, true)", new: "$decoded := $sent",
		},
		{
			name: "path-cleaned", without: "dot segments and slashes in a path hide a route", first: paths,
			old: `{$bare, path.Clean("/" + $bare),`, new: "{$bare,",
		},
		{
			name: "path-stage-cleaned", without: "slashes before the stage hide a route", first: paths,
			old: `, $r.withoutStage(path.Clean("/" + $p))}`, new: "}",
		},
		{
			name: "path-sent", without: "a router that matches encoded paths finds another route", first: paths,
			old: "if $decoded == $sent || (&url.URL{Path: $decoded}).EscapedPath() == $sent {", new: "if $decoded != url.PathEscape(url.PathEscape($decoded + $sent)) {",
		},
		{
			name: "path-segments", without: "so does http.ServeMux, which decodes segments", first: paths,
			old: "return $r.cleaned($r.cleaned($all, $sent), unescape($sent, false))", new: "return $r.cleaned($all, $sent)",
		},
		{
			name: "path-cut", without: "a decoded question mark hides a route", first: paths,
			old: `if $end := strings.IndexAny($sent, "?#"); $end >= 0 {`, new: `if $end := strings.IndexAny($sent, "?#"); $end > len($sent) {`,
		},
		{
			name: "path-stage", without: "Protect and Route get the stage of an HTTP API", first: paths,
			old: `if $r.prefix == "" {`, new: "if true {",
		},
		{
			name: "path-stage-whole", without: "the beginning of a segment is taken for the stage", first: paths,
			old: "case $found && $rest[0] == '/':", new: "case $found:",
		},
		{
			name: "path-stage-default", without: "the stage that no path has is taken off", first: paths,
			old: `if $r.Stage != "" && $r.Stage != $DefaultStage {`, new: `if $r.Stage != "" {`,
		},
		{
			name: "route-bound", without: "clients make a metric for each path", first: routes,
			old: "case len($n.known) == $MaxRoutes: return $OtherRoute", new: "",
		},
		{
			name: "route-any", without: "a route without a template has no name", first: routes,
			old: `if $of.name == "" { $of.name = $AnyRoute }`, new: "", in: "templateOf",
		},
		{
			name: "route-method", without: "clients make a metric for each method that they think of", first: routes,
			old: "if !slices.Contains($methods, $of.method) {", new: "if false {",
		},
		{
			name: "route-dimension", without: "routes are billed as metrics although nobody asked for them", first: "TestRouteIsADimension",
			old: "if $c.route { $route =", new: "if true { $route =", in: "EMF",
		},
		{
			name: "note-nil", without: "a handler fails with no error", first: notes,
			old: "if $err == nil { return }; $c, $ok", new: "$c, $ok", in: "Mark",
		},
		{
			name: "note-lost", without: "an error that is noted in a lost context is forgotten", first: "ContextThatWasLost",
			old: `panic(&$LostContextError{Function: "Mark", Err: $err})`, new: "_ = $err",
		},
		{
			name: "note-unprotected", without: "a handler that runs unprotected panics when it notes an error", first: notes,
			old: "case !$IsUnprotected($ctx):", new: "default:", in: "Mark",
		},
		{
			name: "note-late", without: "what is noted after the handler has returned gets into its error", first: "NotedTooLate",
			old: "$n.open = false; return $n.all", new: "return $n.all",
			in: "Notes.Close",
		},
		{
			name: "note-resolver", without: "what a resolver notes fails the execution that follows it", first: "TestResolverNotesNothing",
			old: "if !$n.open { return }", new: "", in: "Notes.Add",
		},
		{
			name: "note-bound", without: "a loop that notes errors fills the memory", first: notes,
			old: "case len($n.all) < $MaxNotes:", new: "case len($n.all) < 1<<20:",
		},
		{
			name: "note-cautious", without: "an uncertain effect is forgotten behind many other errors", first: notes,
			old: "case $mark > $n.mark: $n.all[$MaxNotes - 1] = $err", new: "",
		},
		{
			name: "note-main", without: "Lambda reports any of the noted errors", first: notes,
			old: "$main := slices.MaxFunc($notes,", new: "$main := slices.MinFunc($notes,",
		},
		{
			name: "note-own", without: "Lambda reports what the handler noted, and not what it returned", first: notes,
			old: "return &$NotedError{main: $err, all: append([]", new: "return &$NotedError{main: notes[0], all: append([]",
		},
		{
			name: "note-stripped", without: "Lambda reports a type of this module", first: notes,
			old: "case *$NotedError: $err = $outer.main", new: "case *$NotedError: return $err",
		},
		{
			name: "note-beside", without: "the response beside a noted error is lost", first: notes,
			old: "return $ok && $noted.beside", new: "return $ok && !$ok && $noted.beside",
		},
		{
			name: "note-panic", without: "an uncertain effect is repeated because the handler panicked afterwards", first: notes,
			old: "if !$returned && $d.notes.Mark() == $Uncertain {", new: "if false {",
		},
	}
}
