// SPDX-License-Identifier: GPL-2.0-only

//! How many waves a launch has, by the words of its packet.

use kernel::prelude::*;
use kfd::look::grid::waves_on_first_die;
use kfd::look::grid::GRID_WORDS;

/// The words of a dispatch of kernels in three dimensions.
fn dispatch(dimensions: u32, group: [u32; 3], grid: [u32; 3]) -> [u32; GRID_WORDS] {
    let [x, y, z] = group;
    [dimensions << 16, x | y << 16, z, grid[0], grid[1], grid[2]]
}

#[kunit_tests(amd_gpreempt_grid)]
mod tests {
    use super::*;

    #[test]
    fn a_grid_has_the_waves_of_its_workgroups_and_parts_count_as_whole() {
        for (group, grid, waves) in [
            ([64, 1, 1], [64, 1, 1], 1),
            ([64, 1, 1], [65, 1, 1], 2),
            ([65, 1, 1], [65, 1, 1], 2),
            ([1, 1, 1], [100, 1, 1], 100),
            ([16, 16, 1], [64, 32, 1], 32),
            ([8, 8, 8], [16, 16, 9], 64),
        ] {
            assert_eq!(waves_on_first_die(dispatch(3, group, grid), 1), Some(waves));
        }
    }

    #[test]
    fn the_first_die_has_its_part_of_the_workgroups() {
        let words = dispatch(1, [256, 1, 1], [256 * 17, 1, 1]);
        for (dies, waves) in [(0, 68), (1, 68), (8, 12), (17, 4), (100, 4)] {
            assert_eq!(waves_on_first_die(words, dies), Some(waves));
        }
    }

    #[test]
    fn words_that_are_no_dispatch_are_not_taken_for_one() {
        // Nothing, a barrier, and one that waits for a value.
        for words in [
            [0; GRID_WORDS],
            [3, 0, 7, 7, 7, 7],
            [2 << 16, 0, 7, 7, 7, 7],
        ] {
            assert_eq!(waves_on_first_die(words, 1), None);
        }
        assert_eq!(
            waves_on_first_die(dispatch(4, [1, 1, 1], [1, 1, 1]), 1),
            None
        );
        assert_eq!(
            waves_on_first_die(dispatch(2, [1, 1, 1], [1, 0, 1]), 1),
            None
        );
    }

    #[test]
    fn no_words_make_it_overflow() {
        assert_eq!(
            waves_on_first_die([u32::MAX; GRID_WORDS], 1),
            Some(u32::MAX)
        );
        let most = dispatch(3, [1, 1, 1], [u32::MAX; 3]);
        assert_eq!(waves_on_first_die(most, 1), Some(u32::MAX));
    }
}
