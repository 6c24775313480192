// SPDX-License-Identifier: GPL-2.0-only
//! The countable kernel in machine code, for a real GPU.

/// What gfx942.s assembles to.
pub const CODE: [u32; 24] = [
    0xc00a_0100,
    0x0000_0000,
    0xbf8c_c07f,
    0x9608_ff06,
    0x0712_c000,
    0x8008_8108,
    0xbf8e_0001,
    0xbf07_8007,
    0xbf85_fffd,
    0x8088_8108,
    0xbf07_8008,
    0xbf85_fffa,
    0x2600_00ff,
    0x0000_03ff,
    0x7d94_0080,
    0xbe8a_206a,
    0xbf88_0006,
    0x8e02_8202,
    0x7e02_0202,
    0x7e04_0281,
    0xdd08_8000,
    0x0004_0201,
    0xbf8c_0f70,
    0xbf81_0000,
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::process::Command;

    fn tool(program: &str, arguments: &[&str]) {
        let status = Command::new(program).args(arguments).status();
        let status = status.unwrap_or_else(|error| panic!("{program}: {error}"));
        assert!(status.success(), "{program} {arguments:?}");
    }

    #[test]
    fn the_words_are_those_of_the_source() {
        let directory = std::env::temp_dir().join(format!("gfx942-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        let path = |name: &str| directory.join(name).display().to_string();
        fs::write(path("source"), include_str!("gfx942.s")).unwrap();
        tool(
            "llvm-mc-19",
            &[
                "-triple=amdgcn-amd-amdhsa",
                "-mcpu=gfx942",
                "-filetype=obj",
                "-o",
                &path("object"),
                &path("source"),
            ],
        );
        tool(
            "llvm-objcopy-19",
            &[
                "-O",
                "binary",
                "--only-section=.text",
                &path("object"),
                &path("code"),
            ],
        );
        let code = fs::read(path("code")).unwrap();
        let words: Vec<u8> = CODE.iter().flat_map(|word| word.to_le_bytes()).collect();
        // The assembler may pad the section.
        assert_eq!(code[..words.len()], words);
        fs::remove_dir_all(&directory).unwrap();
    }
}
