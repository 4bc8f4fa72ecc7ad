//! The steps of a certificate, each accepted only if the current tables show that it is valid.

use super::state::{Function, State, place, spread};
use super::tables::{self, axes, combinations, sum, sums};
use super::tuning::MOST_ENTRIES;
use crate::certificate::Step;
use crate::model::{Cost, FORBIDDEN, Table};

impl State {
    /// Makes a step; returns an error if it is not valid.
    pub(super) fn step(&mut self, step: &Step) -> Result<(), String> {
        if let Step::Move { scope, variable, amounts } = step {
            return self.shift(scope, *variable, amounts);
        }
        self.settle();
        if self.closed {
            return Ok(());
        }
        match step {
            Step::Limit(limit) => self.set_limit(*limit),
            Step::Forbid => {
                self.forbid();
                Ok(())
            }
            Step::Unsupported { scope, variable, values } => self.unsupported(scope, *variable, values),
            Step::TooDear { variable, values } => self.too_dear(*variable, values),
            Step::Dominated { variable, pairs } => self.dominated(*variable, pairs),
            Step::Eliminate { variable, over } => self.eliminate(*variable, over),
            Step::Substitute { variable, by, image } => self.substitute(*variable, *by, image),
            Step::Merge { variables, pairs } => self.merge(*variables, pairs),
            Step::Separate { scope, variable, shares } => self.separate(scope, *variable, shares),
            Step::Scale(bits) => self.scale(*bits),
            Step::Graph(graph) => self.join(graph),
            Step::Lemma(lemma) => self.lemma(lemma),
            Step::ByLemma { variable, values } => self.by_lemma(*variable, values),
            Step::Move { .. } => Ok(()),
        }?;
        self.settle();
        Ok(())
    }

    /// Returns an error for unknown variables.
    pub(super) fn present(&self, v: u32) -> Result<(), String> {
        match self.values.get(v as usize) {
            Some(values) if !values.is_empty() => Ok(()),
            _ => Err(format!("there is no variable {v}")),
        }
    }

    /// Returns the position of a value among the remaining ones.
    pub(super) fn value(&self, v: u32, value: u32) -> Result<usize, String> {
        self.values[v as usize].binary_search(&value).map_err(|_| format!("variable {v} has no value {value}"))
    }

    /// Returns the function over a scope; a zero function if there is none.
    fn over(&self, scope: &[u32]) -> Result<Function, String> {
        ascending(scope)?.iter().try_for_each(|&v| self.present(v))?;
        if scope.len() < 2 {
            return Err(format!("a function reads two variables and more, not {scope:?}"));
        }
        let zero = || Function { scope: scope.into(), table: tables::zero(scope.len()) };
        Ok(self.function(scope).cloned().unwrap_or_else(zero))
    }

    fn unsupported(&mut self, scope: &[u32], v: u32, values: &[u32]) -> Result<(), String> {
        let function = self.over(scope)?;
        let unary: Vec<Vec<Cost>> = scope.iter().map(|&u| self.unary[u as usize].clone()).collect();
        let least = tables::least(&function.table, &self.sizes(scope), place(scope, v)?, Some(&unary));
        self.all_too_dear(v, values, &least)?;
        for &value in values {
            let value = self.value(v, value)?;
            self.unary[v as usize][value] = FORBIDDEN;
        }
        Ok(())
    }

    fn too_dear(&mut self, v: u32, values: &[u32]) -> Result<(), String> {
        self.present(v)?;
        let least = self.least_totals(v)?;
        self.all_too_dear(v, values, &least)?;
        self.remove(v, values)
    }

    /// Returns the unary cost of each value plus the least cost of each function of the variable.
    pub(super) fn least_totals(&self, v: u32) -> Result<Vec<Cost>, String> {
        let mut least = self.unary[v as usize].clone();
        for function in self.functions_of(v) {
            let own = tables::least(&function.table, &self.sizes(&function.scope), place(&function.scope, v)?, None);
            least.iter_mut().zip(own).for_each(|(total, least)| *total = sum(*total, least));
        }
        Ok(least)
    }

    fn all_too_dear(&self, v: u32, values: &[u32], least: &[Cost]) -> Result<(), String> {
        let dear = self.dear();
        for &value in values {
            let least = least[self.value(v, value)?];
            if least < dear {
                return Err(format!("value {value} of variable {v} costs {least} at least, not {dear}"));
            }
        }
        Ok(())
    }

    fn remove(&mut self, v: u32, values: &[u32]) -> Result<(), String> {
        let mut kept = vec![true; self.values[v as usize].len()];
        for &value in values {
            if !std::mem::replace(&mut kept[self.value(v, value)?], false) {
                return Err(format!("value {value} of variable {v} leaves twice"));
            }
        }
        let kept: Vec<usize> = (0..kept.len()).filter(|&value| kept[value]).collect();
        self.keep_values(v, &kept)
    }

    /// Checks that each value costs at least as much as its dominating value in every context below the limit: the
    /// differences are bounded function by function (Goldstein 1994).
    fn dominated(&mut self, v: u32, pairs: &[(u32, u32)]) -> Result<(), String> {
        self.present(v)?;
        let views = self.functions_of(v).map(|function| {
            let sizes = self.sizes(&function.scope);
            let inner: usize = sizes[place(&function.scope, v)? + 1..].iter().product();
            Ok((tables::dense(&function.table, &sizes)?, inner))
        });
        let views = views.collect::<Result<Vec<_>, String>>()?;
        let views: Vec<_> = views.iter().map(|(costs, inner)| (costs.wide(), *inner)).collect();
        let (unary, size) = (&self.unary[v as usize], self.values[v as usize].len());
        let mut gone = vec![false; size];
        for &(lost, by) in pairs {
            let (a, b) = (self.value(v, lost)?, self.value(v, by)?);
            if a == b || gone[a] || gone[b] || unary[b] >= FORBIDDEN {
                return Err(format!("value {by} of variable {v} cannot dominate {lost}"));
            }
            let dear = self.dear().saturating_sub(unary[a]);
            let mut more = Some(i128::from(unary[b]) - i128::from(unary[a]));
            for (costs, inner) in &views {
                let row = |block: usize, value: usize| &costs[(block * size + value) * inner..][..*inner];
                let blocks = 0..costs.len() / (size * inner);
                let contexts = blocks.flat_map(|block| row(block, a).iter().zip(row(block, b)));
                // if every context reaches the limit, the value can be removed in any case
                let worst = contexts
                    .filter(|&(&a, _)| a < dear)
                    .map(|(&a, &b)| if b >= FORBIDDEN { i128::MAX } else { i128::from(b) - i128::from(a) })
                    .max();
                more = match (more, worst) {
                    (Some(_), Some(i128::MAX)) => {
                        return Err(format!("value {by} of variable {v} is forbidden where {lost} is not"));
                    }
                    (Some(more), Some(worst)) => Some(more + worst),
                    _ => None,
                };
            }
            if more.is_some_and(|more| more > 0) {
                return Err(format!("value {by} of variable {v} may cost more than {lost}"));
            }
            gone[a] = true;
        }
        let kept: Vec<usize> = (0..size).filter(|&value| !gone[value]).collect();
        self.keep_values(v, &kept)
    }

    fn eliminate(&mut self, v: u32, over: &[u32]) -> Result<(), String> {
        self.present(v)?;
        let unary = self.unary[v as usize].clone();
        if let [cost] = unary[..] {
            self.pay(cost);
            for function in self.take_functions_of(v) {
                let others: Vec<usize> = (0..function.scope.len()).filter(|&k| function.scope[k] != v).collect();
                let table = tables::rearrange(&function.table, &self.sizes(&function.scope), &others);
                self.add(others.iter().map(|&k| function.scope[k]).collect(), table)?;
            }
            self.leave(v);
            return Ok(());
        }
        let dear = self.dear();
        let mut scope = ascending(over)?.to_vec();
        over.iter().try_for_each(|&u| self.present(u))?;
        if over.contains(&v) {
            return Err(format!("variable {v} is no neighbour of its own"));
        }
        scope.push(v);
        let sizes = self.sizes(&scope);
        if combinations(&sizes) > MOST_ENTRIES {
            return Err(format!("variable {v} would be eliminated over {} combinations", combinations(&sizes)));
        }
        let mut joint: Vec<Cost> = unary.iter().copied().cycle().take(combinations(&sizes) as usize).collect();
        for function in self.take_functions_of(v) {
            let own = self.sizes(&function.scope);
            let (costs, own_axes) = (tables::dense(&function.table, &own)?, axes(&own));
            if let Some(stranger) = function.scope.iter().find(|u| !scope.contains(u)) {
                return Err(format!("variable {stranger} is a neighbour of variable {v} too"));
            }
            // the function does not read this variable
            let along = |(u, &size): (&u32, &usize)| {
                function.scope.binary_search(u).map_or_else(|_| vec![0; size], |k| own_axes[k].clone())
            };
            let spread: Vec<Vec<usize>> = scope.iter().zip(&sizes).map(along).collect();
            let terms = tables::gather(&costs.wide(), &spread);
            joint.iter_mut().zip(terms).for_each(|(total, term)| *total = sum(*total, term));
        }
        let least = joint.chunks_exact(unary.len()).map(|row| row.iter().copied().fold(FORBIDDEN, Cost::min));
        let least = least.map(|cost| if cost >= dear { FORBIDDEN } else { cost }).collect();
        self.leave(v);
        self.add(over.into(), Table::dense(least))
    }

    fn substitute(&mut self, y: u32, x: u32, image: &[u32]) -> Result<(), String> {
        self.present(x)?;
        self.present(y)?;
        let pair = if x < y { [x, y] } else { [y, x] };
        let sizes = self.sizes(&pair);
        let costs = tables::dense(&self.over(&pair)?.table, &sizes)?;
        let (along, dear) = (axes(&sizes), self.dear());
        let (of_x, of_y) = if x < y { (&along[0], &along[1]) } else { (&along[1], &along[0]) };
        let (x_unary, y_unary) = (&self.unary[x as usize], &self.unary[y as usize]);
        if image.len() != x_unary.len() {
            return Err(format!("variable {x} has {} values, not {}", x_unary.len(), image.len()));
        }
        let image = image.iter().map(|&value| self.value(y, value)).collect::<Result<Vec<usize>, String>>()?;
        for (a, &only) in image.iter().enumerate() {
            let total = |b: usize| sum(sum(costs.get(of_x[a] + of_y[b]), x_unary[a]), y_unary[b]);
            if let Some(b) = (0..y_unary.len()).find(|&b| b != only && total(b) < dear) {
                let (a, b) = (self.values[x as usize][a], self.values[y as usize][b]);
                return Err(format!("value {a} of variable {x} allows value {b} of variable {y}"));
            }
        }
        let more: Vec<Cost> = image.iter().map(|&b| y_unary[b]).collect();
        self.pay_for_values(x, &more);
        for Function { scope, table } in self.take_functions_of(y) {
            let sizes = self.sizes(&scope);
            let (costs, along) = (tables::dense(&table, &sizes)?, axes(&sizes));
            let mut named: Vec<(u32, Vec<usize>)> = scope.iter().copied().zip(along).collect();
            let (_, of_y) = named.remove(place(&scope, y)?);
            let through = image.iter().map(|&b| of_y[b]);
            match named.binary_search_by_key(&x, |&(v, _)| v) {
                Ok(k) => named[k].1.iter_mut().zip(through).for_each(|(step, more)| *step += more),
                Err(k) => named.insert(k, (x, through.collect())),
            }
            let (scope, along): (Vec<u32>, Vec<Vec<usize>>) = named.into_iter().unzip();
            self.add(scope.into(), Table::dense(tables::gather(&costs.wide(), &along)))?;
        }
        self.leave(y);
        Ok(())
    }

    /// Merges two variables: every pair of their values that is not listed must reach the limit.
    fn merge(&mut self, [x, y]: [u32; 2], pairs: &[(u32, u32)]) -> Result<(), String> {
        let (sizes, dear) = (self.sizes(&self.over(&[x, y])?.scope), self.dear());
        let (table, columns) = (tables::dense(&self.over(&[x, y])?.table, &sizes)?, sizes[1]);
        let places = pairs.iter().map(|&(a, b)| Ok(self.value(x, a)? * columns + self.value(y, b)?));
        let places = places.collect::<Result<Vec<usize>, String>>()?;
        let totals = sums(&[self.unary[x as usize].clone(), self.unary[y as usize].clone()], 0, sum);
        let totals: Vec<Cost> = totals.iter().zip(&table).map(|(&own, cost)| sum(own, cost)).collect();
        let mut told = vec![false; totals.len()];
        for (&place, pair) in places.iter().zip(pairs) {
            if std::mem::replace(&mut told[place], true) {
                return Err(format!("the pair {pair:?} of variables {x} and {y} is told twice"));
            }
        }
        if let Some(left) = (0..totals.len()).find(|&place| !told[place] && totals[place] < dear) {
            let pair = (self.values[x as usize][left / columns], self.values[y as usize][left % columns]);
            return Err(format!("the pair {pair:?} of variables {x} and {y} costs {} only", totals[left]));
        }
        let _ = self.take_function(&[x, y]);
        let functions: Vec<Function> = [x, y].into_iter().flat_map(|v| self.take_functions_of(v)).collect();
        let merged = self.introduce(pairs.len());
        self.pay_for_values(merged, &places.iter().map(|&place| totals[place]).collect::<Vec<_>>());
        for Function { scope, table } in functions {
            let sizes = self.sizes(&scope);
            let mut along: Vec<(u32, Vec<usize>)> = scope.iter().copied().zip(axes(&sizes)).collect();
            // the new variable's number is the largest
            let mut own = vec![0; pairs.len()];
            along.retain(|(v, steps)| {
                let value = |place: &usize| if *v == x { place / columns } else { place % columns };
                let leaves = *v == x || *v == y;
                if leaves {
                    own.iter_mut().zip(&places).for_each(|(step, place)| *step += steps[value(place)]);
                }
                !leaves
            });
            along.push((merged, own));
            let (scope, along): (Vec<u32>, Vec<Vec<usize>>) = along.into_iter().unzip();
            self.grow(combinations(&self.sizes(&scope)))?;
            self.add(scope.into(), Table::dense(tables::gather(&tables::dense(&table, &sizes)?.wide(), &along)))?;
        }
        self.leave(x);
        self.leave(y);
        self.check_room()
    }

    /// Separates a function: the variable's cost plus the least of the rest must never exceed an entry below the limit.
    fn separate(&mut self, scope: &[u32], v: u32, shares: &[Cost]) -> Result<(), String> {
        let (sizes, dear) = (self.sizes(&self.over(scope)?.scope), self.dear());
        let at = place(scope, v)?;
        self.check_count(v, shares)?;
        if shares.iter().any(|share| !(0..FORBIDDEN).contains(share)) {
            return Err("a share is negative or forbidden".into());
        }
        let function = self.over(scope)?;
        let _ = self.take_function(scope);
        let mut along = axes(&sizes);
        let own = along.remove(at);
        along.push(own);
        let costs = tables::gather(&tables::dense(&function.table, &sizes)?.wide(), &along);
        let rest = |row: &[Cost]| {
            let entry = |(&cost, &share): (&Cost, &Cost)| if cost >= dear { FORBIDDEN } else { cost - share };
            row.iter().zip(shares).map(entry).fold(FORBIDDEN, Cost::min)
        };
        let rest: Vec<Cost> = costs.chunks_exact(shares.len()).map(rest).collect();
        // sums with a share that exceeds its entries might seem forbidden
        if rest.iter().any(|&cost| cost < 0) {
            return Err("a share exceeds an entry".into());
        }
        // a function whose costs fall makes the lemmas invalid
        let same = |(row, &rest): (&[Cost], &Cost)| {
            let mut totals = row.iter().zip(shares).map(|(&cost, &share)| (cost, sum(rest, share)));
            totals.all(|(cost, total)| if cost >= dear { total >= dear } else { total == cost })
        };
        if !costs.chunks_exact(shares.len()).zip(&rest).all(same) {
            self.known.clear();
        }
        self.pay_for_values(v, shares);
        self.add(scope.iter().copied().filter(|&u| u != v).collect(), Table::dense(rest))?;
        self.check_room()
    }

    /// Moves costs; this needs no proof, because the cost of every assignment stays.
    fn shift(&mut self, scope: &[u32], v: u32, amounts: &[Cost]) -> Result<(), String> {
        if self.closed {
            return Ok(());
        }
        let _ = self.over(scope)?;
        self.check_amounts(v, amounts)?;
        let (sizes, at) = (self.sizes(scope), place(scope, v)?);
        let function = self.function_mut(scope)?;
        let mut costs = tables::dense(&function.table, &sizes)?.wide().into_owned();
        let inner: usize = sizes[at + 1..].iter().product();
        let mut fits = true;
        for block in costs.chunks_exact_mut(inner * sizes[at]) {
            for (row, &amount) in block.chunks_exact_mut(inner).zip(amounts) {
                for cost in row.iter_mut().filter(|cost| **cost < FORBIDDEN) {
                    *cost -= amount;
                    fits &= cost.abs() < FORBIDDEN / 4;
                }
            }
        }
        function.table = Table::dense(costs);
        for (own, &amount) in self.unary_mut(v).iter_mut().zip(amounts).filter(|(own, _)| **own < FORBIDDEN) {
            *own += amount;
            fits &= own.abs() < FORBIDDEN / 4;
        }
        if !fits {
            return Err("costs come near what is forbidden".into());
        }
        self.ceiling += 2 * i128::from(spread(amounts.iter().copied()));
        self.check_room()
    }

    /// Checks that there is one amount for each value.
    fn check_count(&self, v: u32, amounts: &[Cost]) -> Result<(), String> {
        self.present(v)?;
        let size = self.values[v as usize].len();
        if amounts.len() == size {
            Ok(())
        } else {
            Err(format!("variable {v} has {size} values, not {}", amounts.len()))
        }
    }

    /// Checks that there is one amount for each value, and that none is so large that it could pass for a forbidden
    /// cost.
    fn check_amounts(&self, v: u32, amounts: &[Cost]) -> Result<(), String> {
        self.check_count(v, amounts)?;
        if amounts.iter().any(|amount| amount.unsigned_abs() >= FORBIDDEN as u64 / 4) {
            return Err("an amount comes near what is forbidden".into());
        }
        Ok(())
    }
}

/// Returns the variables of a scope, or an error if they do not ascend.
pub(super) fn ascending(scope: &[u32]) -> Result<&[u32], String> {
    if scope.windows(2).all(|pair| pair[0] < pair[1]) { Ok(scope) } else { Err(format!("{scope:?} does not ascend")) }
}
