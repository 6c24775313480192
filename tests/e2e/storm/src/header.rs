// SPDX-License-Identifier: GPL-2.0-only
//! The table of calls against what each kernel's kfd_ioctl.h has, as the C compiler
//! understands it: a call, a flag or an operation that a new kernel brings is noticed here.
#![forbid(unsafe_code)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::call::{self, Call, CALLS};

const SOURCES: &str = "/usr/src";
const HEADER: &str = "include/uapi/linux/kfd_ioctl.h";

/// Whether the storm draws a value.
type IsDrawn = fn(u64) -> bool;

/// Constants and what the storm draws of those whose names begin so.
const DRAWN: &[(&str, IsDrawn)] = &[
    ("KFD_IOC_ALLOC_MEM_FLAGS_", |value| {
        value as u32 & !(call::MEMORY_KINDS | call::MEMORY_USES) == 0
    }),
    ("KFD_IOC_QUEUE_TYPE_", |value| value < call::QUEUE_TYPES),
    ("KFD_IOC_EVENT_", |value| value < call::EVENT_TYPES),
    ("KFD_IOC_CACHE_POLICY_", is_small),
    ("KFD_PROC_FLAG_", is_small),
    ("KFD_IOCTL_SVM_FLAG_", |value| {
        value & !call::RANGE_FLAGS == 0
    }),
    ("KFD_IOCTL_SVM_OP_", is_small),
    ("KFD_IOCTL_SVM_ATTR_", |value| value < call::ATTRIBUTES),
    ("KFD_IOCTL_SVM_LOCATION_", |value| {
        [0, u64::from(u32::MAX)].contains(&(value & u64::from(u32::MAX)))
    }),
    ("KFD_CRIU_OP_", is_small),
    ("KFD_RUNTIME_ENABLE_MODE_", is_small),
    ("KFD_IOC_DBG_TRAP_", |value| {
        value == 0 || operations(call::DEBUG).contains(&(value as u32))
    }),
    ("KFD_DBG_TRAP_OVERRIDE_", is_small),
    ("KFD_DBG_TRAP_WAVE_LAUNCH_MODE_", is_small),
    ("KFD_DBG_TRAP_ADDRESS_WATCH_MODE_", is_small),
    ("KFD_DBG_TRAP_FLAG_", is_small),
    // Of 32 bits each is drawn.
    ("KFD_DBG_TRAP_MASK_", |value| value as u32 != 0),
    ("KFD_IOC_PROFILER_", is_small),
];

/// Whether it is among the small numbers that every fourth draw is not above.
fn is_small(value: u64) -> bool {
    value < 12
}

fn operations(number: u8) -> BTreeSet<u32> {
    let rows = CALLS.iter().filter(|call| call.number == number);
    rows.filter_map(Call::operation).collect()
}

/// The headers of the kernels that are here, by their releases.
fn headers() -> BTreeMap<String, PathBuf> {
    let entries = fs::read_dir(SOURCES).expect("the kernels' headers are in the root");
    entries
        .filter_map(|entry| {
            let name = entry.ok()?.file_name().into_string().ok()?;
            let release = name
                .strip_prefix("linux-headers-")?
                .strip_suffix("-common")?;
            let header = Path::new(SOURCES).join(&name).join(HEADER);
            header.exists().then(|| (release.to_owned(), header))
        })
        .collect()
}

/// The words of a text that begin in one of these ways.
fn words(text: &str, beginnings: &[&str]) -> BTreeSet<String> {
    text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_')
        .filter(|word| beginnings.iter().any(|begin| word.starts_with(begin)))
        .filter(|word| !beginnings.contains(word))
        .map(str::to_owned)
        .collect()
}

/// The values of constants. Names that are only in comments, or of something else, have none.
fn values(header: &Path, names: &BTreeSet<String>) -> BTreeMap<String, u64> {
    let text = fs::read_to_string(header).unwrap();
    let is_constant = |name: &&String| {
        let defined = text.lines().any(|line| {
            let mut words = line.split_whitespace();
            words.next() == Some("#define") && words.next() == Some(name.as_str())
        });
        let enumerated = text.lines().any(|line| {
            let line = line.trim().trim_end_matches(',');
            line.split([' ', '=', '\t', ',']).next() == Some(name.as_str()) && !line.contains('*')
        });
        defined || enumerated
    };
    let lines: Vec<String> = names
        .iter()
        .filter(is_constant)
        .map(|name| format!("\tprintf(\"{name} %llu\\n\", (unsigned long long)({name}));"))
        .collect();
    let lines = lines.join("\n");
    let program = format!(
        "#include <stdio.h>\n#include \"{}\"\nint main(void)\n{{\n{lines}\n\treturn 0;\n}}\n",
        header.display()
    );
    let folder = std::env::temp_dir().join(format!("storm-header-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let (source, binary) = (folder.join("values.c"), folder.join("values"));
    fs::write(&source, program).unwrap();
    let compiled = Command::new("cc")
        .arg("-o")
        .args([&binary, &source])
        .output()
        .unwrap();
    assert!(
        compiled.status.success(),
        "{}",
        String::from_utf8_lossy(&compiled.stderr)
    );
    let printed = Command::new(&binary).output().unwrap();
    fs::remove_dir_all(&folder).unwrap();
    let text = String::from_utf8(printed.stdout).unwrap();
    text.lines()
        .map(|line| {
            let (name, value) = line.split_once(' ').unwrap();
            (name.to_owned(), value.parse().unwrap())
        })
        .collect()
}

#[test]
fn the_table_has_each_call_flag_and_operation_of_each_kernel() {
    let headers = headers();
    assert!(headers.len() >= 3, "only {headers:?} are here");
    for (release, header) in headers {
        let text = fs::read_to_string(&header).unwrap();
        check_calls(&release, &values(&header, &words(&text, &["AMDKFD_IOC_"])));
        let beginnings: Vec<&str> = DRAWN.iter().map(|(begin, _)| *begin).collect();
        let mut all = values(&header, &words(&text, &beginnings));
        // A version, and no operation.
        all.remove("KFD_IOC_PROFILER_VERSION_NUM");
        for (begin, is_drawn) in DRAWN {
            for (name, value) in all.iter().filter(|(name, _)| name.starts_with(begin)) {
                assert!(
                    is_drawn(*value),
                    "{release}: {name}, {value:#x}, is never drawn"
                );
            }
        }
        assert!(
            all.len() > 80,
            "{release}: only {} constants were found",
            all.len()
        );
    }
}

/// Numbers, directions and sizes. What an older kernel lacks it lacks at the end.
fn check_calls(release: &str, calls: &BTreeMap<String, u64>) {
    let mut numbers: BTreeSet<u8> = CALLS.iter().map(|call| call.number).collect();
    assert_eq!(numbers.last(), Some(&(call::AFTER_LAST - 1)));
    for (name, &value) in calls {
        let number = (value & 0xff) as u8;
        let bytes = ((value >> 16) & 0x3fff) as usize;
        assert!(
            numbers.remove(&number),
            "{release}: the table has no {name}, {number:#x}"
        );
        for call in CALLS.iter().filter(|call| call.number == number) {
            let own = call.request(call.bytes());
            assert_eq!(own >> 30, value >> 30, "{release}: the direction of {name}");
            if number == call::RANGE {
                // Attributes follow, as many as the call says.
                assert!((call.bytes() - bytes) % 8 == 0 && call.bytes() > bytes);
            } else {
                assert_eq!(call.bytes(), bytes, "{release}: the size of {name}");
            }
        }
    }
    let older: Vec<u8> = numbers.into_iter().collect();
    assert!(
        older.iter().all(|&number| number >= call::CREATE_PROCESS),
        "{release}: {older:x?}"
    );
}
