// SPDX-License-Identifier: GPL-2.0-only
//! Which part of the picture has how many lines.

/// Lines of each part, from the top to the bottom. Together they are the height.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    pub title: u16,
    pub nodes: u16,
    pub head: u16,
    pub body: u16,
    pub detail: u16,
    pub foot: u16,
}

/// From how many lines on a part is there, besides title, foot and table.
const FOR_ONE_DETAIL: u16 = 6;
const FOR_ALL_DETAILS: u16 = 14;
const FOR_NODES: u16 = 8;

/// Shares out a height, where the foot and the nodes want so many lines.
pub fn layout(height: u16, foot: usize, nodes: usize) -> Layout {
    let lines = |wanted: usize, most: u16| u16::try_from(wanted).unwrap_or(most).min(most);
    let foot = lines(foot.max(1), height);
    let mut left = height - foot;
    let mut take = |wanted: u16| {
        let taken = wanted.min(left);
        left -= taken;
        taken
    };
    let title = take(1);
    let room = height - foot - title;
    let detail = match room {
        _ if room >= FOR_ALL_DETAILS => take(3),
        _ if room >= FOR_ONE_DETAIL => take(1),
        _ => 0,
    };
    let nodes = match room {
        _ if room >= FOR_NODES => take(lines(nodes, room / 3)),
        _ => 0,
    };
    let head = if room >= 2 { take(1) } else { 0 };
    Layout {
        title,
        nodes,
        head,
        body: left,
        detail,
        foot,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_fill_every_height() {
        for height in 0..60 {
            for foot in [0, 1, 3, 80] {
                for nodes in [0, 2, 65, usize::MAX] {
                    let all = layout(height, foot, nodes);
                    let sum = all.title + all.nodes + all.head + all.body + all.detail + all.foot;
                    assert_eq!(sum, height, "{all:?}");
                }
            }
        }
    }

    #[test]
    fn a_usual_terminal_has_room_for_everything() {
        let all = layout(24, 1, 2);
        assert_eq!((all.nodes, all.detail, all.body), (2, 3, 16));
        let crowded = layout(24, 1, 65);
        assert_eq!((crowded.nodes, crowded.body), (7, 11));
    }

    #[test]
    fn the_foot_comes_first_then_the_title_then_the_table() {
        assert_eq!(layout(1, 1, 2).foot, 1);
        assert_eq!(layout(1, 0, 2).foot, 1, "there always is one");
        let two = layout(2, 1, 2);
        assert_eq!((two.title, two.foot), (1, 1));
        let three = layout(3, 1, 2);
        assert_eq!((three.title, three.body, three.foot), (1, 1, 1));
        let five = layout(5, 1, 2);
        assert_eq!((five.head, five.body, five.nodes), (1, 2, 0));
    }
}
