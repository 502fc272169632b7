package storetest_test

func commitFaults() []fault { return nil }
