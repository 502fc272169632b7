package main

// parkedControls are the guards of what stands around a reconciliation: its queue, its metrics, and the keys that a record tells.
func parkedControls() []control {
	queue, metrics := []string{"./operate/operatesqs"}, []string{"./observe"}
	return []control{
		{
			name: "park-sent", without: "a record is parked although nobody was told of it",
			old: "if _, $err := client.SendMessage($ctx, $in); $err != nil {", new: "if _, $err := client.SendMessage($ctx, $in); $err != nil && false {",
			suite: queue, first: "NotSent",
		},
		{
			name: "park-group", without: "on a FIFO queue one parked record waits for another",
			old: "$in.MessageGroupId = aws.String(digest([]byte($x.RecordKey)))", new: "$in.MessageGroupId = aws.String($x.Operation)",
			suite: queue, first: "NoRecordWaits",
		},
		{
			name: "reconcile-silence", without: "nobody can tell a run with nothing to do from none",
			old: "return true", in: "isRun", new: "return false", suite: metrics, first: "NothingToDo",
		},
		{
			name: "shown-derived", without: "the key that a record tells is not the one that its execution got",
			old:   "idempotent.Description{Protected: true, RecordKey: $s.Record.Key, Fingerprint: $s.Record.Fingerprint}.DerivedKey($name)",
			new:   "idempotent.Description{Protected: true, RecordKey: $s.Record.Key}.DerivedKey($name)",
			suite: []string{"./operate"}, first: "DerivedKey",
		},
	}
}
