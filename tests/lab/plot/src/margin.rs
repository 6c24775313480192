// SPDX-License-Identifier: GPL-2.0-only
//! Labels in a margin, each as near to its place as the others allow.

/// Places at least `gap` apart between `low` and `high`, in the order of what is
/// wanted, which ascends. Neighbours that want the same place share the way.
pub fn spread(wanted: &[f64], gap: f64, low: f64, high: f64) -> Vec<f64> {
    // Neighbours that touch: their common middle and how many they are.
    let mut groups: Vec<(f64, usize)> = Vec::new();
    for &place in wanted {
        groups.push((place, 1));
        while let [.., before, last] = groups[..] {
            let together = before.1 + last.1;
            if last.0 - before.0 >= gap * together as f64 / 2.0 {
                break;
            }
            let middle = (before.0 * before.1 as f64 + last.0 * last.1 as f64) / together as f64;
            groups.truncate(groups.len() - 2);
            groups.push((middle, together));
        }
    }
    let mut places: Vec<f64> = groups
        .iter()
        .flat_map(|&(middle, count)| {
            let first = middle - gap * (count - 1) as f64 / 2.0;
            (0..count).map(move |at| first + gap * at as f64)
        })
        .collect();
    let mut limit = high;
    for place in places.iter_mut().rev() {
        *place = place.min(limit);
        limit = *place - gap;
    }
    let mut limit = low;
    for place in &mut places {
        *place = place.max(limit);
        limit = *place + gap;
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_with_room_stay_where_they_belong() {
        assert_eq!(spread(&[10.0, 40.0], 12.0, 0.0, 100.0), [10.0, 40.0]);
        assert!(spread(&[], 12.0, 0.0, 100.0).is_empty());
    }

    #[test]
    fn labels_that_want_the_same_place_share_the_way() {
        assert_eq!(spread(&[50.0, 50.0], 10.0, 0.0, 100.0), [45.0, 55.0]);
        assert_eq!(
            spread(&[50.0, 51.0, 52.0], 10.0, 0.0, 100.0),
            [41.0, 51.0, 61.0]
        );
    }

    #[test]
    fn labels_stay_in_the_margin() {
        assert_eq!(spread(&[0.0, 1.0], 10.0, 0.0, 100.0), [0.0, 10.0]);
        assert_eq!(spread(&[99.0, 100.0], 10.0, 0.0, 100.0), [90.0, 100.0]);
    }

    #[test]
    fn any_labels_keep_their_distance() {
        let wanted = [1.0, 2.0, 3.0, 30.0, 31.0, 60.0, 99.0, 99.5, 100.0];
        let places = spread(&wanted, 9.0, 0.0, 100.0);
        assert_eq!(places.len(), wanted.len());
        assert!(places.windows(2).all(|two| two[1] - two[0] > 8.999));
        assert!(places[0] >= 0.0 && places[8] <= 100.0);
    }
}
