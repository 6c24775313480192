// SPDX-License-Identifier: GPL-2.0-only
//! A tree of files as the kernel would show them, and the command on it.
#![allow(dead_code, reason = "each test program uses a part")]

use std::fs;
use std::process::{Command, Output};

use tempfile::TempDir;

pub const DEBUGFS: &str = "sys/kernel/debug/amd_gpreempt";
pub const FAUX: &str = "sys/devices/faux/amd_gpreempt";
pub const NODES: &str = "sys/class/kfd/kfd/topology/nodes";

pub const QUEUES: &str = r#"{"schema":1,"queues":[
{"gpu":"0000:01:00.0","node":0,"gpu_id":5,"pid":20,"comm":"train","queue":1,"format":"aql","prio":2,"eff_prio":2,"rule":null,"rptr":4,"wptr":9,"waves":null,"head":"runnable","active":false,"contends":true,"internal":false,"protected":false,"state":"stopped","since_ns":1,"stops":3,"run_ns":12000000000,"stopped_ns":900},
{"gpu":"0000:01:00.0","node":0,"gpu_id":5,"pid":10,"comm":"infer","queue":1,"format":"aql","prio":7,"eff_prio":12,"rule":4,"rptr":null,"wptr":null,"waves":6,"head":"unknown","active":true,"contends":true,"internal":false,"protected":false,"state":"running","since_ns":1,"stops":0,"run_ns":1,"stopped_ns":0}
],"left_out":[
]}"#;

pub const STATS: &str = r#"{"schema":1,"nodes":[
{"gpu":"0000:01:00.0","node":0,"gpu_id":5,"state":"disarmed","refusal":null,"last_failure":"the GPU is being reset","mode":"observe","sampler":"auto","backend":"hws","transaction":"driver","queues":2,"copy_queues":0,"processes":2,"running":1,"waiting":0,"stopped":1,"passes":9,"missed":0,"inversions":3,"observed":2,"stops":3,"starts":2,"transactions":5,"failures":1,"handed_over":0,"waited_for":0,"unwritten":0,"healed":0,"exempt":0}
]}"#;

pub struct Host(pub TempDir);

impl Host {
    pub fn new() -> Host {
        Host(tempfile::tempdir().unwrap())
    }

    pub fn with_module() -> Host {
        let host = Host::new();
        host.file("sys/module/amd_gpreempt/parameters/mode", "observe\n");
        host.file(&format!("{DEBUGFS}/queues.json"), QUEUES);
        host.file(&format!("{DEBUGFS}/stats.json"), STATS);
        host.file(
            &format!("{DEBUGFS}/rules.json"),
            r#"{"schema":1,"rules":[]}"#,
        );
        host.file(&format!("{FAUX}/rules_add"), "");
        host
    }

    pub fn supported() -> Host {
        let host = Host::with_module();
        host.file(
            "boot/config-7.3.4",
            "CONFIG_HSA_AMD=y\nCONFIG_KPROBES=y\nCONFIG_DEBUG_INFO_BTF_MODULES=y\n",
        );
        host.file("sys/module/amdgpu/parameters/cwsr_enable", "1\n");
        host.file("sys/kernel/btf/amdgpu", "");
        host.file("etc/os-release", "ID=debian\nVERSION_CODENAME=trixie\n");
        host.file(&format!("{NODES}/0/properties"), "gfx_target_version 0\n");
        host.file(
            &format!("{NODES}/1/properties"),
            "simd_count 4\ngfx_target_version 90402\n",
        );
        host.file(
            &format!("{DEBUGFS}/stats.json"),
            &STATS.replace("disarmed", "armed"),
        );
        host
    }

    pub fn file(&self, path: &str, text: &str) {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// A GPU of the module, with a mode of its own or with the word for the module's.
    pub fn gpu(&self, address: &str, mode: &str) {
        self.file(&own(address), &format!("{mode}\n"));
    }

    /// What was written last for the mode of a GPU.
    pub fn own(&self, address: &str) -> String {
        self.read(&own(address))
    }

    pub fn read(&self, path: &str) -> String {
        fs::read_to_string(self.0.path().join(path)).unwrap()
    }

    pub fn run(&self, line: &str) -> Output {
        Command::new(env!("CARGO_BIN_EXE_gpreempt"))
            .arg("--root")
            .arg(self.0.path())
            .args(line.split('|'))
            .output()
            .unwrap()
    }

    /// What a command that succeeds prints.
    pub fn says(&self, line: &str) -> String {
        let output = self.run(line);
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(
            output.status.success(),
            "{text}{}",
            String::from_utf8_lossy(&output.stderr)
        );
        text
    }

    /// What a command that refuses prints, on both outputs.
    pub fn refuses(&self, line: &str) -> String {
        let output = self.run(line);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(error.starts_with("gpreempt: "), "{error}");
        String::from_utf8(output.stdout).unwrap() + &error
    }
}

/// Runs a line of shell.
pub fn shell(line: &str) {
    let status = Command::new("sh").args(["-c", line]).status().unwrap();
    assert!(status.success(), "{line}");
}

/// The file with the mode of a GPU.
pub fn own(address: &str) -> String {
    format!("{FAUX}/gpu_{address}/mode")
}
