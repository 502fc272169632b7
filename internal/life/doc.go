// Package life says what a held record means, and which record may follow it. It is the only place
// that decides either: packages protocol and operate execute it, and do all the I/O.
//
//	judge.go   what a record is at an instant, and what a delivery, or a reconciliation, makes of it
//	record.go  what a handler has decided about its records, and those that follow a claim
//	settle.go  the records that follow the verdict of a person
//	story.go   what a record tells of all that
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
//
// A renewal of a claim moves its lease, a step nothing that stands here.
//
// A claim of a handler that executes again is followed by
//
//	claim                 INPROGRESS, ours, lease in 2m, expires in 1h, steps unseen
//	result                COMPLETED, ours, expires in 1h
//	unknown outcome       UNKNOWN error, ours, attention now, expires in 720h, steps unseen, tells: unknown error
//	release with steps    INPROGRESS released, nobody's, lease ended, attention in 1h, expires in 1h, tells: failed
//	release without       INPROGRESS released, nobody's, lease ended, expires in 1h, tells: failed
//	no answer             UNKNOWN crashed, nobody's, attention now, expires in 720h, steps unseen, tells: unknown crashed, tells: asked
//
// A claim of a handler that refuses crashes, also of what is UNKNOWN (open), is followed by
//
//	claim                 INPROGRESS, ours, lease in 2m, attention in 2m, expires in 720h
//	claim, open           INPROGRESS uncertain, ours, lease in 2m, attention in 2m, expires in 720h
//	result                COMPLETED, ours, expires in 1h
//	unknown outcome       UNKNOWN error, ours, attention now, expires in 720h, tells: unknown error
//	unknown outcome, open UNKNOWN error, ours, attention now, expires in 720h, tells: asked
//	release with steps    INPROGRESS released, nobody's, lease ended, attention in 1h, expires in 720h, tells: failed
//	release without       INPROGRESS released, nobody's, lease ended, expires in 720h, tells: failed
//	no answer             UNKNOWN crashed, nobody's, attention now, expires in 720h, tells: unknown crashed, tells: asked
//	no answer, open       UNKNOWN uncertain, nobody's, attention now, expires in 720h, tells: asked
//	undo, open            UNKNOWN uncertain, nobody's, attention now, expires in 1h
//
// A claim of a reconciliation, also of what was released, is followed by
//
//	claim                 INPROGRESS, ours, lease in 2m, attention in 2m, expires in 720h
//	claim, released       INPROGRESS asked, ours, lease in 2m, attention in 2m, expires in 720h
//	result                COMPLETED, ours, expires in 1h, tells: settled executed by a reconciliation
//	unknown outcome       UNKNOWN error, ours, attention now, expires in 720h, tells: unknown error
//	release with steps    INPROGRESS released, nobody's, lease ended, attention in 1h, expires in 720h, tells: settled not executed by a reconciliation
//	release without       INPROGRESS released, nobody's, lease ended, expires in 720h, tells: settled not executed by a reconciliation
//	no answer             UNKNOWN crashed, nobody's, attention now, expires in 720h, tells: unknown crashed, tells: asked
//	no answer, released   INPROGRESS released, nobody's, lease ended, attention in 1h, expires in 720h, tells: asked
//	undo                  INPROGRESS, nobody's, lease ended, attention now, expires in 1h
//	undo, released        INPROGRESS released, nobody's, lease ended, attention now, expires in 1h
//
// A delivery that refuses crashes makes UNKNOWN what
//
//	crashed, no steps marked   UNKNOWN crashed, its owner's, attention now, expires in 720h, steps unseen, tells: unknown crashed
//	crashed, with attention    UNKNOWN crashed, its owner's, attention now, expires in 720h, tells: unknown crashed
//	crashed, Powertools'       UNKNOWN crashed, nobody's, attention now, expires in 720h, steps unseen, tells: unknown crashed
//	crashed, a step has begun  UNKNOWN crashed, its owner's, attention now, expires in 720h, tells: unknown crashed
//	crashed, one step unmarked UNKNOWN crashed, its owner's, attention now, expires in 720h, tells: unknown crashed
//	UNKNOWN, question crashed  UNKNOWN uncertain, its owner's, attention now, expires in 720h
//	the same, given up         UNKNOWN uncertain, its owner's, attention given up now, expires in 720h
//
// A person settles a record that is UNKNOWN, with an open step:
//
//	executed              COMPLETED, nobody's, expires in 24h, tells: settled as said by dana
//	failed                COMPLETED terminal, nobody's, expires in 24h, tells: settled as said by dana
//	not executed          INPROGRESS released, nobody's, lease ended, expires in 24h, tells: settled as said by dana
//	its step executed     INPROGRESS released, nobody's, lease ended, attention in 1h, expires in 24h, tells: settled as said by dana
package life
