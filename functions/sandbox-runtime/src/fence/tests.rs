use proptest::prelude::*;

use super::*;

fn ticket(generation: i64, run_fence: Option<i64>) -> Ticket {
    Ticket { generation: Some(generation), run_fence }
}

fn lease(generation: i64, lease_until: Option<i64>, run_fence: Option<i64>) -> LeaseRequest {
    LeaseRequest { generation, lease_until, run_fence }
}

fn renew(fence: &Fence, request: &LeaseRequest) -> Result<LeaseReply, Refusal> {
    fence.lease(request, || ()).map(|(reply, _)| reply)
}

fn fence() -> Fence {
    Fence::new(5, None, Duration::from_secs(30))
}

#[test]
fn scenario_20_an_older_generation_is_fenced() {
    let fence = fence();
    assert_eq!(fence.commit(ticket(4, None), 0, || ()), Err(FENCED));
    assert_eq!(fence.commit(ticket(5, None), 0, || ()), Ok(()));
}

#[test]
fn scenario_21_a_newer_generation_must_be_announced() {
    let fence = fence();
    assert_eq!(fence.admit(ticket(7, None)), Err(UNKNOWN));
    renew(&fence, &lease(6, None, None)).unwrap();
    assert_eq!(fence.admit(ticket(5, None)), Err(FENCED));
    assert_eq!(renew(&fence, &lease(5, None, None)), Err(FENCED));
    assert_eq!(fence.admit(ticket(6, None)), Ok(()));
}

#[test]
fn a_lower_run_fence_is_refused_until_the_next_generation() {
    let fence = fence();
    fence.admit(ticket(5, Some(9))).unwrap();
    assert_eq!(fence.admit(ticket(5, Some(8))), Err(FENCED));
    assert_eq!(renew(&fence, &lease(5, None, Some(8))), Err(FENCED));
    fence.admit(ticket(5, None)).unwrap();
    renew(&fence, &lease(6, None, None)).unwrap();
    fence.admit(ticket(6, Some(1))).unwrap();
}

#[test]
fn a_lease_never_moves_backwards_and_its_end_stops_changes_until_it_is_renewed() {
    let fence = fence();
    renew(&fence, &lease(5, Some(1_000), None)).unwrap();
    assert_eq!(renew(&fence, &lease(5, Some(900), None)).unwrap().lease_until, Some(1_000));
    assert_eq!(fence.commit(ticket(5, None), 31_000, || ()), Ok(()));
    assert_eq!(fence.commit(ticket(5, None), 31_001, || ()), Err(RAN_OUT));
    assert_eq!(fence.admit(ticket(5, None)), Ok(()), "reading goes on");
    renew(&fence, &lease(5, Some(2_000), None)).unwrap();
    assert_eq!(fence.commit(ticket(5, None), 31_001, || ()), Ok(()));
    assert_eq!(renew(&fence, &lease(6, Some(7), None)).unwrap().lease_until, Some(7));
}

#[test]
fn an_adoption_is_told_and_a_renewal_is_not() {
    let fence = fence();
    assert_eq!(fence.lease(&lease(5, None, None), || ()).unwrap().1, None);
    assert_eq!(fence.lease(&lease(6, None, None), || ()).unwrap().1, Some(()));
    assert_eq!(fence.lease(&lease(6, None, None), || ()).unwrap().1, None);
    assert!(fence.lease(&lease(5, None, None), || ()).is_err());
}

proptest! {
    /// Any sequence of calls against a model: pairs of (generation, fence) only ever grow, and a
    /// change is made exactly by those who are not below the pair.
    #[test]
    fn only_owners_that_are_not_outdated_change_anything(
        calls in prop::collection::vec((any::<bool>(), -1..2_i64, 0..4_i64), 0..40),
    ) {
        let fence = fence();
        let mut current = (5_i64, i64::MIN);
        for (leases, step, run_fence) in calls {
            let generation = current.0 + step;
            let outdated = step < 0 || (step == 0 && run_fence < current.1);
            if leases {
                let done = renew(&fence, &lease(generation, None, Some(run_fence)));
                prop_assert_eq!(done.is_err(), outdated);
                if !outdated {
                    current = (generation, run_fence);
                }
            } else {
                let done = fence.admit(ticket(generation, Some(run_fence)));
                prop_assert_eq!(done.is_err(), outdated || step > 0);
                if done.is_ok() {
                    current.1 = run_fence;
                }
            }
        }
    }
}
