// SPDX-License-Identifier: GPL-2.0-only

//! Sorting in place: every order of a few items, and many items.

use crate::fake::{expect, failed};
use kernel::prelude::*;
use kfd::kernel::sort::sort_by_key;

#[kunit_tests(amd_gpreempt_sort)]
mod tests {
    use super::*;

    #[test]
    fn every_order_of_a_few_is_sorted() -> Result {
        // Each number is six digits to the base six, with and without repetition.
        for number in 0..6usize.pow(6) {
            let mut left = number;
            let mut items = [0; 6];
            for item in &mut items {
                (*item, left) = (left % 6, left / 6);
            }
            let mut sorted = items;
            sort_by_key(&mut sorted, |item| *item);
            let count = |of: &[usize; 6], wanted| of.iter().filter(|&&is| is == wanted).count();
            let same = (0..6).all(|wanted| count(&items, wanted) == count(&sorted, wanted));
            if !sorted.is_sorted() || !same {
                return failed(fmt!("{items:?} becomes {sorted:?}"));
            }
        }
        Ok(())
    }

    #[test]
    fn many_are_sorted_by_their_key_alone() -> Result {
        let mut items = KVec::new();
        let mut random = 1u32;
        for at in 0..1000u32 {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            items.push((random >> 16, at), GFP_KERNEL)?;
        }
        sort_by_key(&mut items, |item| core::cmp::Reverse(item.0));
        expect(
            items.is_sorted_by_key(|item| core::cmp::Reverse(item.0)),
            true,
        )?;
        let sum: u32 = items.iter().map(|item| item.1).sum();
        expect(sum, 1000 * 999 / 2)?;
        for length in 0..3 {
            sort_by_key(items.get_mut(..length).ok_or(EINVAL)?, |item| item.1);
        }
        Ok(())
    }
}
