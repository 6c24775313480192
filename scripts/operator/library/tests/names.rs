// SPDX-License-Identifier: GPL-2.0-only
//! What names stand for on a host, by files as runtimes of containers write them.

use std::fs;
use std::os::unix::fs::chown;
use std::path::PathBuf;

use gpreempt_operator::act::resolve::{Answer, Finder};
use gpreempt_operator::configuration::config::Config;
use gpreempt_operator::configuration::file_text;
use gpreempt_operator::host::tree::Host;
use gpreempt_operator::words::names::Name;
use gpreempt_operator::words::rule::{Rule, Subject};
use tempfile::TempDir;

const CONTAINERD: &str = "run/containerd/io.containerd.runtime.v2.task";
const STORAGE: &str = "var/lib/containers/storage/overlay-containers";
const HOME: &str = "home/alice/.local/share";
const ALICE: &str = "user.slice/user-1000.slice/user@1000.service";

struct Tree(TempDir);

impl Tree {
    fn new() -> Tree {
        let tree = Tree(tempfile::tempdir().unwrap());
        tree.file(
            "etc/passwd",
            "root:x:0:0:root:/root:/bin/bash\nalice:x:1000:1000::/home/alice:/bin/sh\nodd\n",
        );
        tree
    }

    fn file(&self, path: &str, text: &str) -> PathBuf {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// Gives a file to a user, as only root can.
    fn give(&self, path: &str, user: u32) -> bool {
        chown(self.0.path().join(path), Some(user), None).is_ok()
    }

    fn runs(&self, cgroup: &str) {
        let path = self.0.path().join("sys/fs/cgroup").join(cgroup);
        fs::create_dir_all(path).unwrap();
    }

    fn stops(&self, cgroup: &str) {
        fs::remove_dir(self.0.path().join("sys/fs/cgroup").join(cgroup)).unwrap();
    }

    /// What docker 28 keeps of a container, without what nobody here reads.
    fn docker(&self, number: &str, name: &str, labels: &str) {
        let text = format!(
            r#"{{"StreamConfig":{{}},"State":{{"Running":true,"Pid":7}},"ID":"{number}",
            "Config":{{"Hostname":"{}","Labels":{labels}}},"Name":"/{name}","RestartCount":0}}"#,
            &number[..12]
        );
        self.file(
            &format!("var/lib/docker/containers/{number}/config.v2.json"),
            &text,
        );
    }

    fn answer(&self, words: &str) -> Answer {
        let host = Host::new(self.0.path());
        Finder::new(&host).find(&name(words))
    }

    fn paths(&self, words: &str) -> Vec<String> {
        match self.answer(words) {
            Answer::Paths(paths) => {
                let text = |path| String::from_utf8(path).unwrap();
                paths.into_iter().map(text).collect()
            }
            other => panic!("{words}: {other:?}"),
        }
    }

    fn nothing(&self, words: &str) -> String {
        match self.answer(words) {
            Answer::Nothing(why) => why,
            other => panic!("{words}: {other:?}"),
        }
    }
}

fn name(words: &str) -> Name {
    match Rule::typed(&format!("1 {words} prio=3")).unwrap().subject {
        Subject::Named(name) => name,
        other => panic!("{other:?}"),
    }
}

/// A number that begins and ends so.
fn number(begin: &str, end: &str) -> String {
    format!("{begin}{}{end}", "0".repeat(64 - begin.len() - end.len()))
}

#[test]
fn a_file_that_names_something_says_it_again_or_where_it_is_wrong() {
    let rule = |whom: &str| format!("[[rule]]\nid = 1\n{whom}\nprio = 3\n");
    for whom in [
        "unit = \"train.service\"",
        "user = \"alice\"\nunit = \"a%5Cx2db@1.scope\"",
        "container = \"trainer\"",
        "label = \"team=a%20%25b\"",
        "user = \"alice\"",
    ] {
        let config = Config::parse(&rule(whom)).unwrap();
        assert!(file_text::toml(&config).ends_with(&rule(whom)), "{whom}");
    }
    let spaced = Config::parse(&rule("label = \"team=a b\"")).unwrap();
    assert_eq!(spaced.rules[0].to_string(), "1 label=team=a%20b prio=3");
    for (whom, fault) in [
        ("unit = \"train\"", "3:8: 'unit' takes the whole name"),
        ("unit = \"a/b.service\"", "3:8: 'unit' takes the whole name"),
        ("unit = \"a@.service\"", "3:8: 'a@.service' is a template"),
        (
            "unit = \"../a.service\"",
            "3:8: 'unit' takes the whole name",
        ),
        (
            "container = \"a\\nb\"",
            "3:13: 'container' takes a name of one line",
        ),
        (
            "container = \"..\"",
            "3:13: 'container' takes a name or at least",
        ),
        ("container = \"100%\"", "3:13: % must be followed by"),
        ("container = 7", "3:13: 'container' takes a text"),
        ("label = \"team\"", "3:9: 'label' takes a key and a value"),
        ("user = \"\"", "3:8: 'user' takes a name of one line"),
        (
            "unit = \"a.service\"\nlabel = \"a=b\"",
            "4:9: give only one of 'unit'",
        ),
        (
            "unit = \"a.service\"\ncomm = \"x\"",
            "1:1: give only one of 'cgroup'",
        ),
        ("pod = \"x\"", "3:1: there is no 'pod' in a rule"),
    ] {
        let faults = Config::parse(&rule(whom)).unwrap_err();
        let text = format!(
            "{}:{}: {}",
            faults[0].line, faults[0].column, faults[0].what
        );
        assert!(
            faults.len() == 1 && text.starts_with(fault),
            "{whom}: {faults:?}"
        );
    }
}

#[test]
fn units_and_users_are_found_and_waited_for() {
    let tree = Tree::new();
    tree.runs("system.slice/train.service");
    tree.runs(&format!("{ALICE}/app.slice/train.service"));
    assert_eq!(
        tree.paths("unit=train.service"),
        ["/system.slice/train.service"]
    );
    let own = format!("/{ALICE}/app.slice/train.service");
    for user in ["alice", "1000", "01000"] {
        assert_eq!(
            tree.paths(&format!("user={user} unit=train.service")),
            [own.as_str()]
        );
        assert_eq!(
            tree.paths(&format!("user={user}")),
            ["/user.slice/user-1000.slice"]
        );
    }
    assert_eq!(
        tree.nothing("unit=other.service"),
        "other.service does not run"
    );
    assert_eq!(tree.nothing("user=0"), "nothing of that user runs");
    assert_eq!(tree.nothing("user=4294967294"), "nothing of that user runs");
    assert_eq!(
        tree.nothing("user=no-such-user unit=train.service"),
        "there is no user 'no-such-user'"
    );
}

#[test]
fn containers_of_docker_have_names_numbers_and_labels() {
    let tree = Tree::new();
    let (one, other) = (number("aaaaaaaaaaaa", "1"), number("aaaaaaaaaaaa", "2"));
    tree.docker(&one, "trainer", r#"{"team":"research","empty":""}"#);
    tree.docker(&other, "server", r#"{"team":"research"}"#);
    assert_eq!(
        tree.nothing("container=trainer"),
        "no container of that name runs"
    );
    tree.runs(&format!("system.slice/docker-{one}.scope"));
    tree.runs(&format!("docker/{other}"));
    let (first, second) = (
        format!("/system.slice/docker-{one}.scope"),
        format!("/docker/{other}"),
    );
    assert_eq!(tree.paths("container=trainer"), [first.as_str()]);
    assert_eq!(tree.paths(&format!("container={one}")), [first.as_str()]);
    assert_eq!(
        tree.nothing("container=aaaaaaaaaaaa"),
        "2 containers have numbers that begin so: give more digits"
    );
    assert_eq!(
        tree.paths("label=team=research"),
        [second.as_str(), first.as_str()]
    );
    assert_eq!(tree.paths("label=empty="), [first.as_str()]);
    for wrong in ["label=team=", "label=team=research2", "label=empty=x"] {
        assert_eq!(tree.nothing(wrong), "no container with that label runs");
    }
    for wrong in ["aaaaaaaaaaa", "trainer2", "train", "Trainer"] {
        tree.nothing(&format!("container={wrong}"));
    }
    // A name that is also the beginning of a number is a name.
    tree.docker(&other, "aaaaaaaaaaaa", "null");
    assert_eq!(tree.paths("container=aaaaaaaaaaaa"), [second.as_str()]);
    tree.stops(&format!("docker/{other}"));
    assert_eq!(tree.paths("container=aaaaaaaaaaaa"), [first.as_str()]);
}

#[test]
fn docker_may_have_its_files_elsewhere() {
    let tree = Tree::new();
    let one = number("b", "1");
    tree.runs(&format!("system.slice/docker-{one}.scope"));
    tree.file(
        "etc/docker/daemon.json",
        r#"{"data-root":"/big/docker","debug":true}"#,
    );
    tree.file(
        &format!("big/docker/containers/{one}/config.v2.json"),
        r#"{"Name":"/moved"}"#,
    );
    assert_eq!(tree.paths("container=moved").len(), 1);
}

#[test]
fn containers_of_podman_are_the_systems_or_a_users() {
    let tree = Tree::new();
    let (kept, fleeting, own) = (number("c", "1"), number("c", "2"), number("c", "3"));
    let list = |number: &str, name: &str| {
        format!(
            r#"[{{"id":"{number}","names":["{name}"],"image":"1f","layer":"2e",
            "metadata":"{{\"image-name\":\"docker.io/library/x\",\"name\":\"{name}\"}}","created":
            "2026-11-01T00:00:00Z"}},{{"id":"{}","image":"","layer":""}}]"#,
            "d".repeat(64)
        )
    };
    tree.file(
        &format!("{STORAGE}/containers.json"),
        &list(&kept, "trainer"),
    );
    tree.file(
        &format!("{STORAGE}/volatile-containers.json"),
        &list(&fleeting, "trainer-rm"),
    );
    tree.file(
        &format!("{STORAGE}/{kept}/userdata/config.json"),
        r#"{"ociVersion":"1.2.0","annotations":{"team":"research"}}"#,
    );
    let list_of_alice = format!("{HOME}/containers/storage/overlay-containers/containers.json");
    tree.file(&list_of_alice, &list(&own, "trainer"));
    tree.runs(&format!("machine.slice/libpod-{kept}.scope/container"));
    tree.runs(&format!("machine.slice/libpod-conmon-{kept}.scope"));
    tree.runs(&format!("system.slice/q.service/libpod-payload-{fleeting}"));
    tree.runs(&format!("{ALICE}/user.slice/libpod-{own}.scope"));
    let whole = format!("/machine.slice/libpod-{kept}.scope");
    assert_eq!(tree.paths("container=trainer"), [whole.as_str()]);
    assert_eq!(tree.paths("label=team=research"), [whole.as_str()]);
    assert_eq!(
        tree.paths("container=trainer-rm"),
        [format!("/system.slice/q.service/libpod-payload-{fleeting}")]
    );
    tree.nothing(&format!("container={own}"));
    // What she links to must be hers as well.
    if tree.give(&list_of_alice, 1001) {
        match tree.answer("user=alice container=trainer") {
            Answer::Unknown(why) => assert!(why.contains("no ordinary file"), "{why}"),
            other => panic!("{other:?}"),
        }
    }
    if !tree.give(&list_of_alice, 1000) {
        return;
    }
    let path = format!("/{ALICE}/user.slice/libpod-{own}.scope");
    assert_eq!(tree.paths("user=alice container=trainer"), [path.as_str()]);
    assert_eq!(
        tree.paths(&format!("user=1000 container={own}")),
        [path.as_str()]
    );
    tree.nothing("user=alice container=trainer-rm");
}

#[test]
fn containers_of_the_kubelet_have_the_labels_that_it_gives() {
    let tree = Tree::new();
    let (pause, work, crio) = (number("e", "1"), number("e", "2"), number("e", "3"));
    let notes = |kind: &str, more: &str| {
        format!(
            r#"{{"annotations":{{"io.kubernetes.cri.container-type":"{kind}",
            "io.kubernetes.cri.sandbox-name":"job-1","io.kubernetes.cri.sandbox-namespace":"ml",
            "io.kubernetes.cri.sandbox-uid":"8f"{more}}},"linux":{{}}}}"#
        )
    };
    let bundle = |number: &str| format!("{CONTAINERD}/k8s.io/{number}/config.json");
    tree.file(&bundle(&pause), &notes("sandbox", ""));
    let more = r#","io.kubernetes.cri.container-name":"trainer""#;
    tree.file(&bundle(&work), &notes("container", more));
    tree.file(
        &format!("{STORAGE}/{crio}/userdata/config.json"),
        r#"{"annotations":{"io.kubernetes.cri-o.ContainerType":"container",
        "io.kubernetes.container.name":"trainer",
        "io.kubernetes.cri-o.Labels":"{\"io.kubernetes.pod.namespace\":\"web\"}"}}"#,
    );
    let pod = "kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod8f.slice";
    for number in [&pause, &work] {
        tree.runs(&format!("{pod}/cri-containerd-{number}.scope"));
    }
    tree.runs(&format!("kubepods/burstable/pod9/{crio}"));
    let (first, second) = (
        format!("/kubepods/burstable/pod9/{crio}"),
        format!("/{pod}/cri-containerd-{work}.scope"),
    );
    assert_eq!(
        tree.paths("container=trainer"),
        [second.as_str(), first.as_str()]
    );
    assert_eq!(
        tree.paths("label=io.kubernetes.pod.namespace=ml"),
        [second.as_str()]
    );
    assert_eq!(
        tree.paths("label=io.kubernetes.pod.name=job-1"),
        [second.as_str()]
    );
    assert_eq!(
        tree.paths("label=io.kubernetes.pod.uid=8f"),
        [second.as_str()]
    );
    assert_eq!(
        tree.paths("label=io.kubernetes.pod.namespace=web"),
        [first.as_str()]
    );
}

#[test]
fn a_pod_does_not_say_what_its_runtime_says() {
    let tree = Tree::new();
    let (crio, containerd) = (number("e", "3"), number("e", "4"));
    tree.file(
        &format!("{STORAGE}/{crio}/userdata/config.json"),
        r#"{"annotations":{"io.kubernetes.cri-o.ContainerType":"container",
        "io.kubernetes.cri.container-type":"sandbox","io.kubernetes.cri.container-name":"server",
        "io.kubernetes.cri.sandbox-namespace":"web","io.kubernetes.pod.namespace":"web",
        "io.kubernetes.cri-o.Labels":"{\"io.kubernetes.pod.namespace\":\"ml\",\"io.kubernetes.container.name\":\"trainer\"}"}}"#,
    );
    tree.file(
        &format!("{CONTAINERD}/k8s.io/{containerd}/config.json"),
        r#"{"annotations":{"io.kubernetes.cri.container-type":"container",
        "io.kubernetes.cri-o.ContainerType":"sandbox","io.kubernetes.pod.namespace":"web",
        "io.kubernetes.cri-o.Labels":"{\"io.kubernetes.container.name\":\"server\"}",
        "io.kubernetes.cri.container-name":"trainer","io.kubernetes.cri.sandbox-namespace":"ml"}}"#,
    );
    tree.runs(&format!("kubepods/pod8/{crio}"));
    tree.runs(&format!("kubepods/pod9/{containerd}"));
    let both = [
        format!("/kubepods/pod8/{crio}"),
        format!("/kubepods/pod9/{containerd}"),
    ];
    assert_eq!(tree.paths("container=trainer"), both);
    assert_eq!(tree.paths("label=io.kubernetes.pod.namespace=ml"), both);
    tree.nothing("container=server");
    tree.nothing("label=io.kubernetes.pod.namespace=web");
}

#[test]
fn a_container_whose_description_is_too_long_keeps_no_other_from_its_name() {
    let tree = Tree::new();
    let (long, good) = (number("a", "1"), number("b", "2"));
    for number in [&long, &good] {
        tree.docker(number, "trainer", r#"{"team":"a"}"#);
        tree.runs(&format!("docker/{number}"));
    }
    let file = format!("var/lib/docker/containers/{long}/config.v2.json");
    let text = fs::read_to_string(tree.0.path().join(&file)).unwrap();
    let path = |number: &str| format!("/docker/{number}").into_bytes();
    assert_eq!(tree.paths("container=trainer").len(), 2);
    tree.file(&file, &format!("{text}{}", " ".repeat(4 << 20)));
    for words in ["container=trainer", "label=team=a"] {
        let Answer::Partly {
            paths,
            unknown,
            why,
        } = tree.answer(words)
        else {
            panic!("{words}: {:?}", tree.answer(words));
        };
        assert_eq!((paths, unknown), (vec![path(&good)], vec![path(&long)]));
        assert!(
            why.contains(&file) && why.contains("more than is looked at"),
            "{why}"
        );
    }
    for words in ["container=other", "label=team=b"] {
        let answer = tree.answer(words);
        assert!(matches!(answer, Answer::Unknown(_)), "{words}: {answer:?}");
    }
    // Its number is known all the same.
    assert_eq!(tree.paths(&format!("container={}", &long[..12])).len(), 1);
    // Many at once do not use up what there is to be read for the others.
    for place in 0..40 {
        let number = number("0", &format!("{place:03}"));
        let text = format!("{:<1$}", "{\"Name\":\"/x\"}", 4 << 20);
        tree.file(
            &format!("var/lib/docker/containers/{number}/config.v2.json"),
            &text,
        );
        tree.runs(&format!("docker/{number}"));
    }
    let Answer::Partly { paths, unknown, .. } = tree.answer("container=trainer") else {
        panic!("{:?}", tree.answer("container=trainer"));
    };
    assert_eq!(paths, [path(&good)]);
    assert!(unknown.len() > 1, "{unknown:?}");
}

#[test]
fn what_a_user_calls_his_containers_is_for_himself() {
    let tree = Tree::new();
    let (own, copied) = (number("f", "1"), number("f", "2"));
    tree.docker(&copied, "trainer", r#"{"team":"research"}"#);
    // A user can make a cgroup of any name below his own.
    for evil in [&own, &copied] {
        tree.runs(&format!("{ALICE}/docker-{evil}.scope"));
    }
    tree.runs(&format!("{ALICE}/train.service"));
    for words in [
        "container=trainer",
        "label=team=research",
        "unit=train.service",
    ] {
        tree.nothing(words);
    }
}

#[test]
fn a_file_that_is_not_as_it_should_be_is_no_reason_to_say_that_nothing_runs() {
    let tree = Tree::new();
    let one = number("a", "1");
    tree.runs(&format!("system.slice/docker-{one}.scope"));
    let file = tree.file(
        &format!("var/lib/docker/containers/{one}/config.v2.json"),
        "{\"Na",
    );
    let unknown = |words: &str| match tree.answer(words) {
        Answer::Unknown(why) => why,
        other => panic!("{words}: {other:?}"),
    };
    for text in ["{\"Na", "", "[7]", "{\"Name\":7}"] {
        fs::write(&file, text).unwrap();
        for words in ["container=trainer", "label=a=b"] {
            let why = unknown(words);
            assert!(why.contains("config.v2.json is not as a runtime"), "{why}");
        }
    }
    // Neither a folder nor a pipe is waited for.
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    unknown("container=trainer");
    fs::remove_dir(&file).unwrap();
    let made = std::process::Command::new("mkfifo").arg(&file).status();
    assert!(made.unwrap().success());
    unknown("container=trainer");
    // One that ended a moment ago, or that another runtime has, is only a number.
    fs::remove_file(&file).unwrap();
    tree.nothing("container=trainer");
    assert_eq!(tree.paths(&format!("container={one}")).len(), 1);
}
