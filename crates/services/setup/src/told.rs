//! What a person is told of a run, and asked before it.

use crate::plan::{AfterSetup, SetupPlan};
use crate::services::{NotReady, ShopServices};

const WITH_THESE: &str = "with these lines";

impl SetupPlan {
    /// What to ask about before it is written, and the question.
    pub fn consequence(&self, services: &ShopServices) -> (String, &'static str) {
        if let AfterSetup::Mend(not_ready) = &self.next {
            return (not_ready.keeps_out(&services.shop_host, WITH_THESE), "Write these all the same?");
        }
        let consequence = if self.begins_to_guard {
            format!("from now on, {} is behind the guard, and {}", services.shop_host, services.room_says())
        } else {
            "nginx reads its configuration again, and no visitor notices".into()
        };
        (consequence, "Write these?")
    }

    /// What comes next, whether these changes were written or not.
    pub fn told_next(&self, services: &ShopServices, is_written: bool) -> String {
        match &self.next {
            AfterSetup::GetCertificate { name, webroot } => format!(
                "get the certificate: sudo certbot certonly --webroot --webroot-path {} --domain {name} --deploy-hook \"systemctl \
                 reload nginx\"; then run this again",
                webroot.display()
            ),
            AfterSetup::StartRoom(NotReady { because, command, .. }) => {
                format!("{because}; first: {command}; then run this again")
            }
            AfterSetup::StartGuard(NotReady { because, command, .. }) => format!(
                "rehearse, and turn the room off: docs/one-machine.md. Then put the shop behind the guard: sudo systemctl enable \
                 beekeeper-guard; {command}; and run this again. It waits for that, because {because}"
            ),
            AfterSetup::Mend(not_ready) => {
                let is_there = is_written || self.changes.is_empty();
                not_ready.keeps_out(&services.shop_host, if is_there { "now" } else { WITH_THESE })
            }
            AfterSetup::Examine => {
                format!("see whether all is well: sudo beekeeper doctor {}", services.as_typed)
            }
        }
    }
}

impl NotReady {
    /// What keeps whom out of the shop, now or `when` nginx has its lines, and what to do.
    fn keeps_out(&self, shop: &str, when: &str) -> String {
        let Self { because, keeps_everybody_out, command } = self;
        let whom = if *keeps_everybody_out {
            format!("nobody gets into {shop}, not even those who are in")
        } else {
            format!("nobody new gets into {shop}; those who are in stay")
        };
        format!("{because}, so {when} {whom}; first: {command}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SetupStage;
    use crate::fixture::services;
    use crate::kept::FileChange;

    #[test]
    fn whoever_would_shut_the_shop_is_asked_about_that_and_told_the_truth_afterwards() {
        let mut not_ready = NotReady {
            because: "the guard does not answer at 127.0.0.1:8090: Connection refused".to_owned(),
            keeps_everybody_out: true,
            command: "sudo systemctl restart beekeeper-guard",
        };
        let changes = vec![FileChange { path: "/etc/nginx/nginx.conf".into(), before: None, after: None }];
        let plan = |not_ready: &NotReady| SetupPlan {
            stage: SetupStage::Guard,
            begins_to_guard: false,
            opens_http: false,
            changes: changes.clone(),
            warnings: Vec::new(),
            next: AfterSetup::Mend(not_ready.clone()),
        };
        let listens = |port| ([127, 0, 0, 1], port).into();
        let services = services(listens(8080), listens(8090));
        let (told, question) = plan(&not_ready).consequence(&services);
        assert_eq!(question, "Write these all the same?");
        assert_eq!(
            told,
            "the guard does not answer at 127.0.0.1:8090: Connection refused, so with these lines nobody gets into shop.example, \
             not even those who are in; first: sudo systemctl restart beekeeper-guard"
        );
        let after = plan(&not_ready).told_next(&services, true);
        assert!(after.contains("so now nobody gets into shop.example, not even those who are in"), "{after}");
        let unwritten = plan(&not_ready).told_next(&services, false);
        assert_eq!(unwritten, told, "a dry run has shut nothing");
        not_ready.keeps_everybody_out = false;
        let (told, _) = plan(&not_ready).consequence(&services);
        assert!(told.contains("nobody new gets into shop.example; those who are in stay"), "{told}");
    }
}
