// SPDX-License-Identifier: GPL-2.0-only
//! The control socket: shows the state of the device and injects faults while a
//! guest runs. One JSON object per line in each direction.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::thread;

use serde::ser::Error;
use serde::{Deserialize, Serialize};
use serde_json::{json, Value};
use vgpu_model::{Faults, Moment, Pace, ReadPointer, Worlds};

use crate::clock::Gpu;
use crate::timeline;

/// A line from a client.
#[derive(Debug, Deserialize)]
struct Line {
    #[serde(default)]
    id: u64,
    #[serde(flatten)]
    command: Command,
}

/// What can be asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "snake_case")]
pub enum Command {
    /// The account of every user queue.
    Queues,
    /// Where in machine code waves were when they were saved.
    Stops,
    /// The packets of the scheduler firmware's ring, starting at a number.
    Hiq {
        #[serde(default)]
        from: u64,
    },
    /// The timeline's records, starting at a number.
    Timeline {
        #[serde(default)]
        from: u64,
    },
    /// The timeline in the trace-event format.
    Trace {
        #[serde(default)]
        from: u64,
    },
    /// The registers that were accessed so far.
    Registers,
    /// The registers that a virtual function's guest was refused.
    Forbidden,
    /// The whole present state.
    State,
    /// The GPU time, and how slowly it passes.
    Clock,
    /// The faults in force.
    Faults,
    /// Replaces the faults in force.
    SetFaults { faults: Faults },
    /// Replaces the faults in force at the next such moment.
    SetFaultsAt { moment: Moment, faults: Faults },
    /// When the faults began that last waited for their moment.
    FaultsBegan,
    /// Sets when the read pointers of AQL queues move from now on.
    SetReadPointer { when: ReadPointer },
    /// Sets how fast waves of machine code go on from now on.
    SetPace { pace: Pace },
    /// Sets how many nanoseconds an AQL packet takes from now on.
    SetAqlPacket { nanos: u64 },
    /// Sets how a virtual function takes turns with others from now on.
    SetWorlds { worlds: Option<Worlds> },
    /// The host of a virtual function wants to reset the GPU.
    HostReset,
    /// Begins strict mode, with nothing cached, or ends it.
    SetStrict { strict: bool },
    /// What strict mode has found.
    Stale,
}

/// Serves the socket until the process ends.
pub fn serve(listener: UnixListener, gpu: Arc<Gpu>) {
    for client in listener.incoming().flatten() {
        let gpu = Arc::clone(&gpu);
        thread::spawn(move || {
            // A client that disconnects does not concern the device.
            let _ = talk(client, &gpu);
        });
    }
}

fn talk(client: UnixStream, gpu: &Gpu) -> std::io::Result<()> {
    let mut out = client.try_clone()?;
    for line in BufReader::new(client).lines() {
        let mut reply = reply(&line?, gpu).to_string();
        reply.push('\n');
        out.write_all(reply.as_bytes())?;
    }
    Ok(())
}

/// The answer to a line.
pub fn reply(line: &str, gpu: &Gpu) -> Value {
    match serde_json::from_str::<Line>(line) {
        Ok(Line { id, command }) => match answer(command, gpu) {
            Ok(value) => json!({"id": id, "ok": value}),
            Err(error) => json!({"id": id, "error": error.to_string()}),
        },
        Err(error) => json!({"id": 0, "error": format!("not a command: {error}")}),
    }
}

fn answer(command: Command, gpu: &Gpu) -> serde_json::Result<Value> {
    gpu.access(|device| match command {
        Command::Queues => serde_json::to_value(device.queues()),
        Command::Stops => serde_json::to_value(device.stops()),
        Command::Hiq { from } => serde_json::to_value(device.hiq_log(from)),
        Command::Timeline { from } => serde_json::to_value(device.timeline(from)),
        Command::Trace { from } => Ok(timeline::trace(&device.timeline(from), &device.units())),
        Command::Registers => serde_json::to_value(device.registers()),
        Command::Forbidden => serde_json::to_value(device.forbidden()),
        Command::State => serde_json::to_value(device.state()),
        Command::Clock => Ok(json!({"now": device.now(), "dilation": gpu.clock().dilation()})),
        Command::Faults => serde_json::to_value(device.faults()),
        Command::SetFaults { faults } => {
            device.set_faults(faults);
            Ok(Value::Null)
        }
        Command::SetFaultsAt { moment, faults } => {
            device.set_faults_at(moment, faults);
            Ok(Value::Null)
        }
        Command::FaultsBegan => serde_json::to_value(device.faults_began()),
        Command::SetReadPointer { when } => {
            device.set_read_pointer(when);
            Ok(Value::Null)
        }
        Command::SetPace { pace } => {
            device.set_pace(pace).map_err(serde_json::Error::custom)?;
            Ok(Value::Null)
        }
        Command::SetAqlPacket { nanos } => {
            let set = device.set_aql_packet(nanos);
            set.map_err(serde_json::Error::custom)?;
            Ok(Value::Null)
        }
        Command::SetWorlds { worlds } => {
            let set = device.set_worlds(worlds);
            set.map_err(serde_json::Error::custom)?;
            Ok(Value::Null)
        }
        Command::HostReset => {
            device.host_reset().map_err(serde_json::Error::custom)?;
            Ok(Value::Null)
        }
        Command::SetStrict { strict } => {
            device.set_strict(strict);
            Ok(Value::Null)
        }
        Command::Stale => serde_json::to_value(device.stale()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::{Clock, HOST_DILATION};
    use crate::interrupt::Vector;
    use crate::memory::{GuestMemory, VideoMemory};
    use vgpu_model::{Config, Device};

    fn gpu() -> Arc<Gpu> {
        let device = Device::new(
            Config::default(),
            Box::new(GuestMemory::new(Vector::default())),
            Box::new(VideoMemory::new(256 << 20).unwrap()),
        )
        .unwrap();
        Gpu::start(device, Clock::of_host(HOST_DILATION))
    }

    #[test]
    fn every_command_is_answered_with_its_number() {
        let gpu = gpu();
        for command in [
            "queues",
            "stops",
            "hiq",
            "timeline",
            "trace",
            "registers",
            "forbidden",
            "state",
            "clock",
            "faults",
        ] {
            let value = reply(&format!(r#"{{"id":5,"command":"{command}"}}"#), &gpu);
            assert_eq!(value["id"], 5, "{value}");
            assert!(value.get("ok").is_some(), "{value}");
        }
    }

    #[test]
    fn faults_stay_set() {
        let gpu = gpu();
        reply(
            r#"{"id":1,"command":"set_faults","faults":{"fence":"never","endless":[16]}}"#,
            &gpu,
        );
        let value = reply(r#"{"id":2,"command":"faults"}"#, &gpu);
        assert_eq!(value["ok"]["fence"], "never");
        assert_eq!(value["ok"]["endless"], json!([16]));
    }

    #[test]
    fn a_pace_is_taken_or_refused() {
        let gpu = gpu();
        let set = |pace: &str| {
            let line = format!(r#"{{"id":1,"command":"set_pace","pace":{pace}}}"#);
            reply(&line, &gpu)
        };
        let taken = set(r#"{"instruction":700,"wave_quantum":2}"#);
        assert!(taken.get("ok").is_some(), "{taken}");
        let refused = set(r#"{"instruction":700,"wave_quantum":0}"#);
        let error = refused["error"].as_str().unwrap();
        assert!(error.contains("wave_quantum is 0"), "{error}");
        gpu.access(|device| assert_eq!(device.config().timing.instruction, 700));
    }

    #[test]
    fn strict_mode_finds_nothing_until_it_is_on() {
        let gpu = gpu();
        let stale = || reply(r#"{"id":1,"command":"stale"}"#, &gpu);
        assert_eq!(stale(), json!({"id": 1, "ok": null}));
        reply(r#"{"id":2,"command":"set_strict","strict":true}"#, &gpu);
        assert_eq!(stale()["ok"], json!({"accesses": 0, "first": []}));
        reply(r#"{"id":3,"command":"set_strict","strict":false}"#, &gpu);
        assert_eq!(stale()["ok"], Value::Null);
    }

    #[test]
    fn a_time_of_packets_is_taken_or_refused() {
        let gpu = gpu();
        let set = |nanos: u64| {
            let line = format!(r#"{{"id":1,"command":"set_aql_packet","nanos":{nanos}}}"#);
            reply(&line, &gpu)
        };
        assert!(set(5_000).get("ok").is_some());
        let refused = set(2_000_000_000);
        let error = refused["error"].as_str().unwrap();
        assert!(error.contains("timing.aql_packet is 2000000000"), "{error}");
        gpu.access(|device| assert_eq!(device.config().timing.aql_packet, 5_000));
    }

    #[test]
    fn only_a_virtual_function_has_a_host() {
        for line in [
            r#"{"id":1,"command":"set_worlds","worlds":{"own":7,"others":9}}"#,
            r#"{"id":1,"command":"host_reset"}"#,
        ] {
            let refused = reply(line, &gpu());
            let error = refused["error"].as_str().unwrap();
            assert!(error.contains("virtual function"), "{error}");
        }
    }

    #[test]
    fn nonsense_is_answered_with_an_error() {
        let gpu = gpu();
        for line in [
            "",
            "{}",
            r#"{"command":"dance"}"#,
            "[]",
            r#"{"command":"set_faults"}"#,
        ] {
            assert!(reply(line, &gpu).get("error").is_some(), "{line}");
        }
    }
}
