// SPDX-License-Identifier: GPL-2.0-only
//! What follows from an operation alone, worked out once for all operations: names are too
//! long to be taken apart for each instruction.

use crate::code::Operation;

pub struct ByOperation<T>(Vec<Option<T>>);

impl<T: Copy> ByOperation<T> {
    pub fn new(of: fn(Operation) -> Option<T>) -> Self {
        Self(
            Operation::ALL
                .iter()
                .map(|operation| of(*operation))
                .collect(),
        )
    }

    pub fn get(&self, operation: Operation) -> Option<T> {
        *self.0.get(operation as usize)?
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_operation_has_its_own() {
        let all = ByOperation::new(|of| Some(of).filter(|of| of.name().starts_with("v_")));
        for operation in Operation::ALL {
            let is_vector = operation.name().starts_with("v_");
            assert_eq!(all.get(*operation), is_vector.then_some(*operation));
        }
    }
}
