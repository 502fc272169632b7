/*
 * The claim protocol over one record: what protocol.go, claim.go, judge.go, handle.go, settle.go, commit.go and
 * lease.go of internal/protocol do, on a store that keeps the contract of package store, over a network that loses, delays and
 * repeats, with processes that die and clocks that differ. README.md tells how to read it and what it leaves out;
 * ./check runs it. A file without a folder is one of internal/protocol.
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
#define RETENTION 4     /* ticks that a result is replayed, and a crash remembered: longer than a lease */
#endif
#ifndef RENEWALS
#define RENEWALS 1      /* with HEARTBEAT or OVERRUN: renewals of one execution */
#endif

/*
 * Times in ticks. MARGIN covers a late kill and clocks that differ: at least SKEW + LATE. What a claim may lose of its lease before
 * its handler starts (claim.go: worn) shares the margin with SKEW: it is less than a tick.
 */
#define LEN      1      /* from the start of an invocation to its deadline */
#define LATE     1      /* so long a process may outlive its deadline */
#define SKEW     1      /* clocks differ by this much at most */
#ifdef NO_MARGIN
#define MARGIN   0
#elif defined(OVERRUN)
#define MARGIN   3      /* of which the renewal of a process that overruns its deadline takes one */
#else
#define MARGIN   2
#endif
#ifndef UNKNOWN_RETENTION
#define UNKNOWN_RETENTION 100   /* beyond the end of time: UNKNOWN stays */
#endif

/*
 * Scenarios: STALE (a frozen process comes back after its deadline), REFUSE (crash policy), RESOLVER, REPEATABLE (effects),
 * HEARTBEAT (no deadline, the lease is renewed), OVERRUN (a process that nobody kills outlives its deadline and renews), SLOW (a
 * claim takes long, and is answered), BUSY (a claim meets a transaction), EARLY_EXPIRY (records expire before their lease, and the
 * table keeps them), TWO_MOMENTS (the record that a refusal shows is read later than it refused), OPERATOR (a person settles, or
 * deletes, the record that it was shown a while ago), with RECONCILER a process in its place that asks a resolver without a delivery. STEPS: the handler is one or two named steps, one after the other, and has no effect
 * beside them. With AT_MOST_ONCE, and with REFUSE, each writes a start mark; with ASKS their resolver is asked about a mark without
 * an end. STEPLESS: a handler without steps beside all that. COMMITS: the handler has no effect but rows, which it commits with its
 * answer; it tries so often at most. Anybody may change the condition of the rows at any time. REPEATS: what lies between
 * an execution and the store repeats its commits, and tells nobody. ONE_CLOCK: the clocks do not differ.
 */
#if defined(HEARTBEAT) || defined(OVERRUN)
#define RENEWS
#endif
#ifdef ONE_CLOCK
#define CLOCKS_DIFFER false
#else
#define CLOCKS_DIFFER true
#endif
#if defined(OPERATOR) || defined(STEPS) || defined(COMMITS)
#define RELEASES        /* a record in progress may be released, and says so */
#endif
#if (defined(AT_MOST_ONCE) || defined(REFUSE)) && defined(STEPS) && !defined(NO_START_MARK)
#define MARKS
#endif
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
#if defined(STALE) || defined(OVERRUN)
#define FREEZES 1       /* so many processes are frozen and come back after their deadline, or live on after it */
#else
#define FREEZES 0
#endif
#ifdef RESOLVER
#define RESOLVES 1
#else
#define RESOLVES 0
#endif
#if (defined(REFUSE) || defined(RESOLVER)) && !defined(NO_CRASHED_KEPT) /* WithResolver implies Refuse, in options_policy.go of the root */
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
	X(worn) X(anew) X(slow_request) X(slow_reply) X(busy) X(busy_unread) X(busy_given_up) X(run) \
	X(renewed) X(lease_lost) X(returned) X(failed) X(unstorable) X(resolved) X(still_unknown) \
	X(completed) X(made_unknown) X(landed) X(store_if_gone) X(unknown_completed) X(other_lapsed) X(other_result) \
	X(superseded) X(other_request) X(other_unknown) X(last_word) X(heals) X(settlement_failed) X(released) X(release_failed) \
	X(released_unknown) X(released_elsewhere) X(request_lost) X(reply_lost) X(throttled) X(late) X(late_copy) X(late_applied) X(late_refused) \
	X(renewal_overtaken) X(renewal_after_end) X(renewal_after_takeover) X(killed) X(crashed) X(ttl) \
	X(asked_about) X(asked_too_late) X(asked) X(asked_died) X(asked_executed) X(asked_untouched) X(asked_in_vain) X(asked_elsewhere) X(asked_refused) \
	X(operator_shown) X(operator_live) X(operator_too_late) X(operator_executed) X(operator_not_executed) X(operator_deleted) \
	X(released_taken) X(overruled) \
	X(resumes) X(step_resumed) X(step_begun) X(step_marked) X(mark_landed) X(mark_unwritten) X(mark_refused) X(step_late) X(step_open) \
	X(step_executed) X(step_untouched) X(step_undecided) X(step_not_executed) X(step_failed) X(step_uncertain) X(step_recorded) \
	X(step_unknown_recorded) X(step_landed) X(step_superseded) X(step_lost) X(step_overtaken) X(step_heals) X(interrupted_kept) X(interrupted) \
	X(nothing_written) X(kept) X(kept_unknown) X(kept_landed) X(operator_step) \
	X(committed) X(commit_known) X(commit_landed) X(commit_adopts) X(commit_lost) X(commit_late) X(commit_declined) X(commit_failed) \
	X(fence) X(failed_fence) X(fenced) X(fence_overtaken) X(fence_late) X(fence_lost) X(unread) X(unread_left) \
	X(commit_left) X(commit_counts) X(commit_failed_end) X(commit_uncertain) X(commit_terminal) \
	X(settled_committed) X(released_committed) X(release_unread) X(late_commit)
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
	I4_lease_bounds_the_wait, I4_expired_is_gone, I4_no_claim_left_behind, I4_undone_stays_undone, I5_stale_owner_changes_nothing,
	I6_no_execution_without_claim, I7_never_deletes_an_effect, I7_no_spared_execution, I7_own_result_is_own,
	I7_result_is_not_hidden, I7_run_is_not_denied, I7_duplicates_spare_the_commit, I11_no_live_claim_is_touched, I11_verdict_is_final,
	I11_released_is_executed, I13_nobody_is_asked_beside_a_claim, I13_nobody_executes_beside_a_question, I13_unknown_waits_for_a_verdict,
	I13_lost_answers_do_not_count,
	I8_recorded_never_again, I8_recorded_stays, I8_stale_owner_records_nothing, I8_no_step_after_lease, I8_at_most_once,
	I7_no_spared_step, I4_released_blocks_nobody, I4_released_stays_released, I4_mark_means_begun,
	I9_rows_of_one_commit, I9_rows_are_the_owners, I9_answer_means_rows, I9_error_means_no_rows, I9_caller_gets_the_committed,
	I9_lease_lost_is_true, I9_declined_leaves_the_claim;
#define HOLDS(name, condition) if :: (condition) :: else -> assert(name) fi

/* ---- The store: store/record.go, store/store.go, dynamo/claim.go, dynamo/swap.go ---- */

#define NONE 0          /* no record */
#define INPROGRESS 1
#define COMPLETED 2
#define UNKNOWN 3

typedef Record {
	byte status;
	byte owner;     /* the token, see of() */
	byte lease;
	byte expiry;
	byte request;   /* the fingerprint */
	byte commit;    /* the owner that completed it, which stands for its result too, see sealOf(); 0 for none */
	bit again       /* Attempt > 1 */
#ifdef COMMITS
	; byte moved    /* fences that have moved the lease, each by less than a tick */
#endif
#ifdef RELEASES
	; bit released  /* its reason says so */
#endif
#ifdef OPERATOR
	; bit settled   /* SettledBy, SettledAt: there is one settlement */
#ifdef RECONCILER
	; bit open      /* in progress: its reason says why it was UNKNOWN */
#endif
#endif
#ifdef STEPS
	; byte step[2]  /* of each step: 0, the token that has recorded its result, or MARK + the token that has marked its start */
	; byte writes   /* StepWrites; without an operator only whether there was one */
#endif
}

/*
 * Tokens: invocation p claims under p, begins anew under p + 3, leaves what it has taken back under p + 6, and what it has released
 * with its steps under p + 10, the tokens of nobody.
 */
#define OPERATORS 10    /* the token of an operator */
#define ASKS 14         /* the token of a reconciliation, and the one under which it leaves the record */
#define ASKED 15
#define of(t) ((t) > 13 -> 0 : ((t) > 10 -> (t) - 10 : ((t) > 9 -> 0 : ((t) > 6 -> (t) - 6 : ((t) > 3 -> (t) - 3 : (t))))))
#define tokenOf(q) (anew[q] -> (q) + 3 : (q))
#define nobody (p + 6)
#ifdef NO_RELEASE_TOKEN
#define released_by me
#else
#define released_by (p + 10)
#endif

#define MARK 32
#define isMark(s) ((s) > MARK)
#define isValue(s) ((s) > 0 && (s) < MARK)

/* A seal: of what a token completes without rows it is the token; of its commits with rows, of which there are two kinds, more. */
#define sealOf(k) (me + ROWS * (k))
#define bySeal(c) ((c) & (ROWS - 1))
#define ROWS 32

#define CLAIM 1
#define SWAP 2
#define DELETE 3
#define COMMIT 4

/* A write as it is sent: the arguments of Store.Claim, Store.Swap, Store.Delete, Committer.Commit. */
typedef Write {
	byte op;
	byte by;        /* whose token sends it; for the invariants */
	byte status;    /* seen.Status */
	byte owner;     /* seen.Owner */
	byte lease;     /* seen.Lease, 0 if it is not compared */
	byte now;
	Record next
#ifdef STEPS
	; byte name     /* the step that it writes, 1 or 2, and what; 0 for none */
	; byte what
	; byte drops    /* the steps that it removes, as bits: 1 and 2 */
#endif
#ifdef COMMITS
	; bit denied    /* its sender was told that nothing of it is written; for the invariants */
#endif
}

Record rec;             /* the one record */
Write onItsWay[SLOTS];      /* writes on their way that nobody waits for any more */
byte T = 1;             /* true time; a clock shows T or T + SKEW */
byte faults = FAULTS, crashes = CRASHES, freezes = FREEZES;
#ifdef COMMITS
bit allows = 1;         /* the condition of the rows, when a commit arrives */
#endif

/* store/record.go: Reached. The end counts as over. */
#ifdef NO_END_INSTANT
#define reached(end, t) (t > end)
#else
#define reached(end, t) (t >= end)
#endif
/* store/record.go: (Record).Lapsed. The lease outranks the expiry. */
#if defined(RELEASES) && !defined(NO_RELEASED_LAPSED) /* what was released counts as lapsed whatever its lease says */
#define lapsed(r, t) (r.released || reached(r.lease, t))
#elif defined(NO_LAPSE)
#define lapsed(r, t) false
#elif defined(NO_LEASE_FIRST)
#define lapsed(r, t) reached(r.expiry, t)
#else
#define lapsed(r, t) reached(r.lease, t)
#endif
/* store/record.go: (Record).Claimable; dynamo/expression.go: claimable. What has expired is gone, unless its lease lives. */
#ifdef RELEASES
#define protected(r, t) (r.status == INPROGRESS && !reached(r.lease, t))
#else
#define protected(r, t) (r.status == INPROGRESS && !lapsed(r, t))
#endif
#if defined(NO_CLAIM_EXPIRY)
#define claimable(r, t) (r.status != NONE && !protected(r, t))
#elif defined(NO_CLAIM_LEASE)
#define claimable(r, t) (r.status != NONE && reached(r.expiry, t))
#elif defined(NO_GONE)
#define claimable(r, t) (r.status == COMPLETED && reached(r.expiry, t))
#else
#define claimable(r, t) (r.status != NONE && !protected(r, t) && reached(r.expiry, t))
#endif
/* store/record.go: (Record).Shortens; dynamo/expression.go: neverShorter. */
#ifdef NO_SHORTENS
#define shortens(m) false
#elif defined(COMMITS)
#define shortens(m) (rec.owner == m.next.owner && m.next.status == INPROGRESS && m.next.lease != 0 && \
	(m.next.lease < rec.lease || m.next.lease == rec.lease && m.next.moved < rec.moved))
#else
#define shortens(m) (rec.owner == m.next.owner && m.next.status == INPROGRESS && m.next.lease != 0 && m.next.lease < rec.lease)
#endif
/* By the fastest clock there is: what the invariants grant. */
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
bit lives[4];           /* nobody kills its process at its deadline, and it renews its lease then */
bit anew[4];            /* its first claim took long, and a second one was begun */
byte request[4];
byte deadline[4];       /* in true time; with HEARTBEAT when the handler is cancelled */
byte leased[4];         /* the longest lease that the invocation was given */
bit ran[4];             /* its handler was called */
bit tookOver[7];        /* of a token: its claim replaced the one of another */
bit undone[7];          /* of a token: its takeover was taken back, or its claim */
bit loose[4];           /* a write of its token was or is late, or its undo was not answered */
bit effect[4];          /* its handler returned: the effect happened */
bit excused[4];         /* the store did not answer its settlement, or someone else held the record by then */
bit agreed[4];          /* its caller got its own result, and the store had answered */
byte until[4];          /* how long its effect counts */
byte first, firstExpiry, firstRequest;  /* the committed result: owner, expiry, fingerprint; 0 for none */
byte keyRequest;        /* the fingerprint that the key stands for; 0 for none */
#ifdef RECONCILER
byte asksUntil;         /* the end of the lease under which somebody is asked */
bit wasOpen;            /* what is asked about was UNKNOWN */
#endif
byte executions;        /* begun since the key was last free */
byte effects;           /* happened since the key was last free */

#ifdef STEPS
byte recorded;          /* the steps, as bits, whose result was recorded, while the record lives */
byte begun;             /* those that were begun, unless it is known that nothing has happened */
byte happened;          /* those whose effect has happened: what a resolver knows */
byte did[4];            /* those whose effect has happened in an invocation */
bit gaveBack[7];        /* of a token: it has released its record with the steps */
byte kept[2], keptWrites;
inline forgetSteps() { recorded = 0; begun = 0; happened = 0; did[1] = 0; did[2] = 0; did[3] = 0 }
#else
#define forgetSteps() skip
#endif

bit voided[4];          /* an operator has settled the record since its handler began */
byte held_lease;
#ifdef COMMITS
byte held_moved;
#endif
/* What has expired is forgotten. With REFUSE or RESOLVER only what is completed expires before UNKNOWN_RETENTION is over. */
#if !defined(REFUSE) && !defined(RESOLVER)
#define EXPIRED freeKey(); forgetSteps()
#elif UNKNOWN_RETENTION < 100
byte promised;          /* until when an execution without a result is to be remembered */
#define EXPIRED if :: rec.status == COMPLETED || !surelyLive(promised) -> freeKey(); forgetSteps(); promised = 0 :: else fi
#define PROMISE promised = m.next.lease - LEN - MARGIN + UNKNOWN_RETENTION
#else
#define EXPIRED if :: rec.status == COMPLETED -> freeKey(); forgetSteps() :: else fi
#endif
#ifndef PROMISE
#define PROMISE skip
#endif
inline freeKey() { keyRequest = 0; executions = 0; effects = 0 }

inline clear(r) {
	r.status = NONE; r.owner = 0; r.lease = 0; r.expiry = 0; r.request = 0; r.commit = 0; r.again = 0
#ifdef COMMITS
	; r.moved = 0
#endif
#ifdef RELEASES
	; r.released = 0
#endif
#ifdef OPERATOR
	; r.settled = 0
#ifdef RECONCILER
	; r.open = 0
#endif
#endif
#ifdef STEPS
	; r.step[0] = 0; r.step[1] = 0; r.writes = 0
#endif
}

inline copy(to, from) {
	to.status = from.status; to.owner = from.owner; to.lease = from.lease; to.expiry = from.expiry;
	to.request = from.request; to.commit = from.commit; to.again = from.again
#ifdef COMMITS
	; to.moved = from.moved
#endif
#ifdef RELEASES
	; to.released = from.released
#endif
#ifdef OPERATOR
	; to.settled = from.settled
#ifdef RECONCILER
	; to.open = from.open
#endif
#endif
#ifdef STEPS
	; to.step[0] = from.step[0]; to.step[1] = from.step[1]; to.writes = from.writes
#endif
}

inline copyWrite(to, from) {
	to.op = from.op; to.by = from.by; to.status = from.status; to.owner = from.owner; to.lease = from.lease; to.now = from.now;
	copy(to.next, from.next)
#ifdef STEPS
	; to.name = from.name; to.what = from.what; to.drops = from.drops
#endif
#ifdef COMMITS
	; to.denied = from.denied
#endif
}

inline clearWrite(m) {
	m.op = 0; m.by = 0; m.status = 0; m.owner = 0; m.lease = 0; m.now = 0; clear(m.next)
#ifdef STEPS
	; m.name = 0; m.what = 0; m.drops = 0
#endif
#ifdef COMMITS
	; m.denied = 0
#endif
}

#define disagrees(q, m) (q != of(m.by) && agreed[q] && request[q] == m.next.request && surelyLive(until[q]))

#ifdef STEPS
/* store/step.go: Merged. A completion drops the steps. */
#ifdef OPERATOR
#define COUNTED keptWrites + 1
#else
#define COUNTED 1
#endif
inline merge(m) {
	if
	:: rec.status == COMPLETED -> rec.step[0] = 0; rec.step[1] = 0; rec.writes = 0
	:: else ->
		rec.step[0] = (m.name == 1 -> m.what : ((m.drops & 1) -> 0 : kept[0]));
		rec.step[1] = (m.name == 2 -> m.what : ((m.drops & 2) -> 0 : kept[1]));
		rec.writes = (m.name != 0 || m.drops != 0 -> COUNTED : keptWrites);
		HOLDS(I8_recorded_stays, !(isValue(kept[0]) && rec.step[0] != kept[0]) && !(isValue(kept[1]) && rec.step[1] != kept[1]));
		if :: isValue(m.what) -> recorded = recorded | m.name :: else fi
	fi;
	kept[0] = 0; kept[1] = 0; keptWrites = 0
}
#define forgetKept kept[0] = 0; kept[1] = 0; keptWrites = 0
#else
#define merge(m) skip
#define forgetKept skip
#endif

/* dynamo/cancelled.go: the conditions of the rows, behind that of the record. What is DECLINED was not applied. */
#ifdef COMMITS
#define commits(m) (m.op == COMMIT)
#define sameLease(m) (rec.lease == m.lease && (m.op != COMMIT || rec.moved == m.next.moved))
#ifdef NO_COMMIT_FIRST
#define DECLINES(m) if :: commits(m) && !allows -> ok = false :: else fi
#else
#define DECLINES(m) if :: commits(m) && !allows && ok -> ok = false :: else -> allows = 1 fi
#endif
#define ROWS_MAY_DECLINE(m) if :: allows = 1 :: commits(m) -> allows = 0 fi
#else
#define commits(m) false
#define sameLease(m) (rec.lease == m.lease)
#define DECLINES(m) skip
#define ROWS_MAY_DECLINE(m) skip
#endif

/* The conditions of the store, as store/store.go states them. Sets ok. */
inline apply(m) {
	d_step {
		if
		:: m.op == CLAIM -> /* store/store.go: Claim; dynamo/claim.go */
#ifdef NO_CLAIM_CONDITION
			ok = true
#else
			ok = (rec.status == NONE || claimable(rec, m.now))
#endif
		:: m.op == SWAP || commits(m) -> /* store/store.go: Swap; store/commit.go: Commit; dynamo/expression.go: sameAs */
			ok = (rec.status != NONE
#ifndef NO_SWAP_STATUS
				&& (rec.status == m.status
#ifdef NO_RECORD_STATUS
					|| isValue(m.what)
#endif
#ifdef NO_COMMIT_STATUS
					|| commits(m)
#endif
					)
#endif
#ifndef NO_SWAP_OWNER
				&& (rec.owner == m.owner
#ifdef NO_RECORD_OWNER
					|| isValue(m.what)
#endif
					)
#endif
#ifndef NO_SWAP_LEASE
				&& (m.lease == 0 || sameLease(m))
#endif
#if defined(STEPS) && !defined(NO_MARK_ABSENT)
				&& !(isMark(m.what) && rec.step[m.name - 1] != 0)
#endif
				&& !shortens(m))
		:: m.op == DELETE -> /* store/store.go: Delete; dynamo/swap.go: Delete */
			ok = (rec.status == m.status
#ifndef NO_DELETE_OWNER
				&& rec.owner == m.owner
#endif
#if defined(STEPS) && !defined(NO_DELETE_STEPS)
				&& rec.writes == 0
#endif
				&& (m.lease == 0 || rec.lease == m.lease))
		fi;
		DECLINES(m);
		if
		:: !ok
		:: else ->
#ifdef COMMITS
			HOLDS(I9_rows_of_one_commit, !commits(m) || first == 0 || !surelyLive(firstExpiry));
			HOLDS(I9_rows_are_the_owners, !commits(m) || rec.owner == m.by);
			HOLDS(I9_error_means_no_rows, !m.denied);
			HOLDS(I9_answer_means_rows, commits(m) || m.next.status != COMPLETED || m.next.commit < ROWS);
#endif
#ifdef STEPS
			HOLDS(I8_stale_owner_records_nothing, m.name == 0 || rec.owner == m.by && rec.status != COMPLETED);
#endif
			HOLDS(I5_stale_owner_changes_nothing, rec.status == NONE || rec.owner == m.by ||
				m.op != DELETE && (rec.status == INPROGRESS && !surelyLive(rec.lease) ||
					rec.status != INPROGRESS && !surelyLive(rec.expiry) || rec.status == UNKNOWN && RESOLVES));
#ifdef RECONCILER
			HOLDS(I13_unknown_waits_for_a_verdict, m.op != SWAP || rec.status != INPROGRESS || rec.owner != ASKS || !wasOpen || m.next.status != INPROGRESS);
#endif
			HOLDS(I11_verdict_is_final, m.op == CLAIM || !voided[of(m.by)]);
			HOLDS(I7_never_deletes_an_effect, m.op != DELETE || !effect[of(m.by)] || m.by != tokenOf(of(m.by)));
#ifdef STEPS
			HOLDS(I4_released_stays_released, !gaveBack[m.by] || m.op == CLAIM || m.next.released);
			gaveBack[m.by] = gaveBack[m.by] || m.op == SWAP && m.owner == m.by && m.next.released && m.next.owner != of(m.by) + 6;
			kept[0] = rec.step[0]; kept[1] = rec.step[1]; keptWrites = rec.writes;
#endif
			HOLDS(I4_undone_stays_undone, m.op != SWAP || !undone[m.by] || m.owner == m.by || m.next.owner != m.by);
			if
			:: m.op != DELETE && m.next.status == COMPLETED ->
				HOLDS(I1_one_commit, first == 0 || first == m.next.commit || !surelyLive(firstExpiry));
				HOLDS(I2_all_callers_agree, !disagrees(1, m) && !disagrees(2, m) && !disagrees(3, m));
				first = m.next.commit; firstExpiry = m.next.expiry; firstRequest = m.next.request
			:: else
			fi;
			if
			:: m.op == DELETE ->
				if :: ran[of(m.by)] || !tookOver[m.by] -> freeKey() :: else fi;
				clear(rec); forgetKept
			:: m.op == CLAIM ->
				if :: rec.status != NONE && !surelyLive(rec.expiry) && !(rec.status == INPROGRESS && surelyLive(rec.lease)) -> EXPIRED :: else fi;
				if :: keyRequest == 0 -> keyRequest = m.next.request :: else fi;
				tookOver[m.by] = 0;
				copy(rec, m.next); forgetKept
			:: else ->
				tookOver[m.by] = tookOver[m.by] || m.owner != m.by && m.next.owner == m.by;
#ifdef COMMITS
				held_moved = rec.moved;
#endif
				held_lease = rec.lease; copy(rec, m.next);
				if
				:: rec.lease == 0 -> rec.lease = held_lease;
#ifdef COMMITS
					rec.moved = held_moved
#endif
				:: else
				fi;
				held_lease = 0;
#ifdef COMMITS
				held_moved = 0;
				if :: m.next.released && m.owner == m.by -> executions = 0; effects = 0 :: else fi; /* nothing has happened */
#endif
				merge(m)
			fi;
			if
			:: rec.status == INPROGRESS && rec.owner == m.by ->
				PROMISE;
				if :: rec.lease > leased[of(m.by)] -> leased[of(m.by)] = rec.lease :: else fi
			:: else
			fi
		fi
	}
}

/*
 * One call of the store: dynamo/attempts.go; call.go: mayBeApplied. Whether a copy stays on its way, whether it is
 * applied now, and whether the caller is told, are independent. Sets res; a call that repeats at once is one whose reply
 * is lost and the next.
 */
#define DONE 0
#define REFUSED 1
#define IN_DOUBT 2      /* an error, and the write may have been applied */
#define NOT_APPLIED 3   /* an error that rules it out: store.Error.NotApplied */
#define DECLINED 4      /* the condition of a row did not hold: store.ErrWritesRefused */

#define free(i) (onItsWay[i].op == 0)
#if SLOTS > 1
#define anyFree (free(0) || free(1))
#define STAYS_ON_ITS_WAY if :: free(0) -> copyWrite(onItsWay[0], w) :: else -> copyWrite(onItsWay[1], w) fi
#else
#define anyFree free(0)
#define STAYS_ON_ITS_WAY copyWrite(onItsWay[0], w)
#endif

#ifdef COMMITS
#define ANSWER (allows -> REFUSED : DECLINED)
#define FORGETS_ROWS allows = 1
/* dynamo/attempts.go: the client has sent it twice, and one was not answered. */
#if defined(NO_COMMIT_ATTEMPTS) || defined(REPEATS)
#define COPY_UNANSWERED skip
#else
#define COPY_UNANSWERED unanswered = commits(w)
#endif
#else
#define ANSWER REFUSED
#define FORGETS_ROWS skip
#define COPY_UNANSWERED skip
#endif

inline call() {
	sent = true; res = DONE;
	if
	:: true
#ifdef COMMITS          /* what a table knows for ten minutes, and an emulator never */
	:: commits(w) && first == w.next.commit -> sent = false; TELL(commit_known, "is answered by a table that knows the token of its commit")
#endif
	:: faults > 0 -> faults--; sent = false; res = IN_DOUBT; TELL(request_lost, "sends a request that is lost")
	:: faults > 0 -> faults--; sent = false; res = NOT_APPLIED; TELL(throttled, "is throttled by the store")
	:: faults > 0 -> faults--; res = IN_DOUBT; TELL(reply_lost, "sends a request that arrives, and the reply is lost")
	:: faults > 0 && anyFree -> faults--; sent = false; res = IN_DOUBT; loose[p] = 1; STAYS_ON_ITS_WAY;
		TELL(late, "sends a request that is late, and gives up on it")
	:: faults > 0 && anyFree -> faults--; loose[p] = 1; STAYS_ON_ITS_WAY; COPY_UNANSWERED;
		TELL(late_copy, "sends a request twice, and one is late")
	fi;
	if
	:: sent -> ROWS_MAY_DECLINE(w); apply(w); if :: res == DONE && !ok -> res = ANSWER; copy(held, rec) :: else fi; FORGETS_ROWS
	:: else
	fi;
	sent = false; ok = false
}

/* ---- An invocation ---- */

#define alive(q) (phase[q] >= CLAIMING && phase[q] <= SETTLING)
#if defined(HEARTBEAT)  /* the handler is cancelled, and the settlement has a budget: here a longer one than settleEnd gives */
#ifdef NO_CANCEL
#define ends(q) (phase[q] == RUNNING -> 250 : deadline[q] + LATE)
#else
#define ends(q) (phase[q] == SETTLING -> deadline[q] + LATE + MARGIN : deadline[q] + LATE)
#endif
#elif defined(OVERRUN)  /* the process that lives on renews between late kills and the end of its lease, or has ended by then */
#ifdef NO_OVERRUN
#define ends(q) (lives[q] && phase[q] == RUNNING -> 250 : deadline[q] + LATE + lives[q])
#else
#define ends(q) (deadline[q] + LATE + lives[q])
#endif
#else
#define ends(q) (deadline[q] + LATE)
#endif
#define waitsFor(q) (alive(q) && !stale[q] && T + 1 >= ends(q))        /* time does not pass before it ends or dies */
#ifdef HEARTBEAT
#define killedAtDeadline(q) false
#else
#define killedAtDeadline(q) (waitsFor(q) && !lives[q])
#endif

#define CLOCK (T + skew)  /* the clock of this invocation */

/* claim.go: move, moveKind */
#define FRESH 0
#define TAKEOVER 1
#define REFUSE_IT 2

/* record.go: (*Delivery).claimed, expiryAt */
inline claimed() {
#ifdef RECONCILER
	w.next.open = 0;
#endif
#ifdef RELEASES
	w.next.released = 0;
#endif
#ifdef COMMITS
	w.next.moved = 0;
#endif
#ifdef STEPS            /* of the steps a takeover changes none */
	w.next.step[0] = 0; w.next.step[1] = 0; w.next.writes = 0;
#endif
	w.by = me; w.next.status = INPROGRESS; w.next.owner = me; w.next.lease = lease; w.next.expiry = CLOCK + KEPT;
#if !defined(NO_EXPIRY_FLOOR) && !defined(EARLY_EXPIRY)
	if :: w.next.expiry < lease -> w.next.expiry = lease :: else fi
#endif
}

#ifdef OPERATOR
#define FORGETS_SETTLEMENT knows = 0; freed = 0
#define FREED_BEFORE freed
#else
#define FORGETS_SETTLEMENT skip
#define FREED_BEFORE false
#endif

/* record.go: (*Delivery).fresh */
inline fresh() {
	FORGETS_SETTLEMENT; clearWrite(w); clear(seen); kind = FRESH; w.op = CLAIM; w.next.request = request[p]; claimed()
}

/* lease.go: begin, leaseUntil. Of a process that was suspended the clock of its deadline may have stood still. */
inline timeLeft() {
#ifdef HEARTBEAT
	left = LEN
#else
	left = (deadline[p] > T -> deadline[p] - T : 0);
	if :: skip :: stale[p] && left < LEN -> left = LEN fi
#endif
}
inline begin() {
	lease = CLOCK + left + MARGIN; deadline[p] = T + left; left = 0;
	fresh(); w.now = CLOCK
}

/* judge.go: (*Delivery).takeOver */
#ifdef OPERATOR         /* protocol.go: recovered. A release is no crash. */
#define SEES_SETTLEMENT knows = held.settled; freed = held.released
#else
#define SEES_SETTLEMENT skip
#endif
inline takeOver() {
	SEES_SETTLEMENT;
	clearWrite(w); kind = TAKEOVER; w.op = SWAP; copy(w.next, held); w.next.again = 1; copy(seen, held);
	w.status = held.status; w.owner = held.owner; w.lease = held.lease; claimed()
}

/* judge.go: (*Delivery).judgeInProgress. A release is no crash. */
#if defined(RECONCILER) && !defined(NO_ASKED_UNKNOWN) /* judge.go: unsettled: as unknown as it was */
#define UNSETTLED(r) r.open
#else
#define UNSETTLED(r) false
#endif
#ifdef NO_RELEASED
#define FREED(r) false
#else
#define FREED(r) released_(r)
#endif

/* judge.go: (*Delivery).judgeInProgress, the last case. The owner stays. */
inline refuse() {
	clearWrite(w); kind = REFUSE_IT; w.op = SWAP; w.by = me; copy(w.next, held); copy(seen, held);
	w.status = held.status; w.owner = held.owner; w.lease = held.lease;
	w.next.status = UNKNOWN; w.next.expiry = w.now + UNKNOWN_RETENTION
#ifdef STEPS
	; w.next.step[0] = 0; w.next.step[1] = 0; w.next.writes = 0
#endif
}

/* store/step.go: Resumable */
#ifdef STEPS
#ifdef NO_RESUMABLE_SOME
#define SOME_STEP(r) true
#else
#define SOME_STEP(r) (r.step[0] != 0 || r.step[1] != 0)
#endif
#define resumable(r) (SOME_STEP(r) && !isMark(r.step[0]) && !isMark(r.step[1]))
#else
#define resumable(r) false
#endif

/* settle.go: (*Delivery).conclude, write: the claim that is to be replaced. */
inline replace(status_, owner_, lease_) {
	w.op = SWAP; w.status = status_; w.owner = owner_; w.lease = lease_
}

#ifdef OPERATOR
#define settled_(r) r.settled
#define KEEPS_SETTLEMENT w.next.settled = knows
/* settle.go: overruled */
#ifdef NO_OVERRULED
#define overruled(r) false
#else
#define overruled(r) (r.settled && (r.released || !knows))
#endif
#else
#define settled_(r) false
#define KEEPS_SETTLEMENT skip
#define overruled(r) false
#endif
#ifdef RELEASES
#define released_(r) r.released
#else
#define released_(r) false
#endif
/* settle.go: complete, becomeUnknown: the record that the claim is to end in. A lease of 0 keeps the held one. */
#ifdef COMMITS
#define KNOWN_MOVED w.next.moved = moved
#else
#define KNOWN_MOVED skip
#endif
inline endIn(status_) {
	clearWrite(w); KEEPS_SETTLEMENT; w.by = me; replace(INPROGRESS, me, MINE_LEASE);
	w.next.status = status_; w.next.owner = me; w.next.request = request[p]; w.next.again = recovered;
	if
	:: status_ == COMPLETED -> w.next.commit = me; w.next.expiry = CLOCK + RETENTION
	:: else -> w.next.expiry = CLOCK + UNKNOWN_RETENTION
	fi
}

#define liveClaimOf(q) (rec.status == INPROGRESS && of(rec.owner) == q && surelyLive(rec.lease))
/* Frozen between the look at its lease and its handler, until that was over: what it does no store can prevent. */
#define frozen (stale[p] && fit && !surelyLive(leased[p]))
#define runs(q) (q != p && phase[q] == RUNNING && !(stale[q] && !surelyLive(leased[q])))
#define spares(q) (q != p && effect[q] && phase[q] == ENDED && !dead[q] && !excused[q] && surelyLive(until[q]))

#ifdef RELEASES
/* settle.go: the release that keeps the record, with its steps. It is nobody's from now on, and no lease protects it. */
inline keep(status_) {
	endIn(INPROGRESS); w.status = status_; w.now = CLOCK;
#ifdef STEPS
	w.drops = drop;
#endif
	w.next.owner = released_by; w.next.released = 1; w.next.expiry = (CLOCK + KEPT < lease -> lease : CLOCK + KEPT);
#ifndef NO_RELEASE_LEASE
	w.next.lease = CLOCK
#endif
}
#endif

#ifdef STEPS
#define sparesStep(q, n) (q != p && (did[q] & n) && phase[q] == ENDED && !dead[q] && !excused[q])

/* step.go: what this execution knows of the steps when its handler starts: what the record has that the claim has left. */
inline knowSteps(r) { have[0] = r.step[0]; have[1] = r.step[1]; has = (have[0] != 0 || have[1] != 0) }
inline goOn() {
#if STEPS == 1
	at = 3
#else
	at++;
	if :: at == 2 && isValue(have[1]) -> at = 3; TELL(step_resumed, "returns what is recorded of its second step") :: else fi
#endif
}

/* record.go: expiryInProgress. What is written of a step raises the expiry. */
#ifdef NO_STEP_EXPIRY
#define STEP_EXPIRY (CLOCK + RETENTION)
#else
#define STEP_EXPIRY (CLOCK + KEPT < lease -> lease : CLOCK + KEPT)
#endif

/*
 * step.go: the write of a step, or of its start mark, by its owner. It has the lease, so that a renewal which overtakes it
 * refuses it: its expiry is the older one.
 */
#ifdef NO_STEP_OVERTAKEN
#define STEP_WRITE_LEASE 0
#else
#define STEP_WRITE_LEASE lease
#endif
inline writeStep(what_) {
	has = 1; endIn(INPROGRESS); w.next.lease = STEP_WRITE_LEASE; w.next.expiry = STEP_EXPIRY; w.name = at; w.what = what_; w.now = CLOCK;
	KNOWN_MOVED
}

#define opened(i) (isMark(have[i - 1]) || (acted & i) && !isValue(have[i - 1]))
#ifdef RENEWS
#define overtaken (held.owner == me && held.status == INPROGRESS && of(held.step[at - 1] & 31) != p && w.next.lease != 0 && w.next.lease < held.lease)
#else
#define overtaken false
#endif
#define NO_FALSE_MARK(i) !(rec.step[i - 1] == MARK + me && !(acted & i))

#ifdef NO_LOST_FIRST
#define LOST_FIRST !(has && CLOCK >= lease)
#else
#define LOST_FIRST true
#endif

/* step.go: a step begins only under a lease that is live. */
#ifdef NO_STEP_LEASE
#define leaseEnded false
#else
#define leaseEnded (CLOCK >= lease)
#endif
#endif

#ifdef STEPS
#define DELETES (w.op == DELETE && !has)
#define NOT_KEPT (held.owner != me || w.status == INPROGRESS)
#ifdef ASKS
#define HAPPENS happened = happened | at
#define MAY_HAPPEN if :: skip :: HAPPENS fi
#else
#define HAPPENS skip
#define MAY_HAPPEN skip
#endif
#else
#define DELETES (w.op == DELETE)
#define NOT_KEPT true
#endif

#ifdef COMMITS
/* commit.go: the transaction. It completes as a completion does, and compares the lease, too. */
inline toCommit() {
	endIn(COMPLETED); w.op = COMMIT; w.next.commit = sealOf(kindOf); w.next.moved = moved; w.now = CLOCK;
#ifndef NO_COMMIT_LEASE
	w.lease = lease
#endif
}
/* commit.go: the fence. It moves the lease by less than a tick. */
inline toFence() {
	endIn(INPROGRESS); w.now = CLOCK; w.next.lease = lease; w.next.moved = moved;
#ifndef NO_FENCE_MOVES
	w.next.moved++;
#endif
	w.next.expiry = (CLOCK + KEPT < lease -> lease : CLOCK + KEPT)
}
#define doubts(that) doubtful = doubtful || (that); inDoubt = inDoubt || (that); unanswered = 0
#define mayHaveLanded(r) (r.commit > ROWS && bySeal(r.commit) == me)
#define stillOurs(r) (r.owner == me && r.status == INPROGRESS)
/* Nothing of a commit that has returned an error is applied, or will be. */
#define NO_ROWS HOLDS(I9_error_means_no_rows, first != sealOf(kindOf) || !surelyLive(firstExpiry))
#ifdef REPEATS
#define DENIED skip
#elif SLOTS > 1
#define DENIED onItsWay[0].denied = onItsWay[0].denied || sentByMe(0); onItsWay[1].denied = onItsWay[1].denied || sentByMe(1)
#else
#define DENIED onItsWay[0].denied = onItsWay[0].denied || sentByMe(0)
#endif
#define sentByMe(i) (onItsWay[i].op == COMMIT && onItsWay[i].by == me)
#endif

/* Nothing of a finished process matters but what the invariants remember. */
inline forget() {
	d_step {
		skew = 0; lease = 0; res = 0; kind = 0; want = 0; ok = 0; sent = 0; recovered = 0; doubt = 0; fit = 0; slow = 0; left = 0; me = 0;
		clearWrite(w); clear(held); clear(seen); clear(before); deadline[p] = 0; leased[p] = 0; loose[p] = 0;
#ifdef OPERATOR
		knows = 0; freed = 0;
#endif
#ifdef STEPS
		at = 0; have[0] = 0; have[1] = 0; has = 0; lost = 0; unsure = 0; drop = 0; acted = 0;
#endif
#ifdef COMMITS
		tries = 0; kindOf = 0; commit = 0; doubtful = 0; inDoubt = 0; unanswered = 0; fails = 0; moved = 0; gets = 0; blind = 0;
#endif
		if :: dead[p] || excused[p] && !agreed[p] || !effect[p] -> until[p] = 0 :: else fi
	}
}

/* lease.go: handlerContext, withHeartbeat, renewOverrun: when a lease is renewed. */
#ifdef HEARTBEAT
#define mayRenew true
#define NOT_RENEWED skip
#elif defined(NO_OVERRUN)
#define mayRenew false
#define NOT_RENEWED skip
#else
#define mayRenew (lives[p] && T >= deadline[p] + LATE)
#define NOT_RENEWED stale[p] = 1
#endif

/* A call takes long only where time can pass. */
#define mayWait (T < TMAX && (stale[p] || !waitsFor(p)))

#ifdef SLOW             /* what was read may have been replaced since */
#define SLOWLY_READ (rec.commit != held.commit)
#else
#define SLOWLY_READ false
#endif

/* The answers that say that the handler did not run. */
#define DID_NOT_RUN HOLDS(I7_run_is_not_denied, !ran[p])

/* The next write of a claim. After a transaction it waits, and may have no time left. */
#ifdef BUSY
#define MOVE if :: busy = 0; goto claim \
	:: busy -> busy = 0; TELL(busy_given_up, "gives up its claim after a transaction"); \
		if :: doubt != 0 -> goto undo :: else -> DID_NOT_RUN; goto end fi \
	fi
#else
#define MOVE goto claim
#endif

/* commit.go: what came of the last commit. While there is none, or the condition of its rows did not hold, the handler goes on. */
#define OPEN 0
#define LANDED 1
#define FAILED 2        /* the store did not take it, and never will */
#define LOST 3
#define UNREAD 4        /* nobody knows */
#ifdef COMMITS
#define HANDLES (commit == OPEN)
#ifdef NO_COMMIT_KEPT
#define KEEPS_IN_DOUBT skip
#else                   /* settle.go: what is late would find the place of a record that was deleted empty */
#define KEEPS_IN_DOUBT if :: inDoubt -> keep(INPROGRESS) :: else fi
#endif
#define GETS(seal) gets = seal
#define IS_MINE(seal) (bySeal(seal) == me)
#define UNANSWERED blind = 1
#else
#define HANDLES true
#define GETS(seal) skip
#define IS_MINE(seal) (seal == me)
#define KEEPS_IN_DOUBT skip
#define UNANSWERED skip
#endif

/* A label within a step: a goto to it stays in the step, where a goto to a label before "atomic" ends it. */
#define GOES_ON(label) atomic { false; label:

proctype Invocation(byte p) {
	byte me = p;            /* the token of its claim */
	byte skew, lease, res, kind, want, left;
#ifdef OPERATOR
	bit knows;              /* its claim has seen the settlement */
	bit freed;              /* it took over what an operator had released */
#endif
	bool ok, sent, recovered;
	bool slow;              /* its claim took long: its undo is followed by another */
	bool fit;               /* its lease lived when it was looked at before the handler */
#ifdef BUSY
	bool busy;              /* it reads what a transaction holds */
#endif
	bool met;               /* its last write met a transaction over a live claim, and it has not read since */
#ifdef SLOW
	byte since;
#endif
#ifdef RENEWS
	byte renewals = RENEWALS, sentAt;
#endif
	byte doubt;             /* claim.go: failures.unresolved: 0 for none, else its kind + 1 */
	Write w;                /* the write that is tried */
	Record held;            /* what refused it */
	Record seen, before;    /* what it replaces; what an unresolved takeover replaced */
#ifdef STEPS
	byte at;                /* its next step; 3: it has been through both */
	byte have[2];           /* of each step what it knows to be recorded */
	bit has;                /* its record has a step, or may have one */
	bool lost;              /* the outcome of a recording is unknown, or it cannot be recorded */
	bool unsure;            /* a step is uncertain, or an open mark stays open */
	byte acted;             /* the steps, as bits, that it has begun and that may have happened; for the invariants */
	byte drop;              /* the steps, as bits, that it has marked itself, and of which nothing has happened */
#endif
#ifdef COMMITS
	byte tries;             /* the commits that it has begun */
	byte kindOf;            /* which rows the last one was to write, 1 or 2 */
	byte commit;            /* what came of it: OPEN, LANDED, FAILED, LOST, UNREAD */
	bool doubtful;          /* an attempt of it may have been applied, or may still be */
	bool inDoubt;           /* so it was with one of them */
	bool unanswered;        /* the client has sent one twice, and one was not answered */
	bool fails;             /* it is fenced because it has failed */
	byte moved;             /* with its lease: the one that it knows */
	byte gets;              /* the seal of what its caller gets, 0 for an error; for the invariants */
	bool blind;             /* its last call was not answered; for the invariants */
#endif

	{
	/* protocol.go: Run; claim.go: claim; lease.go: begin. Everything is computed before the first call. */
	atomic {
		(p == 1 || phase[p - 1] != IDLE) -> /* the invocations are numbered in the order of their starts */
		if :: skip :: CLOCKS_DIFFER -> skew = SKEW fi;
		if :: request[p] = 1 :: p > 1 && REQUESTS > 1 -> request[p] = 2 fi;
#ifdef OVERRUN
		if :: skip :: freezes > 0 -> freezes--; lives[p] = 1 fi;
#else
		if :: skip :: freezes > 0 -> freezes--; stale[p] = 1 fi;
#endif
		phase[p] = CLAIMING; TELL(start, "is delivered");
		left = LEN; begin()
	}

	/* claim.go: (*Delivery).tryClaim, send */
claim:	atomic {
#ifdef SLOW
		if
		:: true
		:: faults > 0 && mayWait -> faults--; TELL(slow_request, "sends a request that takes long to arrive");
			since = T; T > since; since = 0
		fi;
#endif
		HOLDS(I7_duplicates_spare_the_commit, !met);
#ifdef BUSY
		if
		:: call()
		:: faults > 0 -> faults--; /* call.go: inTransaction, look */
			met = protected(rec, T + SKEW) && rec.owner != me; TELL(busy, "meets a transaction");
			if
#ifdef NO_BUSY_LOOK
			:: res = NOT_APPLIED
#else
			:: met = 0; busy = 1; copy(held, rec); res = REFUSED
			:: faults > 0 -> faults--; met = 0; res = IN_DOUBT; TELL(busy_unread, "cannot read what the transaction holds")
#endif
			fi
		fi;
#else
		call();
#endif
#ifdef SLOW
		if
		:: true
		:: faults > 0 && mayWait && res <= REFUSED -> faults--; TELL(slow_reply, "waits long for the reply");
			since = T; T > since; since = 0
		fi;
#endif
		if
		:: res == REFUSED -> goto look
		:: res == DONE && kind == REFUSE_IT ->
			TELL(refused_now, "has made the crashed claim UNKNOWN");
#ifdef NO_REFUSED_ANSWER
			goto mine
#endif
			DID_NOT_RUN;
			goto end
		:: res == DONE && kind != REFUSE_IT ->
			recovered = w.next.again; TELL(won, "has the claim");
#ifdef STEPS            /* store/store.go: Swap returns the record as it is after a takeover */
#ifdef NO_ALL_NEW
			knowSteps(seen);
#else
			knowSteps(rec);
#endif
#endif
			goto mine
		:: res >= IN_DOUBT ->
			/* claim.go: (*failures).repeat */
			if
			:: res == IN_DOUBT && UNDOES ->
				doubt = kind + 1; copy(before, seen)
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
					DID_NOT_RUN;
					goto end
				fi
			fi
		fi
	}

	/* judge.go: (*Delivery).judge */
#ifdef TWO_MOMENTS
look:	atomic {
		copy(held, rec);
#else
	GOES_ON(look)
#endif
		if
		:: held.status == NONE || claimable(held, w.now) ->
			fresh(); w.now = CLOCK; TELL(claim_again, "finds the record gone or expired, and claims again");
			MOVE
		:: else
		fi;
		if
#ifndef NO_OWN_CLAIM
		:: (held.owner == me
#ifndef NO_OWN_STATUS
			&& held.status == INPROGRESS
#endif
			) -> recovered = held.again; TELL(own_claim, "finds its own claim: a reply was lost");
#ifdef STEPS
			knowSteps(held);
#endif
			goto mine
#endif
		:: else
		fi;
		HOLDS(I4_expired_is_gone, w.now < held.expiry || held.status == INPROGRESS && w.now < held.lease);
		if
#ifndef NO_FINGERPRINT
		/* judge.go: (*Delivery).sameRequest */
		:: held.request != request[p] -> TELL(mismatch, "is another request: mismatch");
			DID_NOT_RUN;
			goto end
#endif
		:: else
		fi;
		if
		:: held.status == COMPLETED -> /* replay.go: (*Delivery).replay */
			TELL(replay, "replays the stored result");
			HOLDS(I3_other_request_gets_no_result, held.request == request[p]);
			HOLDS(I2_replay_is_the_first_result, held.commit == first || SLOWLY_READ);
			DID_NOT_RUN;
			goto end
		:: held.status == INPROGRESS && !lapsed(held, w.now) -> /* judge.go: judgeInProgress */
			TELL(in_progress, "is answered: in progress");
			HOLDS(I4_lease_bounds_the_wait, w.now < held.lease);
			HOLDS(I4_released_blocks_nobody, !released_(held));
			DID_NOT_RUN;
			goto end
		:: (held.status == INPROGRESS && lapsed(held, w.now) && (TAKES_OVER && !UNSETTLED(held) || FREED(held) || resumable(held) && !UNSETTLED(held)) || held.status == UNKNOWN && RESOLVES
#ifdef NO_UNKNOWN
			|| held.status == UNKNOWN
#endif
			) ->
			if
			:: released_(held) -> TELL(released_taken, "finds that the record was released")
			:: !released_(held) && !TAKES_OVER && held.status == INPROGRESS -> TELL(resumes, "finds a crashed claim whose steps tell all that it did")
			:: else
			fi;
			takeOver(); w.now = CLOCK; TELL(takeover, "takes over");
			MOVE
		:: held.status == INPROGRESS && lapsed(held, w.now) && !(TAKES_OVER && !UNSETTLED(held) || FREED(held) || resumable(held) && !UNSETTLED(held)) ->
			HOLDS(I11_released_is_executed, !settled_(held) || !released_(held));
			HOLDS(I4_released_blocks_nobody, !released_(held));
			refuse(); w.now = CLOCK; TELL(refuse, "finds a crashed claim and refuses to repeat it");
			MOVE
		:: else -> TELL(unknown, "is answered: outcome unknown");
			DID_NOT_RUN;
			goto end
		fi
	}

	/* claim.go: (*Delivery).undo, takeBack. From here on the token never executes. */
	GOES_ON(undo)
#ifdef NO_UNDO
		goto end;
#endif
		clearWrite(w); w.by = me;
		if
		:: (doubt - 1 == FRESH
#ifdef NO_UNDO_RESTORE
			|| true
#endif
			) -> replace(INPROGRESS, me, 0); w.op = DELETE; TELL(undo_claim, "undoes its claim")
		:: else -> /* record.go: takenBack */
			if
			:: doubt - 1 == REFUSE_IT -> replace(UNKNOWN, before.owner, 0)
			:: else -> replace(INPROGRESS, me, 0)
			fi;
			copy(w.next, before); w.next.lease = 0;
#ifdef STEPS            /* it changes no step: who was stale may have recorded one before the takeover */
			w.next.step[0] = 0; w.next.step[1] = 0; w.next.writes = 0;
#ifdef NO_UNDO_STEPS
			w.drops = (before.step[0] == 0 -> 1 : 0) + (before.step[1] == 0 -> 2 : 0);
#endif
#endif
#ifndef NO_UNDO_LEASE
			w.next.lease = CLOCK;
#endif
#ifndef NO_UNDO_TOKEN
			w.next.owner = nobody;
#endif
			TELL(undo_takeover, "undoes its takeover: what was seen comes back")
		fi
	}
undoing:	atomic {
		call();
		if
		:: res <= REFUSED -> undone[me] = (res == DONE); TELL(undone, "has undone it");
			goto next
		:: res >= IN_DOUBT -> TELL(repeat, "repeats its undo");
			if :: w.next.lease != 0 -> w.next.lease = CLOCK :: else fi;
			goto undoing
		:: res >= IN_DOUBT -> loose[p] = 1; TELL(undo_unanswered, "has no answer to its undo");
#ifdef NO_UNDO_RULE
			if :: rec.status == INPROGRESS && rec.owner == me -> slow = 0; goto mine :: else fi;
#endif
			goto next
		fi
	}

	/* claim.go: claim. A claim that took long is begun anew. */
	GOES_ON(next)
		clear(before); doubt = 0;
		if :: slow && !anew[p] -> timeLeft() :: else -> left = 0 fi;
		if
		:: left > 0 -> slow = 0; anew[p] = 1; me = tokenOf(p); TELL(anew, "claims anew, with another token");
			begin();
			goto claim
		:: else ->
			DID_NOT_RUN;
			goto end
		fi
	}

	/* claim.go: worn; protocol.go: Run. The store's last answer says that the record is ours. */
	GOES_ON(mine)
#ifndef SLOW
		HOLDS(I6_no_execution_without_claim, rec.status == INPROGRESS && rec.owner == me);
#endif
#ifndef NO_WORN
		timeLeft();
		if
		:: left == 0 || lease < CLOCK + left + MARGIN -> left = 0; /* over: the deadline has come, or the lease is used */ slow = 1; doubt = kind + 1; copy(before, seen);
			TELL(worn, "has a claim that took long, or comes after its deadline");
			goto undo
		:: else -> left = 0
		fi;
#endif
		fit = surelyLive(leased[p]);
		phase[p] = CLAIMED; clear(held); clear(seen); clear(before); clearWrite(w); doubt = 0
	}

	/* handle.go: (*Delivery).handle */
	atomic {
#ifdef RESOLVER
#ifndef NO_RESOLVER_FIRST
		if
		:: recovered && !FREED_BEFORE -> /* it tells the truth, or does not know */
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
#ifdef RECONCILER
		HOLDS(I13_nobody_executes_beside_a_question, frozen || !surelyLive(asksUntil));
#endif
		HOLDS(I3_other_request_never_executes, frozen || keyRequest == request[p]);
		HOLDS(I7_no_spared_execution, frozen || !spares(1) && !spares(2) && !spares(3));
		HOLDS(I6_no_execution_without_claim, frozen || rec.status == INPROGRESS && rec.owner == me);
#if defined(REFUSE) && !defined(RESOLVER) && (!defined(STEPS) || defined(STEPLESS)) /* with steps: I8_at_most_once */
		HOLDS(I1_refuse_never_repeats, frozen || executions == 0);
#ifdef OPERATOR         /* who was frozen before its handler does not count: an operator may have released its record */
		if :: frozen :: else -> executions = 1 fi;
#else
		executions = 1;
#endif
#endif
		phase[p] = RUNNING; ran[p] = 1
#ifdef STEPLESS
		; at = 3
#elif defined(STEPS)
		; if :: isValue(have[0]) -> TELL(step_resumed, "returns what is recorded of its first step"); at = 1; goOn() :: else -> at = 1 fi
#endif
	}

running:	atomic {
		if
#ifdef RENEWS
		:: renewals > 0 && mayRenew && HANDLES -> /* lease.go: tryRenew; record.go: renewed */
			renewals--; endIn(INPROGRESS); w.next.lease = CLOCK + LEN + MARGIN; w.next.expiry = w.next.lease; sentAt = T;
			KNOWN_MOVED;
#if defined(STEPS) || defined(COMMITS)
			if :: w.next.expiry < CLOCK + KEPT -> w.next.expiry = CLOCK + KEPT :: else fi;
#endif
			goto renew
#endif
#ifdef STEPS
		:: at < 3 && HANDLES -> goto step
		:: at == 3 && HANDLES -> effect[p] = 1; effects = 1; until[p] = CLOCK + RETENTION; endIn(COMPLETED); want = COMPLETED;
			TELL(returned, "returns from its handler")
		:: HANDLES -> TELL(failed, "fails");
			goto failing
#ifdef REFUSE
		:: HANDLES -> /* policy.go: a panic, or an error of the context: a crash, unless the steps tell all that it did */
			if
#ifdef NO_INTERRUPTED_SOME
			:: TELL(interrupted_kept, "is interrupted, and has recorded all that it did");
#else
			:: has && !lost && !unsure && !opened(1) && !opened(2) -> TELL(interrupted_kept, "is interrupted, and has recorded all that it did");
#endif
				effect[p] = !has;
				goto failing
#ifndef NO_INTERRUPTED_SOME
			:: else -> effect[p] = !has; endIn(UNKNOWN); want = UNKNOWN; TELL(interrupted, "is interrupted: a crash")
#endif
			fi
#endif
#else
		:: HANDLES -> effect[p] = 1; effects = 1; until[p] = CLOCK + RETENTION; endIn(COMPLETED); want = COMPLETED;
			TELL(returned, "returns from its handler: the effect has happened")
#ifndef COMMITS
		:: effect[p] = 1; effects = 1; until[p] = CLOCK + RETENTION; endIn(UNKNOWN); want = UNKNOWN;
			TELL(unstorable, "returns a result that cannot be stored, or an uncertain error");
#if defined(NO_LAST_WORD) || defined(REPEATABLE) && defined(NO_NEVER_FITS)
			goto end
#endif
#endif
		:: HANDLES -> endIn(INPROGRESS); want = NONE; TELL(failed, "fails without an effect")
#endif
#ifdef COMMITS
		:: HANDLES && tries < COMMITS -> goto begins_commit
		/* handle.go: what the handler returns does not matter any more, or a panic */
		:: commit == LANDED -> TELL(commit_counts, "ends after its commit, whose answer counts");
			goto end
		:: commit == LOST -> TELL(commit_left, "ends after it has lost its record, and writes nothing");
#ifdef STEPS            /* unless a step is lost or uncertain */
			goto gone
#else
			excused[p] = (rec.owner != me);
			goto end
#endif
		:: commit == UNREAD -> TELL(unread_left, "ends after a commit of unknown outcome, and leaves its record to its lease"); blind = 1;
			goto end
		/* policy.go: an answer that would be stored is a failure, whose policy decides. Marks count. */
		:: (commit == FAILED || commit == LOST) -> TELL(commit_failed_end, "ends after its commit has failed: it has failed");
#ifdef STEPS
			goto failing
#else
			endIn(INPROGRESS); want = NONE
#endif
		:: (commit == FAILED || commit == LOST) -> TELL(commit_uncertain, "ends after its commit has failed, where failures are refused");
			effect[p] = 1; effects = 1; until[p] = CLOCK + RETENTION; endIn(UNKNOWN); want = UNKNOWN
		:: (commit == FAILED || commit == LOST) -> TELL(commit_terminal, "ends after its commit has failed, with a failure that is final");
			effect[p] = 1; effects = 1; until[p] = CLOCK + RETENTION; endIn(COMPLETED); want = COMPLETED;
#ifdef NO_FAILED_ANSWER
			w.next.commit = sealOf(kindOf)
#endif
#endif
		fi;
handled:
		phase[p] = SETTLING; w.now = CLOCK;
		if
		:: want == NONE -> w.op = DELETE; KEEPS_IN_DOUBT;
			goto release
		:: else -> goto settle
		fi
	}

#ifdef COMMITS
	/* commit.go: (*Delivery).Commit. No step runs, and the heartbeat has ended. The second one may be the same again. */
	GOES_ON(begins_commit)
		tries++;
		if :: kindOf = 1 :: tries == 2 -> kindOf = 2 fi;
		doubtful = 0;
		if
		:: CLOCK >= lease -> TELL(commit_late, "does not begin a commit: its lease has ended");
			commit = LOST;
			goto running
		:: else -> toCommit()
		fi
	}

	/* commit.go: the transaction, with the answer and the rows */
committing: atomic {
		call();
		if
		:: res == DONE -> TELL(committed, "has committed its answer and its rows");
			goto landing
		/* Its own condition, which comes before those of the rows. */
#ifndef NO_COMMIT_LANDED
		:: res == REFUSED && held.commit == sealOf(kindOf) -> TELL(commit_landed, "finds that it has committed: a reply was lost");
			goto landing
#endif
#ifndef NO_COMMIT_RENEWED
		:: res == REFUSED && stillOurs(held) -> lease = held.lease; moved = held.moved; unanswered = 0; clear(held); toCommit();
#ifndef NO_RENEWED_DOUBT /* the client may have sent twice what was refused */
			inDoubt = 1;
#endif
			TELL(commit_adopts, "has a lease that it did not know, and commits under that");
			goto committing
#endif
#ifdef NO_COMMIT_OURS
		:: res == REFUSED && held.status == INPROGRESS && held.owner != me ->
			toCommit(); w.owner = held.owner; w.lease = held.lease; w.next.moved = held.moved; clear(held);
			goto committing
#endif
		:: (res == REFUSED
#ifndef NO_COMMIT_LANDED
			&& held.commit != sealOf(kindOf)
#endif
#ifndef NO_COMMIT_RENEWED
			&& !stillOurs(held)
#endif
			) -> TELL(commit_lost, "cannot commit: somebody else has the record");
			goto losing
		:: res == DECLINED -> doubts(unanswered);
#ifndef NO_FENCE
			if
			:: doubtful -> TELL(fence, "is told that the condition of a row does not hold, but an attempt may be late"); toFence();
				goto fencing
			:: else
			fi;
#endif
			goto declined
		:: res == IN_DOUBT || res == NOT_APPLIED -> doubts(res == IN_DOUBT); w.now = CLOCK;
			TELL(repeat, "repeats its commit");
			goto committing
		:: res == IN_DOUBT || res == NOT_APPLIED -> doubts(res == IN_DOUBT); TELL(commit_failed, "gives up its commit");
			goto giving_up
		fi
	}

	/* commit.go: fence. A lease that has moved refuses every late copy of the commit; a record that refuses it tells what came of it. */
fencing: atomic {
		call();
		if
		:: res == DONE -> moved = w.next.moved; TELL(fenced, "has moved its lease: nothing of the commit can land any more");
			goto fence_stands
#ifndef NO_FENCE_LATE
		:: res == REFUSED && held.commit == sealOf(kindOf) -> TELL(fence_late, "finds that its commit has landed late");
			goto landing
#endif
		:: res == REFUSED && stillOurs(held) -> lease = held.lease; moved = held.moved;
			TELL(fence_overtaken, "finds that its lease has moved already");
			goto fence_stands
		:: (res == REFUSED && !stillOurs(held)
#ifndef NO_FENCE_LATE
			&& held.commit != sealOf(kindOf)
#endif
			) -> TELL(fence_lost, "finds that somebody else has the record");
			goto losing
		:: res >= IN_DOUBT -> w.now = CLOCK; TELL(repeat, "repeats its fence");
			goto fencing
		:: res >= IN_DOUBT -> TELL(unread, "cannot move its lease: nobody knows what came of its commit");
#ifdef NO_FENCE_WRITTEN
			goto fence_stands;
#endif
			commit = UNREAD;
			goto returning
		fi
	}

	/* What a commit returns to its handler. */
	GOES_ON(giving_up)
#ifndef NO_FAILED_FENCE
		if
		:: doubtful -> TELL(failed_fence, "gives up its commit, an attempt of which may be late"); fails = 1; toFence();
			goto fencing
		:: else
		fi;
#endif
failed_now:	commit = FAILED; NO_ROWS; DENIED;
		goto returning
fence_stands:	if :: fails -> goto failed_now :: else -> goto declined fi;
landing:	commit = LANDED; phase[p] = SETTLING; /* the record is completed, and protects no handler any more */
		effect[p] = 1; effects = 1; until[p] = firstExpiry; agreed[p] = 1; gets = sealOf(kindOf);
		goto returning
declined:	NO_ROWS; DENIED;
		HOLDS(I9_declined_leaves_the_claim, stillOurs(rec));
		TELL(commit_declined, "is told that the condition of a row does not hold");
		goto returning
losing:		commit = LOST; NO_ROWS; DENIED;
		if :: mayHaveLanded(held) -> GETS(held.commit) :: else fi; /* settle.go: leave */
		HOLDS(I9_lease_lost_is_true, !(stillOurs(rec) && surelyLive(rec.lease)));
returning:	fails = 0; unanswered = 0; clear(held); clearWrite(w);
		goto running
	}
#endif

#ifdef STEPS
	/* step.go: a step that is not recorded. Sequence: its start mark, its effect, its recording. */
	GOES_ON(step)
		if
		:: leaseEnded -> goto late
		:: else
		fi;
#ifdef MARKS
		if
#ifndef NO_OPEN_MARK
		:: isMark(have[at - 1]) -> TELL(step_open, "finds a step that has begun, and no end of it");
#ifdef ASKS             /* the resolver tells the truth, or does not know */
			if
			:: (happened & at) -> TELL(step_executed, "asks the resolver of the step, which knows its result");
				writeStep(me);
				goto recording
			:: !(happened & at) -> TELL(step_untouched, "asks the resolver of the step, which says that nothing has happened");
				begun = begun & (3 - at);
				goto effect_now
			:: TELL(step_undecided, "asks the resolver of the step, which does not know")
			fi;
#endif
			HOLDS(I4_mark_means_begun, have[at - 1] != MARK + me);
			unsure = 1; goOn();
			goto running
#endif
#ifdef NO_OPEN_MARK
		:: isMark(have[at - 1])
#endif
		:: else -> writeStep(MARK + me);
			goto marking
		fi;
#endif
		goto effect_now
	}

#ifdef MARKS
	/* step.go: the start mark. A step whose mark may not have been written does not begin. */
marking: atomic {
		call();
		if
		:: res == DONE -> TELL(step_marked, "has marked the start of a step");
			clear(held);
			goto act
#ifndef NO_MARK_LANDED
		:: res == REFUSED && held.owner == me && held.step[at - 1] == MARK + me ->
			TELL(mark_landed, "finds its own start mark: the reply was lost"); clear(held);
			goto act
#endif
		:: res == REFUSED && overtaken -> lease = held.lease; TELL(step_overtaken, "has a lease that it did not know, and repeats its start mark");
			clear(held); writeStep(MARK + me);
			goto marking
		:: (res == REFUSED && !overtaken
#ifndef NO_MARK_LANDED
			&& !(held.owner == me && held.step[at - 1] == MARK + me)
#endif
			) -> TELL(mark_refused, "cannot mark the start of a step: somebody else has the record");
#ifdef NO_MARK_LANDED
			if :: held.owner == me -> have[at - 1] = held.step[at - 1]; clear(held); goto step :: else fi;
#endif
			clear(held);
			goto gone
		:: res >= IN_DOUBT -> TELL(repeat, "repeats its start mark");
			goto marking
		:: res >= IN_DOUBT -> TELL(mark_unwritten, "cannot mark the start of a step, and does not begin it");
#ifdef NO_MARK_FIRST
			goto act;
#endif
			drop = drop | at; goOn();
			goto running
		fi
	}
#endif

	/* step.go: the effect. It begins and has ended, in one step: what a process that is suspended in between does no store can prevent. */
act:	atomic {
		if
		:: leaseEnded -> goto late
		:: else
		fi;
effect_now:	if :: at -> TELL(step_begun, "begins a step") fi;
		HOLDS(I8_no_step_after_lease, T < leased[p]);
		acted = acted | at;
		if
		:: surelyLive(leased[p]) ->
			HOLDS(I8_recorded_never_again, !(recorded & at));
			HOLDS(I7_no_spared_step, !sparesStep(1, at) && !sparesStep(2, at) && !sparesStep(3, at));
#if defined(AT_MOST_ONCE) || defined(REFUSE)
			HOLDS(I8_at_most_once, !(begun & at));
			begun = begun | at
#endif
		:: else
		fi;
		if
		:: did[p] = did[p] | at; HAPPENS; writeStep(me) /* also a failure that is marked as final */;
			goto recording
		:: TELL(step_not_executed, "has a step which says that nothing has happened"); begun = begun & (3 - at); acted = acted & (3 - at);
#if defined(MARKS) && !defined(NO_MARKS_REMOVED)
			if :: isMark(have[at - 1]) :: else -> drop = drop | at fi;
#endif
			goOn();
			goto running
		:: MAY_HAPPEN; TELL(step_failed, "has a step that fails");
#ifdef NO_MARKS_KEPT
			drop = drop | at;
#endif
			goOn();
			goto running
		:: MAY_HAPPEN; did[p] = did[p] | at; TELL(step_uncertain, "has a step that is uncertain"); unsure = 1; goOn();
			goto running
		fi
	}

	/* step.go: the recording. The store decides whether the record is still its own. */
recording: atomic {
#ifdef NO_LATE_RECORDING
		if :: CLOCK >= lease -> goto late :: else fi;
#endif
		call();
		if
		:: res == DONE && w.status == INPROGRESS -> TELL(step_recorded, "has recorded a step"); have[at - 1] = me; goOn();
			clearWrite(w);
			goto running
		:: res == DONE && w.status == UNKNOWN ->
			TELL(step_unknown_recorded, "has recorded a step in its record, which someone had made UNKNOWN"); have[at - 1] = me; goOn();
			clearWrite(w);
			goto running
		:: res == REFUSED && held.status != COMPLETED && held.step[at - 1] == me ->
			TELL(step_landed, "finds its own step: the reply was lost"); have[at - 1] = me; clear(held); clearWrite(w); goOn();
			goto running
		:: res == REFUSED && held.owner == me && held.status == UNKNOWN && w.status == INPROGRESS && held.step[at - 1] != me ->
			w.status = UNKNOWN; w.next.status = UNKNOWN; w.next.expiry = CLOCK + UNKNOWN_RETENTION; w.next.lease = 0; clear(held);
			goto recording
		:: res == REFUSED && overtaken -> lease = held.lease; TELL(step_overtaken, "has a lease that it did not know, and repeats its recording");
			clear(held); writeStep(me);
			goto recording
		:: (res == REFUSED && held.step[at - 1] != me && !overtaken &&
			!(held.owner == me && held.status == UNKNOWN && w.status == INPROGRESS)) -> TELL(step_superseded, "cannot record a step: somebody else has the record");
			excused[p] = (held.owner != me); clear(held);
			if
			:: goto gone
			:: effect[p] = 1; effects = 1; until[p] = CLOCK + RETENTION; endIn(COMPLETED); want = COMPLETED;
				TELL(returned, "returns from its handler all the same");
				goto handled
			fi
		:: res >= IN_DOUBT -> w.now = CLOCK; TELL(repeat, "repeats its recording");
			goto recording
		:: res >= IN_DOUBT -> TELL(step_lost, "cannot record a step: its result is lost"); lost = 1; clearWrite(w); goOn();
#ifdef NO_LOST
			lost = 0;
#endif
			goto running
		fi
	}

	/* policy.go: a handler that fails. What is lost or uncertain comes first: the store decides whether the record is still its own. */
	GOES_ON(late)
		if :: at -> TELL(step_late, "does not begin a step: its lease has ended") fi;
gone:		/* ErrLeaseLost: nothing is written, as after a crash */
#ifndef NO_LOST_FIRST
		if
		:: lost || unsure -> goto failing
		:: else
		fi;
#endif
		excused[p] = (rec.owner != me);
		goto end;
failing:	if
		:: lost && LOST_FIRST ->
#ifdef REPEATABLE
			excused[p] = 1; TELL(step_heals, "leaves its claim to its lease: the step that is lost may be repeated");
			goto end;
#endif
			effect[p] = 1; effects = 1; until[p] = CLOCK + RETENTION; endIn(UNKNOWN); want = UNKNOWN
		:: !lost && unsure && LOST_FIRST -> endIn(UNKNOWN); want = UNKNOWN
		:: !((lost || unsure) && LOST_FIRST) && has && CLOCK >= lease -> TELL(nothing_written, "fails when its lease has ended, and writes nothing");
			excused[p] = (rec.owner != me);
			goto end
		:: else -> endIn(INPROGRESS); want = NONE
		fi;
		goto handled
	}
#endif

#ifdef RENEWS
	/*
	 * lease.go: renewUntil, renew. Without a deadline the handler is cancelled a margin before the lease that is known to be held.
	 * After its deadline its context has ended anyhow: then a renewal that was not answered leaves it to its lease.
	 */
renew:	atomic {
		call();
		if
		:: res == DONE || res == REFUSED && held.owner == me && held.status == INPROGRESS -> TELL(renewed, "has renewed its lease");
#ifdef NO_SENT_TIME
			sentAt = T;
#endif
#if defined(STEPS) || defined(COMMITS)
			lease = w.next.lease;
#endif
#ifdef COMMITS
			if :: res == REFUSED -> lease = held.lease; moved = held.moved :: else fi;
#endif
			deadline[p] = sentAt + LEN
		:: res == REFUSED && !(held.owner == me && held.status == INPROGRESS) ->
			TELL(lease_lost, "finds that the record is not its own any more");
			deadline[p] = T; NOT_RENEWED
		:: res >= IN_DOUBT -> NOT_RENEWED
		fi;
		sentAt = 0; clear(held);
		goto running
	}
#endif

	/* settle.go: (*Delivery).complete, becomeUnknown, conclude */
settle:	atomic {
		call();
		if
		:: res == REFUSED -> goto refusal
		:: res == DONE ->
			if
			:: want == COMPLETED -> TELL(completed, "has stored its result"); GETS(me)
			:: else -> TELL(made_unknown, "has made its record UNKNOWN")
			fi;
			goto own
		:: res >= IN_DOUBT -> w.now = CLOCK; TELL(repeat, "repeats its settlement");
			goto settle
		:: res >= IN_DOUBT && want == COMPLETED -> /* complete */
#ifdef NO_LAST_WORD
			goto end;
#endif
#ifdef REPEATABLE
			excused[p] = 1; TELL(heals, "gives up its completion, and leaves its claim to its lease");
			goto end;
#endif
#ifdef NO_KEEP
			endIn(INPROGRESS); w.op = DELETE; w.now = CLOCK;
			goto release;
#endif
			TELL(last_word, "gives up its completion, and says a last word: UNKNOWN");
			want = UNKNOWN; endIn(UNKNOWN); w.now = CLOCK;
			goto settle
		:: res >= IN_DOUBT && want == UNKNOWN -> /* becomeUnknown */
			excused[p] = 1; TELL(settlement_failed, "cannot settle its record, and returns its own result"); UNANSWERED;
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
		:: held.commit == me -> TELL(landed, "finds its own commit: the reply was lost"); GETS(me);
			goto own
#endif
#ifdef COMMITS          /* settle.go: hasLanded: a commit that was answered otherwise. Its answer counts. */
		:: mayHaveLanded(held) -> TELL(settled_committed, "finds that its commit has landed late, and its answer counts");
			want = COMPLETED; until[p] = firstExpiry; GETS(held.commit);
#ifdef NO_COMMITTED_ANSWER
			GETS(me);
#endif
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
		:: held.status != NONE && held.owner == me && held.status != COMPLETED ->
			if
			:: held.status == want -> TELL(made_unknown, "finds its record UNKNOWN as it wanted");
				goto own
			:: else -> replace(held.status, me, 0); w.now = CLOCK;
				TELL(unknown_completed, "finds its own record in another state, and brings the result");
				clear(held);
				goto settle
			fi
		:: else
		fi;
		if
#ifndef NO_OTHER_LAPSED
		:: want == COMPLETED && held.status == INPROGRESS && held.request == request[p] && lapsed(held, w.now) && !overruled(held) ->
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
			TELL(other_result, "finds someone else's result, and returns it"); GETS(held.commit);
			HOLDS(I7_own_result_is_own, held.commit != me);
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
			TELL(superseded, "finds someone else running, and is answered: superseded");
#ifdef NO_SUPERSEDED
			DID_NOT_RUN; /* "in progress" says so */
#endif
			if :: overruled(held) -> TELL(overruled, "is overruled: an operator has said that it has not executed") :: else fi;
			HOLDS(I4_lease_bounds_the_wait, w.now < held.lease || overruled(held))
		:: else -> TELL(other_unknown, "finds someone else's record, and returns its own result")
		fi;
		goto end
	}

	/* settle.go: (*Delivery).release */
release:	atomic {
		call();
		if
		:: res == DONE && w.op == DELETE && w.status == INPROGRESS -> TELL(released, "has released the key")
		:: res == DONE && w.op == DELETE && w.status == UNKNOWN -> TELL(released_unknown, "has released the key, which someone had made UNKNOWN")
#if defined(STEPS) || defined(COMMITS) /* settle.go: a record with steps is kept, and one of a commit that may be late */
		:: res == DONE && w.op == SWAP && w.status == INPROGRESS -> TELL(kept, "has released its record, which stays")
		:: res == DONE && w.op == SWAP && w.status == UNKNOWN -> TELL(kept_unknown, "has released its record, which stays, and which someone had made UNKNOWN")
#ifdef STEPS
		:: res == REFUSED && w.op == DELETE && has -> keep(INPROGRESS); clear(held);
			goto release
		:: res == REFUSED && w.op == DELETE && !has && w.status == UNKNOWN && held.owner == me -> keep(INPROGRESS); clear(held);
			goto release
#endif
		:: res == REFUSED && w.op == SWAP && held.owner == released_by && held.released -> TELL(kept_landed, "finds that it has released its record: the reply was lost")
		:: res == REFUSED && w.op == SWAP && held.owner == me && held.status == UNKNOWN && w.status == INPROGRESS ->
			keep(UNKNOWN); clear(held);
			goto release
		:: (res == REFUSED && w.op == SWAP && !(held.owner == released_by && held.released) &&
			!(held.owner == me && held.status == UNKNOWN && w.status == INPROGRESS)) -> TELL(released_elsewhere, "finds nothing of its own to release")
#endif
#ifndef NO_RELEASE_UNKNOWN
		:: res == REFUSED && DELETES && w.status == INPROGRESS -> w.status = UNKNOWN; clear(held);
			goto release
#endif
		:: (res == REFUSED && DELETES && NOT_KEPT
#ifndef NO_RELEASE_UNKNOWN
			&& w.status == UNKNOWN
#endif
			) -> TELL(released_elsewhere, "finds nothing of its own to release")
		:: res >= IN_DOUBT -> w.now = CLOCK; w.status = INPROGRESS; TELL(repeat, "repeats its release");
#if defined(STEPS) || defined(COMMITS)
			if :: w.next.lease != 0 -> w.next.lease = CLOCK :: else fi;
#endif
			goto release
		:: res >= IN_DOUBT -> loose[p] = 1; TELL(release_failed, "cannot release the key: its lease bounds the wait"); UNANSWERED
		fi;
#ifdef COMMITS          /* settle.go: hasLanded. A delete does not tell what has refused it. */
		if
#ifndef NO_RELEASE_LOOK
		:: res == REFUSED && tries > 0 ->
			if
			:: mayHaveLanded(rec) -> TELL(released_committed, "reads that its commit has landed late, and its answer counts");
				GETS(rec.commit); effect[p] = 1; effects = 1; until[p] = firstExpiry; want = COMPLETED;
				goto own
			:: !mayHaveLanded(rec)
			:: faults > 0 && w.op == DELETE -> faults--; UNANSWERED; TELL(release_unread, "cannot read what kept it from releasing its record")
			fi
#endif
		:: else
		fi;
#endif
		HOLDS(I4_no_claim_left_behind, loose[p] || !liveClaimOf(p) && !(rec.status == UNKNOWN && rec.owner == me));
#ifdef STEPS
		HOLDS(I4_mark_means_begun, loose[p] || res != DONE || NO_FALSE_MARK(1) && NO_FALSE_MARK(2));
#endif
		goto end
	}

	/* settle.go: settled: the caller gets the handler's own result, and the store has answered */
	GOES_ON(own)
		if
		:: want == COMPLETED ->
			HOLDS(I2_all_callers_agree, first == 0 || IS_MINE(first) || firstRequest != request[p] || !surelyLive(firstExpiry));
			agreed[p] = 1
		:: else
		fi;
end:		HOLDS(I4_no_claim_left_behind, loose[p] || phase[p] != CLAIMING || !liveClaimOf(p));
#ifdef COMMITS
		HOLDS(I9_caller_gets_the_committed, first < ROWS || bySeal(first) != me || !surelyLive(firstExpiry) || gets == first || blind && gets == 0);
#endif
		phase[p] = ENDED;
		forget()
	}
	} unless { atomic { dead[p] -> forget() } }
}

/* ---- An operator: package operate ---- */

#ifdef OPERATOR
#ifdef STEPS
#define dropSteps(r) r.step[0] = 0; r.step[1] = 0; r.writes = 0
#else
#define dropSteps(r) skip
#endif
#define voids(q) voided[q] = ran[q] && phase[q] != IDLE
#ifdef NO_OPERATOR_TOKEN
#define NEW_TOKEN skip
#else
#define NEW_TOKEN rec.owner = OPERATORS
#endif

#if defined(STEPS) && !defined(NO_OPERATOR_STEPS)
#define STEPS_DIFFER rec.writes != shown.writes
#else
#define STEPS_DIFFER false
#endif

/* change.go: what is recorded stays, and the open marks that were shown go; or one of them gets its result. */
#ifdef STEPS
#define STEP_VERDICT \
	if \
	:: deed == 2 && isMark(shown.step[0]) -> TELL(operator_step, "is an operator, and settles one step as executed"); \
		rec.step[0] = OPERATORS; recorded = recorded | 1; if :: isMark(shown.step[1]) -> rec.step[1] = 0 :: else fi \
	:: deed == 2 && isMark(shown.step[1]) -> TELL(operator_step, "is an operator, and settles one step as executed"); \
		rec.step[1] = OPERATORS; recorded = recorded | 2; if :: isMark(shown.step[0]) -> rec.step[0] = 0 :: else fi \
	:: deed == 1 -> \
		if :: isMark(shown.step[0]) -> rec.step[0] = 0 :: else fi; \
		if :: isMark(shown.step[1]) -> rec.step[1] = 0 :: else fi \
	fi; \
	begun = 0; did[1] = 0; did[2] = 0; did[3] = 0; rec.writes++
#else
#define STEP_VERDICT skip
#endif

#ifdef RECONCILER
/* One question about a record: reconcile.go. Its lease is not renewed, and it may be suspended between any two steps. */
proctype Reconciler() {
	byte p, skew, lease;
	byte says;              /* 0: nobody can tell, 1: executed, 2: untouched */
	Record shown;

	/* reconcile.go: judgeOpen */
end_look: atomic {
		rec.status == UNKNOWN || rec.status == INPROGRESS && !rec.released && (lapsed(rec, T) || surelyLive(rec.lease)) ->
			copy(shown, rec);
			if :: skip :: CLOCKS_DIFFER -> skew = SKEW fi;
			if
#ifndef NO_ASK_LIVE
			:: shown.status == INPROGRESS && !lapsed(shown, T + skew) -> TELL(asked_refused, "is busy, and nobody is asked about it");
				goto end_reconciler
#endif
			:: else -> TELL(asked_about, "is UNKNOWN or has crashed, and a reconciliation sees it")
			fi
	}
	/* reconcile.go: takeOpen, by a swap */
end_take: atomic {
		if
		:: (rec.status != shown.status || rec.owner != shown.owner || rec.lease != shown.lease || rec.released) ->
			TELL(asked_too_late, "has changed, and nobody is asked about it"); goto end_reconciler
		:: else ->
			HOLDS(I13_nobody_is_asked_beside_a_claim, rec.status != INPROGRESS || !surelyLive(rec.lease));
			d_step {
				wasOpen = (rec.status == UNKNOWN || rec.open);
				lease = T + skew + LEN + MARGIN; asksUntil = lease;
				rec.status = INPROGRESS; rec.owner = ASKS; rec.lease = lease; rec.again = 1;
				rec.expiry = T + skew + UNKNOWN_RETENTION
			};
#ifdef NO_ASK_OPEN
			rec.open = 0;
#else
			rec.open = wasOpen;
#endif
			TELL(asked, "is asked about, under a claim")
		fi
	}
	atomic {
		if
		:: TELL(asked_died, "is left: the process of the reconciliation dies"); asksUntil = 0; goto end_reconciler
		:: says = 0
		:: says = 1
		:: says = 2
		fi;
		asksUntil = 0
	}
	/* settle.go: releaseAs, conclude. Whoever has made the record UNKNOWN meanwhile did not execute. */
end_settle: atomic {
		if
#ifndef NO_ASK_OWNER
		:: rec.owner != ASKS || rec.status == COMPLETED || rec.status == NONE ->
			TELL(asked_elsewhere, "is somebody else's, and the answer does not count")
#endif
		:: else ->
			HOLDS(I13_lost_answers_do_not_count, rec.owner == ASKS);
			if
			:: says == 0 -> TELL(asked_in_vain, "stays open: nobody can tell");
				d_step { rec.status = UNKNOWN; rec.owner = ASKED; rec.open = 0; rec.expiry = T + skew + UNKNOWN_RETENTION }
			:: says == 1 -> TELL(asked_executed, "gets the result that a resolver has found");
				d_step {
					until[1] = 0; until[2] = 0; until[3] = 0;
					rec.status = COMPLETED; rec.commit = ASKS; rec.open = 0; rec.expiry = T + skew + RETENTION;
					first = ASKS; firstExpiry = rec.expiry; firstRequest = rec.request
				}
			:: says == 2 -> TELL(asked_untouched, "is released: a resolver says that nothing has happened");
				d_step {
					until[1] = 0; until[2] = 0; until[3] = 0; executions = 0; effects = 0;
					rec.status = INPROGRESS; rec.owner = ASKED; rec.lease = T + skew; rec.released = 1; rec.open = 0;
					if :: rec.expiry < T + skew + RETENTION -> rec.expiry = T + skew + RETENTION :: else fi
				}
			fi
		fi
	}
end_reconciler: skip
}
#endif

proctype Operator() {
	byte p, skew;
	byte deed;              /* 1: not executed, 0: executed, or deletes what is completed or expired; 2: one open step was executed */
	Record shown;

	/* operate.go: Inspect */
end_look: atomic {
		rec.status != NONE -> copy(shown, rec); TELL(operator_shown, "is an operator, and is shown the record")
	}
	/* change.go: allowed, next. The request may take as long as it likes to arrive. */
	atomic {
		if :: skip :: CLOCKS_DIFFER -> skew = SKEW fi;
		if
		:: deed = 1
		:: deed = 0
#ifdef STEPS
		:: isMark(shown.step[0]) || isMark(shown.step[1]) -> deed = 2
#endif
		fi;
#ifndef NO_OPERATOR_LIVE
		if
		:: shown.status == INPROGRESS && !reached(shown.lease, T + skew) -> TELL(operator_live, "refuses to touch a live claim");
			goto end_operator
		:: else
		fi;
#endif
	}
	/* The store: a swap, or a delete, on the condition that the record is the one that was shown. */
end_arrive: atomic {
		if
		:: rec.status != shown.status || rec.owner != shown.owner || rec.lease != shown.lease || STEPS_DIFFER ->
			TELL(operator_too_late, "finds that the record has changed, and changes nothing")
		:: else ->
			HOLDS(I11_no_live_claim_is_touched, rec.status != INPROGRESS || !surelyLive(rec.lease));
			d_step {
				until[1] = 0; until[2] = 0; until[3] = 0
			};
			if
			:: rec.status == COMPLETED || reached(rec.expiry, T + skew) && rec.status != INPROGRESS ->
				TELL(operator_deleted, "is an operator, and deletes the record");
				d_step { agreed[1] = 0; agreed[2] = 0; agreed[3] = 0; first = 0; firstExpiry = 0; firstRequest = 0; freeKey(); forgetSteps(); clear(rec) }
			:: rec.status != COMPLETED && deed >= 1 ->
				TELL(operator_not_executed, "is an operator, and settles the record as not executed");
				STEP_VERDICT;
				d_step {
					voids(1); voids(2); voids(3); executions = 0; effects = 0;
					rec.status = INPROGRESS; NEW_TOKEN; rec.lease = T + skew; rec.released = 1; rec.settled = 1;
					if :: rec.expiry < T + skew + RETENTION -> rec.expiry = T + skew + RETENTION :: else fi
				}
			:: rec.status != COMPLETED && deed == 0 ->
				TELL(operator_executed, "is an operator, and settles the record as executed");
				d_step {
					voids(1); voids(2); voids(3);
					rec.status = COMPLETED; NEW_TOKEN; rec.commit = OPERATORS; dropSteps(rec); rec.released = 0; rec.settled = 1;
					if :: rec.expiry < T + skew + RETENTION -> rec.expiry = T + skew + RETENTION :: else fi;
					first = OPERATORS; firstExpiry = rec.expiry; firstRequest = rec.request
				}
			fi
		fi
	}
end_operator: skip
}
#endif

/* ---- Time, the network, crashes, DynamoDB's time to live ---- */

#define over(q) (q > N || phase[q] == ENDED)

inline forgetPast(q) {
	if :: surelyLive(until[q]) :: else -> until[q] = 0 fi
}

/* Which renewals are late: renewals only, so that the check sees that each of them was late. */
#ifdef STEPS
#define writesStep(m) (m.name != 0)
#else
#define writesStep(m) false
#endif
#define renews(m) (m.op == SWAP && m.status == INPROGRESS && m.next.status == INPROGRESS && m.owner == m.next.owner && !writesStep(m))
inline arrives(m) {
	p = of(m.by); ROWS_MAY_DECLINE(m); apply(m); FORGETS_ROWS;
	if
	:: ok && commits(m) -> TELL(late_commit, "had a commit on its way, which is applied now, with its rows")
	:: ok && !commits(m) -> TELL(late_applied, "had a write on its way, which is applied now")
	:: !ok && !renews(m) -> TELL(late_refused, "had a write on its way, which is refused now")
	:: !ok && renews(m) && rec.owner == m.by && rec.status == INPROGRESS ->
		TELL(renewal_overtaken, "had a renewal on its way, which a later one has overtaken")
	:: !ok && renews(m) && rec.owner == m.by && rec.status != INPROGRESS ->
		TELL(renewal_after_end, "had a renewal on its way, which comes after its end")
	:: !ok && renews(m) && rec.owner != m.by -> TELL(renewal_after_takeover, "had a renewal on its way, and has lost the record")
	fi;
	clearWrite(m); p = 0; ok = 0
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
#ifndef EARLY_EXPIRY
	:: atomic { /* store/store.go: a store may drop a record after its expiry; DynamoDB by its own clock */
		rec.status != NONE && T + SKEW > rec.expiry ->
			p = of(rec.owner); TELL(ttl, "loses its record, which has expired: DynamoDB deletes it");
			if :: rec.status == COMPLETED -> first = 0; firstExpiry = 0; firstRequest = 0 :: else fi;
			EXPIRED;
			p = 0; clear(rec)
	   }
#endif
	:: atomic { /* a late write arrives */
		!free(0) -> arrives(onItsWay[0])
	   }
#if SLOTS > 1
	:: atomic {
		!free(1) -> arrives(onItsWay[1])
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
		run World(); run Invocation(1);
#if N > 1
		run Invocation(2);
#endif
#ifdef OPERATOR
#ifdef RECONCILER
		run Reconciler();
#else
		run Operator();
#endif
#endif
#if N > 2
		run Invocation(3)
#endif
	}
}
