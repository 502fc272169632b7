package main

// messageControls are the guards of messages that every schedule of proof/messages is about.
func messageControls() []control {
	schedules := []string{"./proof/messages"}
	return []control{
		{
			name: "message-delivered-first", without: "a message is done before it is delivered",
			old: "$failure := $r.try($ctx, $e)", in: "Relay.handedOver",
			new: "_, _ = $r.box.Done($ctx, $e, $r.s.Now()); $failure := $r.try($ctx, $e)", suite: schedules,
		},
		{
			name: "message-failed-stays", without: "a message whose delivery has failed in a drain is done",
			old: "case $failure == nil: return $r.mark($ctx, $e, Delivered)", in: "Relay.drained",
			new: "case $failure == nil || !permanent($failure): return $r.mark($ctx, $e, Delivered)", suite: schedules,
		},
		{
			name: "message-elsewhere", without: "a stream repeats without end what somebody else has delivered",
			old: "case !$pending: return $e, Elsewhere, $failure", in: "Relay.handedOver",
			new: "case !$pending && len($e.ID) == 0: return $e, Elsewhere, $failure", suite: schedules,
		},
		{
			name: "message-unmarked", without: "a stream does not repeat what could not be marked",
			old: "if _, $err := $r.box.Done($ctx, $e, $r.s.Now()); $err != nil { return $e, Unmarked, $err }",
			new: "if _, $err := $r.box.Done($ctx, $e, $r.s.Now()); $err != nil { return $e, Delivered, nil }", suite: schedules,
		},
		{
			name: "message-known-pending", without: "a message that could not be marked is never marked by the process that has delivered it",
			old: "$r.known.add($e.generation(), knowledge{state: delivered})", in: "Relay.mark",
			new: "$r.known.add($e.generation(), knowledge{state: done})", suite: schedules,
		},
		{
			name: "message-generation", without: "the message of a later commit with the same id is done because the earlier one was delivered",
			old: "return generation{$e.ID, $e.Owner}", in: "Entry.generation",
			new: `return generation{$e.ID, ""}`, suite: schedules,
		},
	}
}
