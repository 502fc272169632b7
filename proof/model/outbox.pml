/*
 * What becomes of a message once its commit has put it into the outbox: what relay.go, stream.go and drain.go of internal/relay do, on a
 * table that keeps the conditions of box.go of package outbox, over a network that loses, delays and repeats, with processes that die.
 * README.md tells how to read it and what it leaves out; ./check runs it. A file without a folder is one of internal/relay.
 *
 * Commits are those of claim.pml: each is applied or not, at any time, and once at most. That is what I9 says of them.
 *
 * Every transition names the Go function that it mirrors. Every guard is in #ifndef NO_...: switched off it must give a
 * counterexample.
 */

/* Bounds. ./check sets them for each scenario. */
#ifndef COMMITS
#define COMMITS 2       /* commits that put a message with the one id: its generations; at most 3 */
#endif
#ifndef RELAYS
#define RELAYS 1        /* functions that the stream calls; with DRAINS at most 3 */
#endif
#ifndef DRAINS
#define DRAINS 1        /* functions that a schedule calls */
#endif
#ifndef FAULTS
#define FAULTS 1        /* writes whose request or reply is lost, late or repeated */
#endif
#ifndef CRASHES
#define CRASHES 1       /* processes that die between two steps */
#endif
#ifndef REPEATS
#define REPEATS 1       /* images that the stream hands over although they were acknowledged, or are being delivered */
#endif
#ifndef REDRIVES
#define REDRIVES 1      /* parked messages that an operator sends on their way again */
#endif
#ifndef REPORTS
#define REPORTS 1       /* relay.go: Settings.Reports; in the code 5 */
#endif
#ifndef TRIES
#define TRIES 3         /* relay.go: Settings.MaxTries; in the code 20 */
#endif

/* ---- What the check counts and tells ---- */

#define LABELS(X) X(committed) X(declined) X(replaced) X(expired) X(handed_over) X(repeated) X(known_done) X(known_delivered) \
	X(arrived) X(refused) X(refused_for_good) X(done) X(done_elsewhere) X(unmarked) X(failed) X(failed_elsewhere) X(put_off) \
	X(parked) X(park_elsewhere) X(uncounted) X(found) X(found_known) X(used_up) X(taken) X(taken_elsewhere) X(take_unanswered) \
	X(tried_again) X(last_try) X(redriven) X(redriven_elsewhere) X(redrive_unanswered) X(request_lost) X(reply_lost) X(sent_twice) \
	X(late) X(late_copy) X(late_applied) X(late_refused) X(crashed) X(forgets) X(at_rest)
#define ENUM(name) AT_##name,
#define NAME(name) #name,
c_decl {
	enum { LABELS(ENUM) LABEL_COUNT };
	static const char *label_names[] = { LABELS(NAME) };
	static unsigned long label_hits[LABEL_COUNT];
	static void print_labels(void) {
		for (int i = 0; i < LABEL_COUNT; i++) printf("label outbox:%s %lu\n", label_names[i], label_hits[i]);
	}
}
#define TELL(name, text) d_step { c_code { label_hits[AT_##name]++; }; printf("message %d: ", g); \
	if :: p == 0 :: p > 0 && p <= RELAYS -> printf("relay %d ", p) :: p > RELAYS -> printf("drain %d ", p - RELAYS) fi; printf(text); printf("\n") }

/* The invariants: never set, so assert(name) fails where HOLDS finds its condition broken, and names it. */
bit I10_no_message_without_commit, I10_done_after_delivery, I10_delivered_in_the_end, I10_pending_is_due, I10_done_stays_done,
	I10_one_generation_each, I10_acknowledged_goes_on, I10_reported_a_few_times, I10_marks_call_nobody, I10_parked_is_left_alone,
	I10_parked_for_a_reason, I10_permanent_is_parked, I10_tries_are_bounded, I10_known_is_not_repeated;
#define HOLDS(name, condition) if :: (condition) :: else -> assert(name) fi

/* ---- The table: box.go of package outbox ---- */

#define NOWHERE 0
#define LISTED 1        /* one of the ten shards of the index */
#define PARKED 2

typedef Message {
	byte owner;     /* the commit that has put it; 0 for no message */
	bit due;        /* outbox_due is there */
	byte shard;     /* outbox_shard */
	byte tries;
	bit done        /* done_at and expiration are there */
}

#define DONE 1
#define FAILED 2
#define TAKE 3
#define PARK 4
#define REDRIVE 5

Message item;           /* the one item; every message here has its id */
byte lateOp, lateOwner, lateTries; /* a write on its way that nobody waits for any more */
byte seen;              /* who still knows what outbox_due is, as bits: 0 the late write, p process p. A write of outbox_due clears them */
byte owed[4];           /* of each generation: images that the stream has to hand over, or to hand over again */
byte faults = FAULTS, crashes = CRASHES, repeats = REPEATS, redrives = REDRIVES;
byte busy;              /* processes within an invocation */
byte handling;          /* relays among them, as bits */
byte rest;              /* 1: nothing fails any more, and what is due is delivered; 2: it was */

#define bitOf(n) (1 << (n))
#define has(set, n) ((set & bitOf(n)) != 0)
#define with(set, n) (set | bitOf(n))
#define without(set, n) (set & ~bitOf(n))

/* ---- What the invariants remember ---- */

byte newest;            /* the last generation that was put */
bit uncommitted;        /* its commit was not applied: only without the transaction */
bit delivered;          /* a delivery of it has returned nil */
bit forGood;            /* a delivery of it has failed for good */
byte counted;           /* its tries that were counted since the commit or the last redrive */
byte took;              /* those of them that a drain took */
byte overtaken;         /* relays that deliver an image of before the last redrive, as bits */
byte reported;          /* its failures that a relay has counted and reported since then */

#define forAReason (forGood || counted >= TRIES)

/* ---- What a process knows: memory.go ---- */

byte known[4], knownDone[4];

bit ok;
byte times, reply;

#ifdef NO_DONE_OWNER
#define doneOwner(o) true
#else
#define doneOwner(o) (item.owner == o)
#endif
#ifdef NO_FAILED_OWNER
#define failedOwner(o) true
#else
#define failedOwner(o) (item.owner == o)
#endif
#ifdef NO_FAILED_PENDING
#define failedPending true
#else
#define failedPending item.due
#endif
#ifdef NO_PARK_OWNER
#define parkOwner(o) true
#else
#define parkOwner(o) (item.owner == o)
#endif
#ifdef NO_PARK_PENDING
#define parkPending true
#else
#define parkPending item.due
#endif
#ifdef NO_PARK_TRIES
#define parkTries(n) true
#else
#define parkTries(n) (n == 0 || item.tries >= n)
#endif
#ifdef NO_TAKE_OWNER
#define takeOwner(o) true
#else
#define takeOwner(o) (item.owner == o)
#endif
#ifdef NO_TAKE_DUE
#define takeDue(s) item.due
#else
#define takeDue(s) (item.due && has(seen, s))
#endif
#ifdef NO_TAKE_PARKED
#define takeParked true
#else
#define takeParked (item.shard != PARKED)
#endif
#ifdef NO_REDRIVE_OWNER
#define redriveOwner(o) true
#else
#define redriveOwner(o) (item.owner == o)
#endif
#ifdef NO_REDRIVE_PARKED
#define redriveParked true
#else
#define redriveParked (item.shard == PARKED)
#endif

/* A write of the table makes an image. What passes the filter of the stream is handed over: outbox_due exists, tries does not. */
#ifdef NO_FILTER
#define passes item.due
#else
#define passes (item.due && item.tries == 0)
#endif
inline streams(by) {
	if
	:: passes -> HOLDS(I10_marks_call_nobody, by == REDRIVE);
		owed[item.owner]++
	:: else
	fi
}

/* apply is the arrival of a write for generation o, whose sender knows outbox_due if bit s of seen is set. It also knows the tries, if they are not 0. */
inline apply(op, o, s, t) {
	d_step {
		ok = 0;
		if
		:: op == DONE && doneOwner(o) && item.due ->
			HOLDS(I10_done_after_delivery, delivered);
			ok = 1; item.shard = NOWHERE; item.tries = 0; item.done = 1; seen = 0;
#ifndef NO_DONE_CLEARS
			item.due = 0
#endif
		:: op == FAILED && item.owner != 0 && failedOwner(o) && failedPending ->
			HOLDS(I10_one_generation_each, item.owner == o); HOLDS(I10_done_stays_done, !item.done);
			ok = 1; item.due = 1; counted++; seen = 0;
#ifndef NO_COUNT
			item.tries++
#endif
		:: op == TAKE && item.owner != 0 && takeOwner(o) && takeDue(s) && takeParked ->
			HOLDS(I10_one_generation_each, item.owner == o); HOLDS(I10_done_stays_done, !item.done);
			HOLDS(I10_parked_is_left_alone, item.shard != PARKED);
			ok = 1; item.due = 1; counted++; took++; seen = 0;
			HOLDS(I10_tries_are_bounded, took <= TRIES);
#ifndef NO_TAKE_COUNT
			item.tries++
#endif
		:: op == PARK && item.owner != 0 && parkOwner(o) && parkPending && parkTries(t) ->
			HOLDS(I10_one_generation_each, item.owner == o); HOLDS(I10_done_stays_done, !item.done);
			HOLDS(I10_parked_for_a_reason, forAReason);
			ok = 1; item.shard = PARKED;
#ifndef NO_PARK_COUNT
			if :: item.tries == 0 -> item.tries = 1 :: else fi
#endif
		:: op == REDRIVE && item.owner != 0 && redriveOwner(o) && redriveParked ->
			HOLDS(I10_one_generation_each, item.owner == o); HOLDS(I10_done_stays_done, !item.done);
			ok = 1; item.due = 1; item.shard = LISTED; counted = 0; took = 0; reported = 0; overtaken = handling; seen = 0;
#ifndef NO_REDRIVE_TRIES
			item.tries = 0
#endif
		:: else
		fi;
		if
		:: ok -> HOLDS(I10_pending_is_due, (item.done && !item.due && item.shard == NOWHERE) || (!item.done && item.due && item.shard != NOWHERE));
			streams(op)
		:: else
		fi
	}
}

/* ---- The network: a call of the table, within one step of its caller ---- */

#define UNANSWERED 0
#define YES 1
#define NO 2

inline call(op) {
	times = 1; reply = YES;
	if
	:: true
	:: faults > 0 -> faults--;
		if
		:: times = 0; reply = UNANSWERED; TELL(request_lost, "loses a request")
		:: reply = UNANSWERED; TELL(reply_lost, "loses a reply")
		:: times = 2; TELL(sent_twice, "has its client send a request twice")
		:: lateOp == 0 -> times = 0; reply = UNANSWERED; sendLate(op); TELL(late, "gives up a request that is late")
		:: lateOp == 0 -> times = 3; TELL(late_copy, "has its client send a request twice, and one copy is late")
		fi
	fi;
	if
	:: times == 3 -> /* the copy knows what the request knew */
		times = has(seen, p); apply(op, g, p, n);
		lateOp = op; lateOwner = g; lateTries = (op == PARK -> n : 0); if :: times && !ok -> seen = with(seen, 0) :: else fi
	:: times == 2 -> apply(op, g, p, n); apply(op, g, p, n)
	:: times == 1 -> apply(op, g, p, n)
	:: else -> ok = 0
	fi;
	if :: reply == YES && !ok -> reply = NO :: else fi;
	times = 0; ok = 0
}
inline sendLate(op) {
	lateOp = op; lateOwner = g; lateTries = (op == PARK -> n : 0);
	if :: has(seen, p) -> seen = with(seen, 0) :: else -> seen = without(seen, 0) fi
}

/* ---- An invocation of a relay or a drain ends ---- */

#define idle() busy--; handling = without(handling, p); overtaken = without(overtaken, p); seen = without(seen, p); g = 0; n = 0; permanent = 0; reply = 0
inline crash() { /* its process dies, and another one takes its place */
	crashes--; TELL(crashed, "dies"); known[p] = 0; knownDone[p] = 0
}

/* relay.go: try. What the receiver says, or does not say. */
#define ARRIVED 1
#define REFUSED 2
#define REFUSED_FOR_GOOD 3
inline deliver() {
	HOLDS(I10_no_message_without_commit, g < newest || !uncommitted);
	HOLDS(I10_known_is_not_repeated, !has(known[p], g));
	if
	:: reply = ARRIVED; known[p] = with(known[p], g); if :: g == newest -> delivered = 1 :: else fi; TELL(arrived, "delivers")
	:: rest == 0 -> reply = REFUSED; TELL(refused, "has its delivery refused, or not answered")
	:: rest == 0 -> reply = REFUSED_FOR_GOOD; permanent = 1; if :: g == newest -> forGood = 1 :: else fi; TELL(refused_for_good, "has its delivery refused for good")
	fi;
#ifdef NO_FAILURE
	reply = ARRIVED
#endif
}

/* relay.go: mark. It answers in reply. */
inline mark() {
	call(DONE);
	if
	:: reply == UNANSWERED -> TELL(unmarked, "cannot mark it as done")
	:: reply == YES -> knownDone[p] = with(knownDone[p], g); TELL(done, "marks it as done")
	:: reply == NO -> knownDone[p] = with(knownDone[p], g); TELL(done_elsewhere, "finds it done, or replaced")
	fi
}

/* What has failed for good is not tried again. */
#define isParked (item.owner != g || !item.due || item.shard == PARKED)
#define permanentIsParked HOLDS(I10_permanent_is_parked, !permanent || isParked)

/* relay.go: park. It answers in reply. */
inline park() {
	call(PARK);
	if
	:: reply == UNANSWERED -> TELL(uncounted, "cannot park it")
	:: reply == YES -> TELL(parked, "parks it")
	:: reply == NO -> TELL(park_elsewhere, "finds it done, replaced or redriven, and does not park it")
	fi
}

/* ---- The stream: stream.go: handedOver, and stream.go of package outbox ---- */

/* What is acknowledged is not handed over again: it is done, replaced, deleted, parked, or left to a drain. */
inline acknowledge() {
	HOLDS(I10_acknowledged_goes_on, isParked || item.tries > REPORTS || has(overtaken, p));
	idle()
}
inline report() { owed[g]++; idle() }

proctype Relay(byte p) {
	byte g, n;
	bit permanent;

stream:	atomic {
		if
		:: rest == 0 && owed[1] > 0 -> g = 1; owed[1]--
		:: rest == 0 && owed[2] > 0 -> g = 2; owed[2]--
		:: rest == 0 && owed[3] > 0 -> g = 3; owed[3]--
		:: rest == 0 && repeats > 0 && newest >= 1 -> g = 1; repeats--; TELL(repeated, "is handed over an image again")
		:: rest == 0 && repeats > 0 && newest >= 2 -> g = 2; repeats--; TELL(repeated, "is handed over an image again")
		:: rest == 0 && repeats > 0 && newest >= 3 -> g = 3; repeats--; TELL(repeated, "is handed over an image again")
		:: rest == 0 && known[p] != 0 -> /* the process ends, or forgets what is old */
			TELL(forgets, "forgets what it has delivered"); known[p] = 0; knownDone[p] = 0;
			goto stream
#if DRAINS == 0
		:: rest == 1 && p == 1 && owed[1] > 0 -> g = 1; owed[1]--
		:: rest == 1 && p == 1 && owed[2] > 0 -> g = 2; owed[2]--
		:: rest == 1 && p == 1 && owed[3] > 0 -> g = 3; owed[3]--
		:: rest == 1 && p == 1 && owed[1] == 0 && owed[2] == 0 && owed[3] == 0 -> rest = 2; goto end
		:: rest >= 1 && p > 1 -> goto end
#else
		:: rest >= 1 -> goto end
#endif
		fi;
		busy++; handling = with(handling, p); TELL(handed_over, "is handed over an image");
#ifndef NO_KNOWN
		if
		:: has(knownDone[p], g) -> TELL(known_done, "knows that it is done"); acknowledge();
			goto stream
		:: has(known[p], g) && !has(knownDone[p], g) -> TELL(known_delivered, "knows that it has delivered it");
			goto delivered_it
		:: else
		fi
#endif
#ifdef NO_DELIVERY_FIRST
		; mark()
#endif
	}
	atomic {
		if
		:: deliver()
		:: crashes > 0 -> crash(); report();
			goto stream
		fi;
		if
		:: reply == ARRIVED -> goto delivered_it
#ifndef NO_PERMANENT
		:: reply == REFUSED_FOR_GOOD -> reply = 0; goto for_good
#endif
		:: else -> reply = 0
		fi
	}
	atomic {
		if
		:: call(FAILED);
			if :: reply == YES -> permanentIsParked :: else fi;
			if
			:: reply == UNANSWERED -> TELL(uncounted, "cannot count its failure");
#ifdef NO_UNCOUNTED
				acknowledge();
#else
				report();
#endif
				goto stream
			:: reply == NO -> TELL(failed_elsewhere, "finds it done, or replaced"); acknowledge();
				goto stream
			:: reply == YES && item.tries >= TRIES -> n = item.tries; reply = 0 /* and parks it */
#ifndef NO_PUT_OFF
			:: reply == YES && item.tries > REPORTS && item.tries < TRIES -> TELL(put_off, "leaves it to a drain"); acknowledge();
				goto stream
#else
			:: reply == YES && item.tries > REPORTS && item.tries < TRIES -> reported++;
				HOLDS(I10_reported_a_few_times, reported <= REPORTS); report();
				goto stream
#endif
			:: reply == YES && item.tries <= REPORTS -> TELL(failed, "reports its failure");
#ifdef NO_REPORT
				acknowledge();
#else
				reported++; HOLDS(I10_reported_a_few_times, reported <= REPORTS); report();
#endif
				goto stream
			fi
		:: crashes > 0 -> crash(); report();
			goto stream
		fi
	}
for_good: atomic {
		if
		:: park();
			if
			:: reply == UNANSWERED ->
#ifdef NO_UNCOUNTED
				acknowledge()
#else
				report()
#endif
			:: else -> acknowledge()
			fi
		:: crashes > 0 -> crash(); report()
		fi;
		goto stream
	}
delivered_it: atomic {
		if
		:: mark();
			if
			:: reply == UNANSWERED ->
#ifdef NO_UNMARKED
				acknowledge()
#else
				report()
#endif
			:: else -> acknowledge()
			fi
		:: crashes > 0 -> crash(); report()
		fi;
		goto stream
	}
end:	skip
}

/* ---- The schedule: drain.go: found, drained ---- */

#define FIRST_DRAIN (RELAYS + 1)

proctype Drain(byte p) {
	byte g, n;
	bit permanent, turn;

schedule: atomic {
		n = 0;
		if
		:: (rest == 0 || rest == 1 && p == FIRST_DRAIN && !turn) && item.due && item.shard == LISTED ->
			/* A list that is late shows other ones, too. The read tells: nothing is done, so nothing is modelled. */
			turn = rest; busy++; g = item.owner; n = item.tries; TELL(found, "finds what is due")
		:: rest == 1 && p == FIRST_DRAIN && (turn || !(item.due && item.shard == LISTED)) -> rest = 2; goto end
		:: rest == 0 && known[p] != 0 ->
			TELL(forgets, "forgets what it has delivered"); known[p] = 0; knownDone[p] = 0;
			goto schedule
		:: rest >= 1 && p != FIRST_DRAIN -> goto end
		fi;
#ifndef NO_KNOWN
		if
		:: has(known[p], g) -> TELL(found_known, "knows that it has delivered it"); n = 0;
			goto delivered_it
		:: else
		fi;
#endif
		if
#ifndef NO_USED_UP
		:: n >= TRIES -> TELL(used_up, "finds that it was tried as often as it may be");
			goto for_good
#endif
		:: else -> seen = with(seen, p)
		fi
	}
	atomic {
		if
		:: call(TAKE);
			if
			:: reply == UNANSWERED -> TELL(take_unanswered, "cannot take it"); idle();
				goto schedule
#ifndef NO_TAKEN
			:: reply == NO -> TELL(taken_elsewhere, "finds it taken, done, parked or replaced"); idle();
				goto schedule
#endif
			:: else -> TELL(taken, "takes it"); n++; reply = 0;
				HOLDS(I10_parked_is_left_alone, item.owner != g || item.shard != PARKED)
			fi
		:: crashes > 0 -> crash(); idle();
			goto schedule
		fi
	}
	atomic {
		if
		:: deliver()
		:: crashes > 0 -> crash(); idle();
			goto schedule
		fi;
		if
		:: reply == ARRIVED -> n = 0; goto delivered_it
		:: reply != ARRIVED && n >= TRIES -> TELL(last_try, "has tried it for the last time"); reply = 0
#ifndef NO_PERMANENT
		:: reply == REFUSED_FOR_GOOD && n < TRIES -> reply = 0
#endif
		:: else -> permanentIsParked; TELL(tried_again, "leaves it to be tried again"); idle();
			goto schedule
		fi
	}
for_good: atomic {
		if
		:: park()
		:: crashes > 0 -> crash()
		fi;
		idle();
		goto schedule
	}
delivered_it: atomic {
		if
		:: mark()
		:: crashes > 0 -> crash()
		fi;
		idle();
		goto schedule
	}
end:	skip
}

/* ---- An operator: Redrive of package outbox ---- */

proctype Operator() {
	byte g, p, n;

	do
	:: atomic { rest == 0 && redrives > 0 && item.shard == PARKED -> busy++; redrives--; g = item.owner }
		atomic {
			call(REDRIVE);
			if
			:: reply == UNANSWERED -> TELL(redrive_unanswered, "its operator does not know whether it is redriven")
			:: reply == YES -> TELL(redriven, "its operator redrives it")
			:: reply == NO -> TELL(redriven_elsewhere, "its operator finds it done, redriven or replaced")
			fi;
			busy--; g = 0; reply = 0
		}
	:: rest >= 1 -> break
	od
}

/* ---- The rest of the world: commits, late writes, time to live, and the end ---- */

/* message.go of package outbox: a put, within the transaction of its commit. It replaces what is there. */
inline put() {
	newest = g; delivered = 0; forGood = 0; counted = 0; took = 0; reported = 0; item.owner = g; item.due = 1;
	item.done = 0;
#ifndef NO_PUT_TRIES
	item.tries = 0;
#endif
#ifdef NO_PUT_LISTED
	if :: item.shard == NOWHERE -> item.shard = LISTED :: else fi;
#else
	item.shard = LISTED;
#endif
	if :: passes -> owed[g]++ :: else fi;
	if /* two instants may be the same millisecond */
	:: seen = 0
	:: seen != 0
	fi
}

#if DRAINS == 0
#define waits (item.shard == PARKED && forAReason || item.tries > REPORTS) /* what is put off waits for a drain */
#else
#define waits (item.shard == PARKED && forAReason)
#endif
#define hasEnded (newest == 0 || delivered || item.owner == newest && waits)

proctype World() {
	byte g, p;

	do
	:: atomic { /* a commit that is declined, has failed or has lost its lease */
			rest == 0 && newest < COMMITS -> g = newest + 1; TELL(declined, "its commit is not applied"); g = 0
		}
	:: atomic {
			rest == 0 && newest < COMMITS -> g = newest + 1;
			if :: item.due -> TELL(replaced, "its commit replaces what an earlier one has put") :: else fi;
#ifdef NO_TRANSACTION
			put(); TELL(committed, "it is put, and its commit is not applied"); uncommitted = 1; g = 0
#else
			put(); TELL(committed, "its commit is applied"); g = 0
#endif
		}
	:: atomic { lateOp != 0 -> g = lateOwner; apply(lateOp, lateOwner, 0, lateTries);
			if :: ok -> TELL(late_applied, "a late write is applied") :: else -> TELL(late_refused, "a late write is refused") fi;
			lateOp = 0; lateOwner = 0; lateTries = 0; seen = without(seen, 0); ok = 0; g = 0
		}
	:: atomic { item.done -> g = item.owner; TELL(expired, "it expires: DynamoDB deletes it"); /* the expiration is that of what is done */
			HOLDS(I10_pending_is_due, !item.due); 
			item.owner = 0; item.done = 0; item.due = 0; item.shard = NOWHERE; item.tries = 0; g = 0; seen = 0; counted = 0; took = 0; reported = 0
		}
	:: atomic { rest == 0 && busy == 0 && lateOp == 0 -> rest = 1; TELL(at_rest, "from now on nothing fails, and what is due is delivered");
			faults = 0; crashes = 0; repeats = 0; redrives = 0
		}
	:: atomic { rest == 2 -> break }
	od;
	HOLDS(I10_delivered_in_the_end, hasEnded)
}

init {
	atomic {
		c_code { atexit(print_labels); };
#if RELAYS > 0
		run Relay(1);
#endif
#if RELAYS > 1
		run Relay(2);
#endif
#if DRAINS > 0
		run Drain(FIRST_DRAIN);
#endif
#if DRAINS > 1
		run Drain(FIRST_DRAIN + 1);
#endif
#if REDRIVES > 0
		run Operator();
#endif
		run World()
	}
}
