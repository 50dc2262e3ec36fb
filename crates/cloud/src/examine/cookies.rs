//! Whether a room on AWS finds a place between other cookies, at each of its URLs. A security policy that somebody changes in
//! AWS's console can end that.

use doctor::DoctorCheck;

use crate::{DeployedRoom, JOIN_COOKIES};

const COOKIES: &str = "cookies";

/// A room that is not deployed is not asked.
pub(super) async fn check(deployed: Option<&DeployedRoom>) -> Vec<DoctorCheck> {
    let Some(deployed) = deployed else { return Vec::new() };
    // Boxed, because the futures of the SDK are large.
    let looks = Box::pin(deployed.finds_places()).await;
    looks.into_iter().map(|(url, found)| look(&url, found)).collect()
}

fn look(url: &str, found: Result<bool, String>) -> DoctorCheck {
    match found {
        Ok(true) => DoctorCheck::ok(COOKIES, format!("{url} finds a place between other cookies")),
        Ok(false) => DoctorCheck::problem(
            COOKIES,
            format!("{url} loses a place between other cookies: visitors who have some are never admitted"),
            JOIN_COOKIES,
        ),
        Err(reason) => DoctorCheck::not_checked(COOKIES, format!("{url}: {reason}")),
    }
}

#[cfg(test)]
mod tests {
    use doctor::CheckResult;

    use super::*;

    #[test]
    fn a_lost_place_is_a_problem_and_silence_is_not() {
        let url = "https://queue.shop.example";
        assert_eq!(look(url, Ok(true)).result, CheckResult::Ok);
        let lost = look(url, Ok(false));
        assert_eq!((lost.result, lost.advice.as_deref()), (CheckResult::Problem, Some(JOIN_COOKIES)));
        let silent = look(url, Err("did not respond within 10 s".into()));
        assert_eq!(silent.result, CheckResult::NotChecked, "whether the room answers is another check");
        assert_eq!(silent.found, "https://queue.shop.example: did not respond within 10 s");
    }
}
