//! The contents of blocks: each is one [`Block`] in postcard's encoding.

use crate::model::{Agents, Costs, Decimal, Entry, Notation, Numbers, Scale, Slice, SparseTable, Stated, Table, Units};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

#[derive(Serialize, Deserialize)]
pub(super) enum Block<'b> {
    Head(Head),
    Variables(#[serde(borrow)] Vec<VariableRecord<'b>>),
    Functions(#[serde(borrow)] Vec<FunctionRecord<'b>>),
    Names(#[serde(borrow)] Vec<NameRecord<'b>>),
    Agents(AgentsRecord),
    Numbers(Vec<NumbersRecord>),
    Reading(ReadingRecord),
    /// The last block, with the numbers of variables and functions.
    End(Totals),
}

#[derive(Clone, Copy, Serialize, Deserialize)]
pub(super) struct Head {
    pub top: i64,
    pub decimals: u32,
    pub maximise: bool,
    pub rounded: u64,
    pub notation: NotationRecord,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
pub(super) enum NotationRecord {
    Indices,
    Mpe,
    Names,
}

#[derive(Serialize, Deserialize)]
pub(super) struct VariableRecord<'b> {
    pub domain: u32,
    #[serde(borrow)]
    pub name: Option<&'b str>,
    #[serde(borrow)]
    pub values: Option<Vec<&'b str>>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct FunctionRecord<'b> {
    pub scope: Cow<'b, [u32]>,
    #[serde(borrow)]
    pub body: Body<'b>,
}

#[derive(Serialize, Deserialize)]
pub(super) enum Body<'b> {
    /// A dense table with entries of 1, 2, 4 or 8 bytes, the last variable of the scope varying fastest.
    Dense {
        width: u8,
        #[serde(borrow, with = "bytes")]
        entries: Cow<'b, [u8]>,
    },
    Sparse {
        default: i64,
        tuples: Cow<'b, [u32]>,
        costs: Cow<'b, [i64]>,
    },
    /// The table of an earlier function, given by its index among the functions with tables.
    Like(u32),
    /// A global function: its keyword and parameters as in `.wcsp`. Costs from `limit` on are forbidden.
    Global {
        limit: i64,
        keyword: Cow<'b, str>,
        parameters: Cow<'b, str>,
    },
}

#[derive(Serialize, Deserialize)]
pub(super) struct NameRecord<'b> {
    pub function: u32,
    pub name: &'b str,
}

#[derive(Serialize, Deserialize)]
pub(super) struct AgentsRecord {
    pub names: Vec<String>,
    pub owner: Vec<u32>,
    pub hosts: Vec<(u32, u32)>,
    pub initial: Vec<Option<u32>>,
}

/// The file's own numbers for a function.
#[derive(Serialize, Deserialize)]
pub(super) enum NumbersRecord {
    Own {
        doubles: Vec<f64>,
        decimals: Vec<DecimalRecord>,
    },
    /// The numbers of an earlier function, given by its index.
    Like(u32),
}

#[derive(Clone, Copy, Serialize, Deserialize)]
pub(super) struct DecimalRecord {
    pub entry: u64,
    pub digits: u64,
    pub exponent: i64,
}

#[derive(Serialize, Deserialize)]
pub(super) struct ReadingRecord {
    pub scale: Scale,
    pub precision: Option<u32>,
    pub witness: Option<Vec<u32>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Totals {
    pub variables: u64,
    pub functions: u64,
}

impl Head {
    pub fn units(&self) -> Units {
        Units { decimals: self.decimals, maximise: self.maximise, rounded: self.rounded }
    }
}

impl From<Notation> for NotationRecord {
    fn from(notation: Notation) -> Self {
        match notation {
            Notation::Indices => NotationRecord::Indices,
            Notation::Mpe => NotationRecord::Mpe,
            Notation::Names => NotationRecord::Names,
        }
    }
}

impl From<NotationRecord> for Notation {
    fn from(notation: NotationRecord) -> Self {
        match notation {
            NotationRecord::Indices => Notation::Indices,
            NotationRecord::Mpe => Notation::Mpe,
            NotationRecord::Names => Notation::Names,
        }
    }
}

impl<'b> From<&'b Table> for Body<'b> {
    fn from(table: &'b Table) -> Self {
        let wide = |bytes: Vec<u8>, width| Body::Dense { width, entries: bytes.into() };
        match table {
            Table::Dense(costs) => match costs.slice() {
                Slice::U8(entries) => Body::Dense { width: 1, entries: entries.into() },
                Slice::U16(entries) => wide(entries.iter().flat_map(|entry| entry.to_le_bytes()).collect(), 2),
                Slice::U32(entries) => wide(entries.iter().flat_map(|entry| entry.to_le_bytes()).collect(), 4),
                Slice::Wide(entries) => wide(entries.iter().flat_map(|entry| entry.to_le_bytes()).collect(), 8),
            },
            Table::Sparse(table) => Body::Sparse {
                default: table.default_cost(),
                tuples: table.tuples().into(),
                costs: table.costs().into(),
            },
        }
    }
}

/// Decodes the entries of a dense table; `None` if the width is unknown or does not divide the length.
pub(super) fn dense(width: u8, bytes: &[u8]) -> Option<Costs> {
    fn costs<E: Entry, const N: usize>(bytes: &[u8], entry: fn([u8; N]) -> E) -> Option<Costs> {
        let (entries, rest) = bytes.as_chunks::<N>();
        rest.is_empty().then(|| entries.iter().map(|&bytes| entry(bytes).cost()).collect())
    }
    match width {
        1 => costs(bytes, u8::from_le_bytes),
        2 => costs(bytes, u16::from_le_bytes),
        4 => costs(bytes, u32::from_le_bytes),
        8 => costs(bytes, i64::from_le_bytes),
        _ => None,
    }
}

/// Returns a sparse table; `None` if the numbers of values and costs do not match.
pub(super) fn sparse(arity: usize, default: i64, tuples: Vec<u32>, costs: Vec<i64>) -> Option<Table> {
    let fits = Some(tuples.len()) == costs.len().checked_mul(arity);
    fits.then(|| Table::Sparse(SparseTable::new(arity, default, tuples, costs).into()))
}

impl From<&Numbers> for NumbersRecord {
    fn from(numbers: &Numbers) -> Self {
        let decimals = (0..).zip(numbers.iter()).filter_map(|(entry, stated)| match stated {
            Stated::Double(_) => None,
            Stated::Decimal(Decimal { digits, exponent }) => Some(DecimalRecord { entry, digits, exponent }),
        });
        let decimals = if numbers.as_doubles().is_some() { Vec::new() } else { decimals.collect() };
        NumbersRecord::Own { doubles: numbers.doubles().to_vec(), decimals }
    }
}

/// Decodes a record of numbers; `None` unless the indices of decimals ascend and are in range, and their digits are not
/// 0.
pub(super) fn numbers(doubles: Vec<f64>, decimals: &[DecimalRecord]) -> Option<Numbers> {
    let ascend = decimals.is_sorted_by(|one, next| one.entry < next.entry);
    let fits = decimals.iter().all(|decimal| decimal.entry < doubles.len() as u64 && decimal.digits > 0);
    let decimal =
        |record: &DecimalRecord| (record.entry as usize, Decimal { digits: record.digits, exponent: record.exponent });
    (ascend && fits).then(|| Numbers::new(doubles, decimals.iter().map(decimal).collect()))
}

impl From<&Agents> for AgentsRecord {
    fn from(Agents { names, owner, hosts, initial }: &Agents) -> Self {
        AgentsRecord {
            names: names.iter().map(|name| name.to_string()).collect(),
            owner: owner.clone(),
            hosts: hosts.clone(),
            initial: initial.clone(),
        }
    }
}

impl AgentsRecord {
    /// Returns the agents of variables with these domain sizes; `None` if the record refers to an agent, variable or
    /// value that does not exist.
    pub fn agents(self, domains: &[u32]) -> Option<Agents> {
        let AgentsRecord { names, owner, hosts, initial } = self;
        let (agents, variables) = (names.len() as u32, domains.len());
        let fits = owner.len() == variables
            && initial.len() == variables
            && owner.iter().all(|&agent| agent < agents)
            && hosts.iter().all(|&(agent, variable)| agent < agents && (variable as usize) < variables)
            && initial.iter().zip(domains).all(|(value, &domain)| value.is_none_or(|value| value < domain));
        let names = names.into_iter().map(String::into_boxed_str).collect();
        fits.then_some(Agents { names, owner, hosts, initial })
    }
}

/// Serialises bytes that are borrowed from the block.
mod bytes {
    use serde::{Deserialize, Deserializer, Serializer};
    use std::borrow::Cow;

    pub fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(bytes)
    }

    pub fn deserialize<'de: 'b, 'b, D: Deserializer<'de>>(deserializer: D) -> Result<Cow<'b, [u8]>, D::Error> {
        <&'de [u8]>::deserialize(deserializer).map(Cow::Borrowed)
    }
}
