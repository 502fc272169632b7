/*
 * The claim protocol over one record: what invoke.go, claim.go, judge.go, settle.go and lease.go do, on a store that
 * keeps the contract of store.go, over a network that loses, delays and repeats, with processes that die and clocks that
 * differ. README.md tells how to read it and what it leaves out; ./check runs it.
 *
 * Every transition names the Go function that it mirrors. Every guard is in #ifndef NO_...: switched off it must give a
 * counterexample.
 */

/* Bounds. ./check sets them for each scenario. */
#ifndef N
#define N 2             /* invocations: deliveries of one key, each with a token of its own; at most 3 */
#endif
#ifndef FAULTS
#define FAULTS 2        /* calls whose request or reply is lost, late or repeated */
#endif
#ifndef SLOTS
#define SLOTS 1         /* late writes on their way at once */
#endif
#ifndef CRASHES
#define CRASHES 1       /* processes that die before their deadline */
#endif
#ifndef TMAX
#define TMAX 8          /* ticks of the clock */
#endif
#ifndef REQUESTS
#define REQUESTS 2      /* fingerprints that come under the key */
#endif
#ifndef RETENTION
#define RETENTION 2     /* ticks that a result is replayed */
#endif
#ifndef RENEWALS
#define RENEWALS 1      /* with HEARTBEAT: renewals of one execution */
#endif

/* Times in ticks. MARGIN covers a late kill and clocks that differ: at least SKEW + LATE. */
#define LEN      1      /* from the start of an invocation to its deadline */
#define LATE     1      /* so long a process may outlive its deadline */
#define SKEW     1      /* clocks differ by this much at most */
#ifdef NO_MARGIN
#define MARGIN   0
#else
#define MARGIN   2
#endif
#define UNKNOWN_RETENTION 100   /* beyond the end of time: UNKNOWN stays */

/* Scenarios: STALE (a frozen process comes back after its deadline), REFUSE (crash policy), RESOLVER, HEARTBEAT (no
 * deadline, the lease is renewed), TWO_MOMENTS (the record that a refusal shows is read later than it refused). */
#ifdef NO_REFUSE_STAYS
#define UNDOES true
#else
#define UNDOES (kind != REFUSE_IT)
#endif
#ifdef NO_UNLEASED
#define MINE_LEASE lease
#else
#define MINE_LEASE 0
#endif
#ifdef STALE
#define FREEZES 1       /* so many processes are frozen and come back after their deadline */
#else
#define FREEZES 0
#endif
#ifdef RESOLVER
#define RESOLVES 1
#else
#define RESOLVES 0
#endif
#if (defined(REFUSE) || defined(RESOLVER)) && !defined(NO_CRASHED_KEPT) /* options.go: WithResolver implies Refuse */
#define KEPT UNKNOWN_RETENTION
#else
#define KEPT RETENTION
#endif
#if defined(RESOLVER) || !defined(REFUSE) || defined(NO_REFUSE)
#define TAKES_OVER 1
#else
#define TAKES_OVER 0
#endif

/* ---- What the check counts and tells ---- */

#define LABELS(X) X(start) X(won) X(own_claim) X(claim_again) X(mismatch) X(replay) X(in_progress) X(takeover) X(refuse) \
	X(refused_now) X(unknown) X(repeat) X(undo_claim) X(undo_takeover) X(undone) X(undo_unanswered) X(unavailable) \
	X(run) X(renewed) X(lease_lost) X(returned) X(failed) X(unstorable) X(resolved) X(still_unknown) \
	X(completed) X(made_unknown) X(landed) X(store_if_gone) X(unknown_completed) X(other_lapsed) X(other_result) \
	X(other_running) X(other_request) X(other_unknown) X(last_word) X(settlement_failed) X(released) X(release_failed) \
	X(released_elsewhere) X(request_lost) X(reply_lost) X(throttled) X(late) X(late_copy) X(late_applied) X(late_refused) \
	X(killed) X(crashed) X(ttl)
#define ENUM(name) AT_##name,
#define NAME(name) #name,
c_decl {
	enum { LABELS(ENUM) LABEL_COUNT };
	static const char *label_names[] = { LABELS(NAME) };
	static unsigned long label_hits[LABEL_COUNT];
	static void print_labels(void) {
		for (int i = 0; i < LABEL_COUNT; i++) printf("label %s %lu\n", label_names[i], label_hits[i]);
	}
}
#define TELL(name, text) d_step { c_code { label_hits[AT_##name]++; }; printf("t=%d  invocation %d ", T, p); printf(text); printf("\n") }

/* The invariants: never set, so assert(name) fails where HOLDS finds its condition broken, and names it. */
bit I1_one_at_a_time, I1_nothing_within_retention, I1_one_commit, I1_refuse_never_repeats, I1_resolver_spares,
	I2_replay_is_the_first_result, I2_all_callers_agree, I3_other_request_never_executes, I3_other_request_gets_no_result,
	I4_lease_bounds_the_wait, I4_no_claim_left_behind, I4_undone_stays_undone, I5_stale_owner_changes_nothing,
	I6_no_execution_without_claim, I7_never_deletes_an_effect, I7_no_spared_execution, I7_own_result_is_own,
	I7_result_is_not_hidden;
#define HOLDS(name, condition) if :: (condition) :: else -> assert(name) fi

/* ---- The store: record.go, store.go, dynamo/claim.go, dynamo/swap.go ---- */

#define NONE 0          /* no record */
#define INPROGRESS 1
#define COMPLETED 2
#define UNKNOWN 3

typedef Record {
	byte status;
	byte owner;     /* the token: the number of the invocation */
	byte lease;
	byte expiry;
	byte request;   /* the fingerprint */
	byte commit;    /* the owner that completed it, which stands for its result too; 0 for none */
	bit again       /* Attempt > 1 */
}

#define CLAIM 1
#define SWAP 2
#define DELETE 3

/* A write as it is sent: the arguments of Store.Claim, Store.Swap, Store.Delete. */
typedef Write {
	byte op;
	byte by;        /* whose token sends it; for the invariants */
	byte status;    /* seen.Status */
	byte owner;     /* seen.Owner */
	byte lease;     /* seen.Lease, 0 if it is not compared */
	byte now;
	Record next
}

Record rec;             /* the one record */
Write onItsWay[SLOTS];      /* writes on their way that nobody waits for any more */
byte T = 1;             /* true time; a clock shows T or T + SKEW */
byte faults = FAULTS, crashes = CRASHES, freezes = FREEZES;

/* record.go: reached. The end counts as over. */
#ifdef NO_END_INSTANT
#define reached(end, t) (t > end)
#else
#define reached(end, t) (t >= end)
#endif
/* record.go: (Record).Claimable; dynamo/expression.go: claimable. */
#if defined(NO_CLAIM_EXPIRY)
#define claimable(r, t) (r.status == COMPLETED)
#elif defined(NO_CLAIM_COMPLETED)
#define claimable(r, t) (reached(r.expiry, t))
#else
#define claimable(r, t) (r.status == COMPLETED && reached(r.expiry, t))
#endif
/* record.go: (Record).lapsed. The lease outranks the expiry. */
#if defined(NO_LAPSE)
#define lapsed(r, t) false
#elif defined(NO_LEASE_FIRST)
#define lapsed(r, t) reached(r.expiry, t)
#else
#define lapsed(r, t) reached(r.lease, t)
#endif
/* The same by the fastest clock there is: what the invariants grant. */
#define surelyLive(end) (T + SKEW < end)

/* ---- What the invariants remember ---- */

#define IDLE 0
#define CLAIMING 1
#define CLAIMED 2
#define RUNNING 3
#define SETTLING 4
#define ENDED 5

byte phase[4];          /* of invocation 1..N */
bit dead[4];            /* killed: takes no further step */
bit stale[4];           /* its process is frozen and comes back: no deadline ends it */
byte request[4];
byte deadline[4];       /* in true time; with HEARTBEAT when the handler is cancelled */
byte leased[4];         /* the lease that the invocation holds, or held */
bit ran[4];             /* its handler was called */
bit tookOver[4];        /* its claim replaced the one of another */
bit undone[4];          /* its takeover was taken back, or its claim */
bit loose[4];           /* a write of its token was or is late, or its undo was not answered */
bit effect[4];          /* its handler returned: the effect happened */
bit excused[4];         /* the store did not answer its settlement, or someone else held the record by then */
bit agreed[4];          /* its caller got its own result, and the store had answered */
byte until[4];          /* how long its effect counts */
byte first, firstExpiry, firstRequest;  /* the committed result: owner, expiry, fingerprint; 0 for none */
byte keyRequest;        /* the fingerprint that the key stands for; 0 for none */
byte executions;        /* begun since the key was last free */
byte effects;           /* happened since the key was last free */

byte held_lease;
#if defined(REFUSE) || defined(RESOLVER)        /* only a completed record is forgotten; UNKNOWN stays */
#define EXPIRED if :: rec.status == COMPLETED -> freeKey() :: else fi
#else
#define EXPIRED freeKey()
#endif
inline freeKey() { keyRequest = 0; executions = 0; effects = 0 }

inline clear(r) {
	r.status = NONE; r.owner = 0; r.lease = 0; r.expiry = 0; r.request = 0; r.commit = 0; r.again = 0
}

inline copy(to, from) {
	to.status = from.status; to.owner = from.owner; to.lease = from.lease; to.expiry = from.expiry;
	to.request = from.request; to.commit = from.commit; to.again = from.again
}

inline copyWrite(to, from) {
	to.op = from.op; to.by = from.by; to.status = from.status; to.owner = from.owner; to.lease = from.lease; to.now = from.now;
	copy(to.next, from.next)
}

inline clearWrite(m) {
	m.op = 0; m.by = 0; m.status = 0; m.owner = 0; m.lease = 0; m.now = 0; clear(m.next)
}

#define disagrees(q, m) (q != m.by && agreed[q] && request[q] == m.next.request && surelyLive(until[q]))

/* The conditions of the store, as store.go states them. Sets ok. */
inline apply(m) {
	d_step {
		if
		:: m.op == CLAIM -> /* store.go: Claim; dynamo/claim.go */
#ifdef NO_CLAIM_CONDITION
			ok = true
#else
			ok = (rec.status == NONE || claimable(rec, m.now))
#endif
		:: m.op == SWAP -> /* store.go: Swap; dynamo/expression.go: sameAs */
			ok = (rec.status != NONE
#ifndef NO_SWAP_STATUS
				&& rec.status == m.status
#endif
#ifndef NO_SWAP_OWNER
				&& rec.owner == m.owner
#endif
#ifndef NO_SWAP_LEASE
				&& (m.lease == 0 || rec.lease == m.lease)
#endif
			)
		:: m.op == DELETE -> /* store.go: Delete; dynamo/swap.go: Delete */
			ok = (rec.status == m.status
#ifndef NO_DELETE_OWNER
				&& rec.owner == m.owner
#endif
				&& (m.lease == 0 || rec.lease == m.lease))
		fi;
		if
		:: !ok
		:: else ->
			HOLDS(I5_stale_owner_changes_nothing, rec.status == NONE || rec.owner == m.by ||
				m.op != DELETE && (rec.status == INPROGRESS && !surelyLive(rec.lease) ||
					rec.status == COMPLETED && !surelyLive(rec.expiry) || rec.status == UNKNOWN && RESOLVES));
			HOLDS(I7_never_deletes_an_effect, m.op != DELETE || !effect[m.by]);
			HOLDS(I4_undone_stays_undone, m.op != SWAP || !undone[m.by] || m.owner == m.by || m.next.owner != m.by);
			if
			:: m.op != DELETE && m.next.status == COMPLETED ->
				HOLDS(I1_one_commit, first == 0 || first == m.by || !surelyLive(firstExpiry));
				HOLDS(I2_all_callers_agree, !disagrees(1, m) && !disagrees(2, m) && !disagrees(3, m));
				first = m.by; firstExpiry = m.next.expiry; firstRequest = m.next.request
			:: else
			fi;
			if
			:: m.op == DELETE ->
				if :: ran[m.by] || !tookOver[m.by] -> freeKey() :: else fi;
				clear(rec)
			:: m.op == CLAIM ->
				if :: rec.status == COMPLETED && !surelyLive(rec.expiry) -> freeKey() :: else fi;
				if :: keyRequest == 0 -> keyRequest = m.next.request :: else fi;
				tookOver[m.by] = 0;
				copy(rec, m.next)
			:: else ->
				tookOver[m.by] = tookOver[m.by] || m.owner != m.by && m.next.owner == m.by;
				held_lease = rec.lease; copy(rec, m.next);
				if :: rec.lease == 0 -> rec.lease = held_lease :: else fi;
				held_lease = 0
			fi;
			if :: rec.status == INPROGRESS && rec.owner == m.by -> leased[m.by] = rec.lease :: else fi
		fi
	}
}

/*
 * One call of the store: dynamo/attempts.go, errors.go (mayBeApplied). Whether a copy stays on its way, whether it is
 * applied now, and whether the caller is told, are independent. Sets res; a call that repeats at once is one whose reply
 * is lost and the next.
 */
#define DONE 0
#define REFUSED 1
#define IN_DOUBT 2      /* an error, and the write may have been applied */
#define NOT_APPLIED 3   /* an error that rules it out: StoreError.NotApplied */

#define free(i) (onItsWay[i].op == 0)
#if SLOTS > 1
#define anyFree (free(0) || free(1))
#define slot (free(0) -> 0 : 1)
#else
#define anyFree free(0)
#define slot 0
#endif

inline call() {
	sent = true; res = DONE;
	if
	:: true
	:: faults > 0 -> faults--; sent = false; res = IN_DOUBT; TELL(request_lost, "sends a request that is lost")
	:: faults > 0 -> faults--; sent = false; res = NOT_APPLIED; TELL(throttled, "is throttled by the store")
	:: faults > 0 -> faults--; res = IN_DOUBT; TELL(reply_lost, "sends a request that arrives, and the reply is lost")
	:: faults > 0 && anyFree -> faults--; sent = false; res = IN_DOUBT; loose[p] = 1; copyWrite(onItsWay[slot], w);
		TELL(late, "sends a request that is late, and gives up on it")
	:: faults > 0 && anyFree -> faults--; loose[p] = 1; copyWrite(onItsWay[slot], w);
		TELL(late_copy, "sends a request twice, and one is late")
	fi;
	if
	:: sent -> apply(w); if :: res == DONE && !ok -> res = REFUSED; copy(held, rec) :: else fi
	:: else
	fi;
	sent = false; ok = false
}

/* ---- An invocation ---- */

#define CLOCK (T + skew)  /* the clock of this invocation */

/* claim.go: move, moveKind */
#define FRESH 0
#define TAKEOVER 1
#define REFUSE_IT 2

/* claim.go: (*invocation).claimed; record.go: expiryAt */
inline claimed() {
	w.by = p; w.next.status = INPROGRESS; w.next.owner = p; w.next.lease = lease; w.next.expiry = CLOCK + KEPT;
#ifndef NO_EXPIRY_FLOOR
	if :: w.next.expiry < lease -> w.next.expiry = lease :: else fi
#endif
}

/* claim.go: (*invocation).fresh */
inline fresh() {
	clearWrite(w); kind = FRESH; w.op = CLAIM; w.next.request = request[p]; claimed()
}

/* judge.go: (*invocation).takeOver */
inline takeOver() {
	clearWrite(w); kind = TAKEOVER; w.op = SWAP; copy(w.next, held); w.next.again = 1;
	w.status = held.status; w.owner = held.owner; w.lease = held.lease; claimed()
}

/* judge.go: (*invocation).judgeInProgress, the last case. The owner stays. */
inline refuse() {
	clearWrite(w); kind = REFUSE_IT; w.op = SWAP; w.by = p; copy(w.next, held);
	w.status = held.status; w.owner = held.owner; w.lease = held.lease;
	w.next.status = UNKNOWN; w.next.expiry = w.now + UNKNOWN_RETENTION
}

/* settle.go: (*invocation).conclude, write: the claim that is to be replaced. */
inline replace(status_, owner_, lease_) {
	w.op = SWAP; w.status = status_; w.owner = owner_; w.lease = lease_
}

/* settle.go: complete, becomeUnknown: the record that the claim is to end in. A lease of 0 keeps the held one. */
inline endIn(status_) {
	clearWrite(w); w.by = p; replace(INPROGRESS, p, MINE_LEASE);
	w.next.status = status_; w.next.owner = p; w.next.request = request[p]; w.next.again = recovered;
	if
	:: status_ == COMPLETED -> w.next.commit = p; w.next.expiry = CLOCK + RETENTION
	:: else -> w.next.expiry = CLOCK + UNKNOWN_RETENTION
	fi
}

#define liveClaimOf(q) (rec.status == INPROGRESS && rec.owner == q && surelyLive(rec.lease))
#define frozen (stale[p] && !surelyLive(leased[p]))      /* beyond its lease: what it does no store can prevent */
#define runs(q) (q != p && phase[q] == RUNNING && !(stale[q] && !surelyLive(leased[q])))
#define spares(q) (q != p && effect[q] && phase[q] == ENDED && !dead[q] && !excused[q] && surelyLive(until[q]))

/* Nothing of a finished process matters but what the invariants remember. */
inline forget() {
	d_step {
		skew = 0; lease = 0; res = 0; kind = 0; want = 0; ok = 0; sent = 0; recovered = 0; doubt = 0;
		clearWrite(w); clear(held); clear(before); deadline[p] = 0; leased[p] = 0; loose[p] = 0;
		if :: dead[p] || excused[p] && !agreed[p] || !effect[p] -> until[p] = 0 :: else fi
	}
}

/* A label within a step: a goto to it stays in the step, where a goto to a label before "atomic" ends it. */
#define GOES_ON(label) atomic { false; label:

proctype Invocation(byte p) {
	byte skew, lease, res, kind, want;
	bool ok, sent, recovered;
#ifdef HEARTBEAT
	byte renewals = RENEWALS, sentAt;
#endif
	byte doubt;             /* claim.go: failures.unresolved: 0 for none, else its kind + 1 */
	Write w;                /* the write that is tried */
	Record held, before;    /* what refused it; what an unresolved takeover replaced */

	{
	/* invoke.go: invoke; lease.go: leaseFor. Everything is computed before the first call. */
	atomic {
		(p == 1 || phase[p - 1] != IDLE) -> /* the invocations are numbered in the order of their starts */
		if :: skip :: skew = SKEW fi;
		if :: request[p] = 1 :: p > 1 && REQUESTS > 1 -> request[p] = 2 fi;
		if :: skip :: freezes > 0 -> freezes--; stale[p] = 1 fi;
		deadline[p] = T + LEN; lease = CLOCK + LEN + MARGIN;
		phase[p] = CLAIMING; TELL(start, "is delivered");
		fresh(); w.now = CLOCK
	}

	/* claim.go: (*invocation).claim, send */
claim:	atomic {
		call();
		if
		:: res == REFUSED -> goto look
		:: res == DONE && kind == REFUSE_IT ->
			TELL(refused_now, "has made the crashed claim UNKNOWN");
#ifdef NO_REFUSED_ANSWER
			goto mine
#endif
			goto end
		:: res == DONE && kind != REFUSE_IT ->
			recovered = w.next.again; TELL(won, "has the claim");
			goto mine
		:: res >= IN_DOUBT ->
			/* claim.go: (*failures).repeat */
			if
			:: res == IN_DOUBT && UNDOES ->
				doubt = kind + 1; copy(before, held)
			:: else
			fi;
			if
			:: w.now = CLOCK; TELL(repeat, "repeats the write with the same token");
				goto claim
			:: TELL(unavailable, "gives up its claim: store unavailable");
				if
				:: doubt != 0 -> goto undo
				:: else ->
#ifdef NO_FAIL_CLOSED
					goto mine
#endif
					goto end
				fi
			fi
		fi
	}

	/* judge.go: (*invocation).judge */
#ifdef TWO_MOMENTS
look:	atomic {
		copy(held, rec);
#else
	GOES_ON(look)
#endif
		if
		:: held.status == NONE || claimable(held, w.now) ->
			fresh(); w.now = CLOCK; TELL(claim_again, "finds the record gone or expired, and claims again");
			goto claim
		:: else
		fi;
		if
#ifndef NO_OWN_CLAIM
		:: (held.owner == p
#ifndef NO_OWN_STATUS
			&& held.status == INPROGRESS
#endif
			) -> recovered = held.again; TELL(own_claim, "finds its own claim: a reply was lost");
			goto mine
#endif
		:: else
		fi;
		if
#ifndef NO_FINGERPRINT
		/* judge.go: (*invocation).sameRequest */
		:: held.request != request[p] -> TELL(mismatch, "is another request: mismatch");
			goto end
#endif
		:: else
		fi;
		if
		:: held.status == COMPLETED -> /* judge.go: (*invocation).replay */
			TELL(replay, "replays the stored result");
			HOLDS(I3_other_request_gets_no_result, held.request == request[p]);
			HOLDS(I2_replay_is_the_first_result, held.commit == first);
			goto end
		:: held.status == INPROGRESS && !lapsed(held, w.now) -> /* judge.go: judgeInProgress */
			TELL(in_progress, "is answered: in progress");
			HOLDS(I4_lease_bounds_the_wait, w.now < held.lease);
			goto end
		:: (held.status == INPROGRESS && lapsed(held, w.now) && TAKES_OVER || held.status == UNKNOWN && RESOLVES
#ifdef NO_UNKNOWN
			|| held.status == UNKNOWN
#endif
			) ->
			takeOver(); w.now = CLOCK; TELL(takeover, "takes over");
			goto claim
		:: held.status == INPROGRESS && lapsed(held, w.now) && !TAKES_OVER ->
			refuse(); w.now = CLOCK; TELL(refuse, "finds a crashed claim and refuses to repeat it");
			goto claim
		:: else -> TELL(unknown, "is answered: outcome unknown");
			goto end
		fi
	}

	/* claim.go: (*invocation).undo, takeBack. From here on the token never executes. */
	GOES_ON(undo)
#ifdef NO_UNDO
		goto end;
#endif
		clearWrite(w); w.by = p;
		if
		:: (doubt - 1 == FRESH
#ifdef NO_UNDO_RESTORE
			|| true
#endif
			) -> replace(INPROGRESS, p, 0); w.op = DELETE; TELL(undo_claim, "undoes its claim")
		:: else ->
			if
			:: doubt - 1 == REFUSE_IT -> replace(UNKNOWN, before.owner, 0)
			:: else -> replace(INPROGRESS, p, 0)
			fi;
			copy(w.next, before);
#ifndef NO_UNDO_TOKEN
			w.next.owner = p;
#endif
			TELL(undo_takeover, "undoes its takeover: what was seen comes back")
		fi
	}
undoing:	atomic {
		call();
		if
		:: res <= REFUSED -> undone[p] = (res == DONE); TELL(undone, "has undone it");
			goto end
		:: res >= IN_DOUBT -> TELL(repeat, "repeats its undo");
			goto undoing
		:: res >= IN_DOUBT -> loose[p] = 1; TELL(undo_unanswered, "has no answer to its undo");
#ifdef NO_UNDO_RULE
			if :: rec.status == INPROGRESS && rec.owner == p -> goto mine :: else fi;
#endif
			goto end
		fi
	}

	/* invoke.go: invoke. The store's last answer says that the record is ours. */
	GOES_ON(mine)
		HOLDS(I6_no_execution_without_claim, rec.status == INPROGRESS && rec.owner == p);
		phase[p] = CLAIMED; clear(held); clear(before); clearWrite(w); doubt = 0
	}

	/* invoke.go: (*invocation).handle */
	atomic {
#ifdef RESOLVER
#ifndef NO_RESOLVER_FIRST
		if
		:: recovered -> /* it tells the truth, or does not know */
			if
			:: phase[p] = SETTLING; TELL(still_unknown, "asks the resolver, which does not know");
				endIn(UNKNOWN); want = UNKNOWN; w.now = CLOCK;
				goto settle
			:: effects > 0 -> phase[p] = SETTLING; TELL(resolved, "asks the resolver, which knows the result");
				effect[p] = 1; until[p] = CLOCK + RETENTION; endIn(COMPLETED); want = COMPLETED; w.now = CLOCK;
				goto settle
			:: effects == 0
			fi
		:: else
		fi;
#endif
		HOLDS(I1_resolver_spares, effects == 0);
#endif
		TELL(run, "runs its handler");
		HOLDS(I1_one_at_a_time, frozen || !runs(1) && !runs(2) && !runs(3));
		HOLDS(I1_nothing_within_retention, frozen || first == 0 || !surelyLive(firstExpiry));
		HOLDS(I3_other_request_never_executes, frozen || keyRequest == request[p]);
		HOLDS(I7_no_spared_execution, frozen || !spares(1) && !spares(2) && !spares(3));
		HOLDS(I6_no_execution_without_claim, frozen || rec.status == INPROGRESS && rec.owner == p);
#if defined(REFUSE) && !defined(RESOLVER)
		HOLDS(I1_refuse_never_repeats, executions == 0);
		executions = 1;
#endif
		phase[p] = RUNNING; ran[p] = 1
	}

running:	atomic {
		if
#ifdef HEARTBEAT
		:: renewals > 0 -> /* lease.go: (*invocation).renew */
			renewals--; endIn(INPROGRESS); w.next.lease = CLOCK + LEN + MARGIN; w.next.expiry = w.next.lease; sentAt = T;
			goto renew
#endif
		:: effect[p] = 1; effects = 1; until[p] = CLOCK + RETENTION; endIn(COMPLETED); want = COMPLETED;
			TELL(returned, "returns from its handler: the effect has happened")
		:: effect[p] = 1; effects = 1; until[p] = CLOCK + RETENTION; endIn(UNKNOWN); want = UNKNOWN;
			TELL(unstorable, "returns a result that cannot be stored, or an uncertain error");
#ifdef NO_LAST_WORD
			goto end
#endif
		:: endIn(INPROGRESS); want = NONE; TELL(failed, "fails without an effect")
		fi;
handled:
		phase[p] = SETTLING; w.now = CLOCK;
		if
		:: want == NONE -> w.op = DELETE;
			goto release
		:: else -> goto settle
		fi
	}

#ifdef HEARTBEAT
	/* lease.go: renewUntil, renew. The handler is cancelled a margin before the lease that is known to be held. */
renew:	atomic {
		call();
		if
		:: res == DONE -> TELL(renewed, "has renewed its lease");
#ifdef NO_SENT_TIME
			sentAt = T;
#endif
			deadline[p] = sentAt + LEN
		:: res == REFUSED -> TELL(lease_lost, "finds that the record is not its own any more");
			deadline[p] = T
		:: res >= IN_DOUBT
		fi;
		sentAt = 0;
		goto running
	}
#endif

	/* settle.go: (*invocation).complete, becomeUnknown, conclude */
settle:	atomic {
		call();
		if
		:: res == REFUSED -> goto refusal
		:: res == DONE ->
			if
			:: want == COMPLETED -> TELL(completed, "has stored its result")
			:: else -> TELL(made_unknown, "has made its record UNKNOWN")
			fi;
			goto own
		:: res >= IN_DOUBT -> w.now = CLOCK; TELL(repeat, "repeats its settlement");
			goto settle
		:: res >= IN_DOUBT && want == COMPLETED -> /* complete */
#ifdef NO_KEEP
			endIn(INPROGRESS); w.op = DELETE; w.now = CLOCK;
			goto release;
#endif
			TELL(last_word, "gives up its completion, and says a last word: UNKNOWN");
			want = UNKNOWN; endIn(UNKNOWN); w.now = CLOCK;
			goto settle
		:: res >= IN_DOUBT && want == UNKNOWN -> /* becomeUnknown */
			excused[p] = 1; TELL(settlement_failed, "cannot settle its record, and returns its own result");
#ifdef NO_OWN_RESULT
			HOLDS(I7_result_is_not_hidden, !effect[p]);
#endif
			goto end
		fi
	}

	/* settle.go: conclude, elsewhere */
#ifdef TWO_MOMENTS
refusal: atomic {
		copy(held, rec);
#else
	GOES_ON(refusal)
#endif
		if
#ifndef NO_COMMIT_CHECK
		:: held.commit == p -> TELL(landed, "finds its own commit: the reply was lost");
			goto own
#endif
		:: else
		fi;
		if
#ifndef NO_STORE_IF_GONE
		:: held.status == NONE || claimable(held, w.now) ->
			w.op = CLAIM; w.now = CLOCK; TELL(store_if_gone, "finds its record gone, and stores the result if it stays so");
			clear(held);
			goto settle
#endif
		:: held.status != NONE && held.owner == p && held.status != COMPLETED ->
			if
			:: held.status == want -> TELL(made_unknown, "finds its record UNKNOWN as it wanted");
				goto own
			:: else -> replace(held.status, p, 0); w.now = CLOCK;
				TELL(unknown_completed, "finds its own record in another state, and brings the result");
				clear(held);
				goto settle
			fi
		:: else
		fi;
		if
#ifndef NO_OTHER_LAPSED
		:: want == COMPLETED && held.status == INPROGRESS && held.request == request[p] && lapsed(held, w.now) ->
			replace(INPROGRESS, held.owner, held.lease); w.now = CLOCK;
			TELL(other_lapsed, "finds someone else's lapsed claim, and completes in its place");
			clear(held);
			goto settle
#endif
		:: else
		fi;
		excused[p] = (held.status != NONE);
		if
#ifndef NO_FINGERPRINT_ELSEWHERE
		:: held.request != request[p] -> TELL(other_request, "finds another request's record, and returns its own result")
#endif
		:: (want == COMPLETED && held.status == COMPLETED
#ifndef NO_FINGERPRINT_ELSEWHERE
			&& held.request == request[p]
#endif
			) ->
#ifdef NO_OTHER_RESULT
			goto own;
#endif
			TELL(other_result, "finds someone else's result, and returns it");
			HOLDS(I7_own_result_is_own, held.commit != p);
			HOLDS(I3_other_request_gets_no_result, held.request == request[p]);
			HOLDS(I2_replay_is_the_first_result, held.commit == first)
		:: (want == COMPLETED && held.status == INPROGRESS
#ifndef NO_FINGERPRINT_ELSEWHERE
			&& held.request == request[p]
#endif
			) ->
#ifdef NO_OTHER_RUNNING
			goto own;
#endif
			TELL(other_running, "finds someone else running, and is answered: in progress");
			HOLDS(I4_lease_bounds_the_wait, w.now < held.lease)
		:: else -> TELL(other_unknown, "finds someone else's record, and returns its own result")
		fi;
		goto end
	}

	/* settle.go: (*invocation).release */
release:	atomic {
		call();
		if
		:: res == DONE -> TELL(released, "has released the key");
		:: res == REFUSED -> TELL(released_elsewhere, "finds nothing of its own to release")
		:: res >= IN_DOUBT -> w.now = CLOCK; TELL(repeat, "repeats its release");
			goto release
		:: res >= IN_DOUBT -> loose[p] = 1; TELL(release_failed, "cannot release the key: its lease bounds the wait")
		fi;
		HOLDS(I4_no_claim_left_behind, loose[p] || !liveClaimOf(p));
		goto end
	}

	/* settle.go: settled: the caller gets the handler's own result, and the store has answered */
	GOES_ON(own)
		if
		:: want == COMPLETED ->
			HOLDS(I2_all_callers_agree, first == 0 || first == p || firstRequest != request[p] || !surelyLive(firstExpiry));
			agreed[p] = 1
		:: else
		fi;
end:		HOLDS(I4_no_claim_left_behind, loose[p] || phase[p] != CLAIMING || !liveClaimOf(p));
		phase[p] = ENDED;
		forget()
	}
	} unless { atomic { dead[p] -> forget() } }
}

/* ---- Time, the network, crashes, DynamoDB's time to live ---- */

#define alive(q) (phase[q] >= CLAIMING && phase[q] <= SETTLING)
#ifdef HEARTBEAT        /* the handler is cancelled, and the settlement has a budget */
#ifdef NO_CANCEL
#define ends(q) (phase[q] == RUNNING -> 250 : deadline[q] + LATE)
#else
#define ends(q) (phase[q] == SETTLING -> deadline[q] + LATE + MARGIN : deadline[q] + LATE)
#endif
#else
#define ends(q) (deadline[q] + LATE)
#endif
#define waitsFor(q) (alive(q) && !stale[q] && T + 1 >= ends(q))        /* time does not pass before it ends or dies */
#ifdef HEARTBEAT
#define killedAtDeadline(q) false
#else
#define killedAtDeadline(q) waitsFor(q)
#endif
#define over(q) (q > N || phase[q] == ENDED)

inline forgetPast(q) {
	if :: surelyLive(until[q]) :: else -> until[q] = 0 fi
}

proctype World() {
	byte p;
	bool ok;

	do
	:: atomic {
		T < TMAX && !waitsFor(1) && !waitsFor(2) && !waitsFor(3) && !(over(1) && over(2) && over(3)) && phase[1] != IDLE ->
			d_step { T++; forgetPast(1); forgetPast(2); forgetPast(3);
				if :: surelyLive(firstExpiry) :: else -> firstExpiry = 0 fi }
	   }
	:: atomic { /* store.go: a store may drop a record after its expiry; DynamoDB by its own clock */
		rec.status != NONE && T + SKEW > rec.expiry ->
			p = rec.owner; TELL(ttl, "loses its record, which has expired: DynamoDB deletes it");
			if :: rec.status == COMPLETED -> first = 0; firstExpiry = 0; firstRequest = 0 :: else fi;
			EXPIRED;
			p = 0; clear(rec)
	   }
	:: atomic { /* a late write arrives */
		!free(0) -> p = onItsWay[0].by; apply(onItsWay[0]); clearWrite(onItsWay[0]);
			if
			:: ok -> TELL(late_applied, "had a write on its way, which is applied now")
			:: else -> TELL(late_refused, "had a write on its way, which is refused now")
			fi;
			p = 0; ok = 0
	   }
#if SLOTS > 1
	:: atomic {
		!free(1) -> p = onItsWay[1].by; apply(onItsWay[1]); clearWrite(onItsWay[1]);
			if
			:: ok -> TELL(late_applied, "had a write on its way, which is applied now")
			:: else -> TELL(late_refused, "had a write on its way, which is refused now")
			fi;
			p = 0; ok = 0
	   }
#endif
	:: atomic {
		if
		:: killedAtDeadline(1) -> p = 1 :: killedAtDeadline(2) -> p = 2 :: killedAtDeadline(3) -> p = 3
		fi;
		TELL(killed, "is killed at its deadline"); dead[p] = 1; phase[p] = ENDED; p = 0
	   }
	:: atomic {
		crashes > 0 && (alive(1) || alive(2) || alive(3));
		if
		:: alive(1) -> p = 1 :: alive(2) -> p = 2 :: alive(3) -> p = 3
		fi;
		crashes--; TELL(crashed, "crashes"); dead[p] = 1; phase[p] = ENDED; p = 0
	   }
	:: over(1) && over(2) && over(3) -> break
	od
}

init {
	atomic {
		c_code { atexit(print_labels); };
		run World(); run Invocation(1); run Invocation(2);
#if N > 2
		run Invocation(3)
#endif
	}
}
