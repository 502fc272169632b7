// Package life says what a held record means, and which record may follow it. It is the only place
// that decides either: packages protocol and operate execute it, and do all the I/O.
//
//	judge.go   what a record is at an instant, and what a delivery, or a reconciliation, makes of it
//	record.go  what a handler has decided about its records, and those that follow a claim
//	settle.go  the records that follow the verdict of a person
//	story.go   what a record tells of all that
//
// The file testdata/records.txt has each record that can follow, in words.
//
// # The table
//
// Somebody meets a record.
//
//	                           a delivery, whose handler                                a reconciliation of one that    a list of
//	the record                 executes again  refuses crashes       has a resolver     executes again  does not        what waits
//	none, or expired           claims          claims †              claims †           nothing         nothing
//	runs, or is asked about    in progress     in progress           in progress        in progress     in progress
//	runs, with attention       in progress     in progress           in progress        in progress     in progress     may run
//	runs, and calls this one   wrapped twice   wrapped twice         wrapped twice      in progress     in progress
//	is its own claim           ours            ours                  ours               ours            ours
//	crashed, no steps marked   takes over      makes UNKNOWN †       takes over †       nothing         asks, as seen †
//	crashed, with attention    takes over      makes UNKNOWN †       takes over †       asks, as seen † asks, as seen † waits
//	crashed, Powertools'       takes over      makes UNKNOWN †       takes over †       nothing         asks, as seen †
//	crashed, all steps ended   takes over      takes over, as seen † takes over †       nothing         nothing         waits
//	crashed, a step has begun  takes over      makes UNKNOWN †       takes over †       asks, as seen † asks, as seen † waits
//	crashed, one step unmarked takes over      makes UNKNOWN †       takes over †       nothing         asks, as seen † waits
//	released, without steps    takes over      takes over †          takes over †       nothing         nothing
//	released, with steps       takes over      takes over †          takes over †       asks, again †   asks, again †   waits
//	the same, client retries   takes over      takes over †          takes over †       asks, again †   asks, again †   waits later
//	the same, question died    takes over      takes over †          takes over †       asks, again †   asks, again †   waits
//	UNKNOWN                    unknown         unknown               takes over, open † asks, open †    asks, open †    waits
//	UNKNOWN, given up          unknown         unknown               takes over, open ‡ asks, open ‡    asks, open ‡    waits
//	UNKNOWN, question crashed  makes UNKNOWN † makes UNKNOWN †       takes over, open † asks, open †    asks, open †    waits
//	the same, given up         makes UNKNOWN ‡ makes UNKNOWN ‡       takes over, open ‡ asks, open ‡    asks, open ‡    waits
//	completed, by whomever     replays         replays               replays            nothing         nothing
//	another request: runs      mismatch        mismatch              mismatch           in progress     in progress
//	another request: completed mismatch        mismatch              mismatch           nothing         nothing
//	another algorithm          unreadable      unreadable            unreadable         nothing         nothing
//	another status             unreadable      unreadable            unreadable         unreadable      unreadable
//
// † with attention ‡ given up, as before. A list does not read the record of what may run.
package life
