// SPDX-License-Identifier: GPL-2.0-only
//! Firmware files with nothing in them. The driver checks their headers and
//! sends them to the device, which has its firmware built in.

use std::collections::BTreeMap;

use vgpu_model::{Product, Version};

/// The bytes before and of the payload, which is all zero.
const HEADER: usize = 256;
const PAYLOAD: u32 = 4096;

/// The versions are those whose features the model has: the micro engine compute
/// firmware resets single queues from 155 on and counts SDMA activity from 194 on. That of
/// GFX 9.5.0 does so from 21 and from 44 on.
fn mec_version(product: Product) -> u32 {
    match product.facts().versions.graphics {
        (9, 5, 0) => 44,
        _ => 194,
    }
}

const MEC_FEATURE: u32 = 0x20;
const RLC_VERSION: u32 = 1;
const SDMA_VERSION: u32 = 0x17;

/// Each file's name below the firmware directory, and its bytes: those of all GPUs, since a
/// guest may have several.
pub fn files() -> BTreeMap<String, Vec<u8>> {
    Product::ALL.into_iter().flat_map(files_of).collect()
}

fn files_of(product: Product) -> Vec<(String, Vec<u8>)> {
    let rlc_lists = {
        // Versions and sizes are zero; the offsets of the lists must lie inside.
        let mut words = [0; 18];
        words[0] = 1;
        for at in [11, 13, 15, 17] {
            words[at] = HEADER as u32;
        }
        words
    };
    let versions = product.facts().versions;
    let name = |block: &str, (major, minor, revision): Version, ending: &str| {
        format!("amdgpu/{block}_{major}_{minor}_{revision}{ending}.bin")
    };
    let mec = file(
        (1, 0),
        (9, 4),
        mec_version(product),
        &[MEC_FEATURE, 0x300, 0x10],
    );
    vec![
        (name("gc", versions.graphics, "_mec"), mec.clone()),
        // Virtual functions have one of their own, without which 6.12 refuses them.
        (name("gc", versions.graphics, "_sjt_mec"), mec),
        (
            name("gc", versions.graphics, "_rlc"),
            file((2, 0), (9, 4), RLC_VERSION, &rlc_lists),
        ),
        (
            name("sdma", versions.copies, ""),
            file((1, 0), (4, 4), SDMA_VERSION, &[MEC_FEATURE, 0, 0, 0]),
        ),
    ]
}

/// The common header, the words of the particular one, and an empty payload.
fn file(header: (u16, u16), block: (u16, u16), version: u32, words: &[u32]) -> Vec<u8> {
    let mut out = Vec::new();
    let size = HEADER as u32 + PAYLOAD;
    let header_bytes = 32 + 4 * words.len() as u32;
    out.extend(size.to_le_bytes());
    out.extend(header_bytes.to_le_bytes());
    for half in [header.0, header.1, block.0, block.1] {
        out.extend(half.to_le_bytes());
    }
    for word in [version, PAYLOAD, HEADER as u32, 0] {
        out.extend(word.to_le_bytes());
    }
    for word in words {
        out.extend(word.to_le_bytes());
    }
    out.resize(size as usize, 0);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_file_says_its_own_size_and_where_the_payload_is() {
        for (name, file) in files() {
            let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap());
            assert_eq!(word(0) as usize, file.len(), "{name}");
            assert_eq!(word(20) + word(24), word(0), "{name}");
            assert!(word(4) <= word(24), "{name}");
        }
    }
}
