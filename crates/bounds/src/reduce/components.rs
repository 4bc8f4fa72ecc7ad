//! Connected components of the constraint graph, whose edges join the variables of each function.

use crate::error::Error;
use crate::stop::Stop;

/// Returns the variables `0..n` of each component, ascending; components are sorted by their first variable (union-find
/// with path halving, the smaller index as root).
pub(super) fn groups<'a>(
    n: usize,
    scopes: impl Iterator<Item = &'a [u32]>,
    stop: &Stop,
) -> Result<Vec<Vec<u32>>, Error> {
    let mut parent: Vec<u32> = (0..n as u32).collect();
    let find = |parent: &mut Vec<u32>, mut v: u32| {
        while parent[v as usize] != v {
            let up = parent[parent[v as usize] as usize];
            parent[v as usize] = up;
            v = up;
        }
        v
    };
    for scope in stop.each(scopes) {
        let scope = scope?;
        for pair in scope.windows(2) {
            let (a, b) = (find(&mut parent, pair[0]), find(&mut parent, pair[1]));
            parent[a.max(b) as usize] = a.min(b);
        }
    }
    let mut group = vec![u32::MAX; n];
    let mut groups: Vec<Vec<u32>> = Vec::new();
    for v in stop.each(0..n as u32) {
        let v = v?;
        let root = find(&mut parent, v) as usize;
        if group[root] == u32::MAX {
            group[root] = groups.len() as u32;
            groups.push(Vec::new());
        }
        groups[group[root] as usize].push(v);
    }
    Ok(groups)
}
