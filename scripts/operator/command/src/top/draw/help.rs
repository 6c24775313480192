// SPDX-License-Identifier: GPL-2.0-only
//! What the keys and the columns mean.

use ratatui::text::Line;

use crate::top::text::cut;

const HELP: &str = "
Up Down PgUp PgDn Home End   select a line        Tab   queues or processes
Left Right   sort by another column               i     the other way round
/     filter by program, pid, cgroup, GPU, state  Esc   all lines again
p     pause and go on                             + -   look less or more often
m     set the mode                                r     the rules
a     add a rule for the selected process: Tab names it by pid, program or
      cgroup, Up changes between a priority and exempt
d     delete the rule that applies to it, or the selected one among the rules
q     quit                                        ^Z    leave it for a while
Nothing is written before a question is answered with y.

EFF      the effective priority, after rules; 15 is the most urgent
TIME     the last 5 looks: # ran, w waited, s was stopped, . did nothing
STATE    * takes no part; of a process, how many of its queues are
         running, waiting, stopped, being started (b) or held
STOPPED  how long in all, with the stop that goes on
PREEMPT  from the beginning of an inversion until queues are mapped again,
         the mean since the look before, and its course on the right
In the mode observe, stopped says what would be; nothing is touched.";

pub fn lines(width: usize) -> Vec<Line<'static>> {
    let all = HELP.trim_start_matches('\n').lines();
    all.map(|line| Line::raw(cut(line, width))).collect()
}
