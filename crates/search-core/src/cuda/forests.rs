//! The layout of forests in device memory.

use super::Units;
use crate::forest::{Forest, NO_PARENT};
use crate::value_tables::ValueTables;

/// The forests of tree moves: first levels, levels, nodes and children, evaluations per move, members.
pub(super) struct Forests {
    pub lists: [Vec<u32>; 4],
    pub ratings: Vec<u64>,
    pub members: Vec<u8>,
    pub nodes_of_largest: u32,
}

impl Forests {
    pub fn new(tables: &ValueTables, forests: &[Forest], units: Units) -> Forests {
        let (mut of_forest, mut levels, mut nodes, mut children) = (vec![], vec![], vec![], vec![]);
        let (mut ratings, mut members) = (vec![], vec![]);
        for forest in forests {
            of_forest.push(levels.len() as u32);
            let first = nodes.len() as u32 / 8;
            // the last level of a forest ends where the first one of the next forest begins
            levels.extend(forest.levels[..forest.levels.len() - 1].iter().map(|&level| first + level));
            let mut own: Vec<Vec<u32>> = vec![Vec::new(); forest.nodes.len()];
            for (place, node) in forest.nodes.iter().enumerate() {
                if node.parent != NO_PARENT {
                    own[node.parent as usize].push(place as u32);
                }
            }
            for (node, own) in forest.nodes.iter().zip(&own) {
                let strides = [node.up_stride, node.down_stride].map(|stride| stride / units.entries);
                nodes.extend([node.variable, node.parent]);
                // a root has no edge
                if node.parent == NO_PARENT {
                    nodes.extend([0; 4]);
                } else {
                    nodes.extend([units.at(node.up), strides[0], units.at(node.down), strides[1]]);
                }
                nodes.extend([children.len() as u32, own.len() as u32]);
                children.extend_from_slice(own);
            }
            ratings.push(forest.ratings(tables));
            members.extend(forest.member.iter().map(|&member| u8::from(member)));
        }
        of_forest.push(levels.len() as u32);
        levels.push(nodes.len() as u32 / 8);
        let nodes_of_largest = forests.iter().map(|forest| forest.nodes.len() as u32).max().unwrap_or(0);
        Forests { lists: [of_forest, levels, nodes, children], ratings, members, nodes_of_largest }
    }
}
