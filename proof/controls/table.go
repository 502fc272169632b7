package main

import "slices"

// all returns every control, in the order of an invocation.
func all() []control {
	return slices.Concat(
		scopeControls(), keyControls(), languageControls(), eventControls(), fingerprintControls(), claimControls(), executionControls(),
		settlementControls(), answerControls(), spliceControls(), conditionControls(), transactionControls(), itemControls(), contentControls(),
		memoryControls(), cacheControls(), wordControls(), operatorControls(), listingControls(), sweepControls(),
		toldControls(), stepControls(), resumeControls(), reconcileControls(),
		commitProtocolControls(), modelledCommitControls(), sealControls(), outboxControls(), messageControls(), stackControls(),
		delivererControls(), modelledMessageControls(), batchControls(), batchObserveControls(), routeControls(), scheduleControls(),
		pageControls(), watchControls(), cleanControls(), parkedControls(),
	)
}
