//! Placement of tables in a device's memory.

use super::{ALIGNMENT, Content, DeviceTable, Program, Task};

impl Program {
    /// Places every table, in this order: constants, tables that are kept, tables that the host fills, and scratch.
    /// Scratch is reused once the last reader of a table is done.
    pub(super) fn place(&mut self, tasks: &[Task]) {
        let mut message = vec![false; self.tables.len()];
        for &table in &self.messages {
            message[table] = true;
        }
        let mut end = 0;
        for &table in &self.messages {
            if self.tables[table].scope.is_empty() {
                self.tables[table].at = end;
                end += 1;
            }
        }
        self.constants = 0..end;
        let keep_messages = self.room.keep_messages;
        let mut result = vec![false; self.tables.len()];
        self.results.iter().for_each(|&table| result[table] = true);
        let stays = |table: usize, own: &DeviceTable| {
            let kept = message[table] && (keep_messages || own.content != Content::Made);
            result[table] || (kept && !own.scope.is_empty())
        };
        let filled = |table: usize, own: &DeviceTable| !message[table] && own.content != Content::Made;
        let mut put = |tables: &mut [DeviceTable], which: &dyn Fn(usize, &DeviceTable) -> bool| {
            for (index, table) in tables.iter_mut().enumerate() {
                if which(index, table) {
                    table.at = end.next_multiple_of(ALIGNMENT);
                    end = table.at + table.extent();
                }
            }
            end
        };
        let kept = put(&mut self.tables, &stays);
        self.kept = 0..kept;
        let fixed = put(&mut self.tables, &filled).next_multiple_of(ALIGNMENT);
        let mut scratch = Scratch { free: vec![(fixed, u64::MAX - fixed)], end: fixed };
        let mut alive: Vec<(u32, u64, u64)> = Vec::new();
        let mut level = 0;
        for task in tasks {
            if task.level > level {
                level = task.level;
                // tables that were last read in an earlier level are freed
                alive.retain(|&(last, at, size)| {
                    if last < level {
                        scratch.give_back(at, size);
                    }
                    last >= level
                });
            }
            for output in task.made() {
                let table = &mut self.tables[output];
                if table.scope.is_empty() && message[output] || stays(output, table) {
                    continue;
                }
                let size = table.extent().next_multiple_of(ALIGNMENT);
                table.at = scratch.take(size);
                alive.push((table.last.max(level), table.at, size));
            }
        }
        self.entries = scratch.end;
    }
}

/// An allocator of scratch memory, used before anything runs.
struct Scratch {
    /// Free pieces as pairs of start and size, sorted by start.
    free: Vec<(u64, u64)>,
    /// The end of all memory that was ever allocated.
    end: u64,
}

impl Scratch {
    /// Allocates the start of the first piece that is large enough; the last piece is unlimited.
    fn take(&mut self, size: u64) -> u64 {
        let place = self.free.iter().position(|&(_, free)| free >= size).unwrap_or(self.free.len() - 1);
        let (at, free) = self.free[place];
        if free == size {
            let _ = self.free.remove(place);
        } else {
            self.free[place] = (at + size, free - size);
        }
        self.end = self.end.max(at + size);
        at
    }

    fn give_back(&mut self, at: u64, size: u64) {
        let place = self.free.partition_point(|&(start, _)| start < at);
        self.free.insert(place, (at, size));
        if let Some(&(next, more)) = self.free.get(place + 1)
            && at + size == next
        {
            self.free[place].1 += more;
            let _ = self.free.remove(place + 1);
        }
        if place > 0 && self.free[place - 1].0 + self.free[place - 1].1 == at {
            self.free[place - 1].1 += self.free[place].1;
            let _ = self.free.remove(place);
        }
    }
}
