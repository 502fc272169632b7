package main

// stackControls are the guards of what the library and the template have to agree about.
func stackControls() []control {
	return []control{
		{
			name: "reports-within-retries", without: "Lambda gives a message up before the relay puts it off",
			old: "Reports: $reports", new: "Reports: 3 * $reports", in: "NewRelay",
			suite: []string{"./internal/stack"}, first: "TestTheRelayMayDo",
		},
	}
}
