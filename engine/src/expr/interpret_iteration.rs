//! The interpreter of chains of Rust's iterators: each item passes the stages before the next one is read.

use super::evaluate::Evaluator;
use super::interpret_match::borrowed;
use super::iteration::{End, Iteration, Lambda, Parts, Source, Stage, Stream};
use super::soft;
use super::tree::Binary;
use crate::ids::error::Error;
use crate::inspect::language::rust;
use crate::inspect::library::{self, MAX_EXAMINED};
use crate::inspect::value::{Shape, Synthetic, Ty, Value, ValueLocation};
use dwarf::LoadAddr;
use std::cmp::Ordering;

/// Maximum number of bytes of a row that a chain is collected into.
const MAX_ROW_BYTES: u64 = 1 << 20;

/// Whether a chain needs more items.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Flow {
    More,
    Done,
}

/// The progress of a stage.
#[derive(Default)]
struct Progress {
    /// The number of items that have reached it.
    seen: u64,
    /// The number that `skip`, `take` or `step_by` got.
    count: u64,
    /// The other chain's items.
    others: std::vec::IntoIter<Value>,
}

type Sink<'a, 'e> = &'a mut dyn FnMut(&mut Evaluator<'e>, Value) -> Result<Flow, Error>;

impl<'e> Evaluator<'e> {
    /// Evaluates a chain of iterators.
    pub(super) fn iterated(&mut self, iteration: &Iteration<'_>, ty: &Ty) -> Result<Value, Error> {
        let was_searching = std::mem::replace(&mut self.is_searching, true);
        let value = self.ended(iteration, ty);
        self.is_searching = was_searching;
        value
    }

    fn ended(&mut self, iteration: &Iteration<'_>, ty: &Ty) -> Result<Value, Error> {
        let stream = &iteration.stream;
        let truth = |truth: bool| Value::of_bytes(ty.clone(), &[u8::from(truth)]);
        let mut found = None;
        match &iteration.end {
            End::Any(lambda) => {
                self.first(stream, lambda, true, &mut found)?;
                Ok(truth(found.is_some()))
            }
            End::All(lambda) => {
                self.first(stream, lambda, false, &mut found)?;
                Ok(truth(found.is_none()))
            }
            End::Position(lambda) => {
                self.first(stream, lambda, true, &mut found)?;
                let index = rust::builtin("usize").unwrap_or(Ty::Void);
                let at = found.map(|(at, _)| Value::of_bytes(index, &at.to_le_bytes()));
                self.option(ty, at)
            }
            End::Find(lambda) => {
                self.first(stream, lambda, true, &mut found)?;
                self.option(ty, found.map(|it| it.1))
            }
            End::FindMap(lambda) => {
                let mut held = None;
                self.run(stream, &mut |it, item| {
                    let made = it.applied(lambda, &[item])?;
                    held = it.some_of(&made)?;
                    Ok(flow(held.is_none()))
                })?;
                self.option(ty, held)
            }
            End::Count => {
                let mut count = 0u64;
                self.run(stream, &mut |_, _| {
                    count += 1;
                    Ok(Flow::More)
                })?;
                Ok(Value::of_bytes(ty.clone(), &count.to_le_bytes()))
            }
            End::Sum => self.folded(stream, ty, Binary::Add),
            End::Product => self.folded(stream, ty, Binary::Mul),
            End::Min => self.extreme(stream, ty, None, Ordering::is_lt),
            End::Max => self.extreme(stream, ty, None, Ordering::is_ge),
            End::MinByKey(key) => self.extreme(stream, ty, Some(key), Ordering::is_lt),
            End::MaxByKey(key) => self.extreme(stream, ty, Some(key), Ordering::is_ge),
            End::Fold(first, lambda) => {
                let mut so_far = self.interpret(first)?;
                self.run(stream, &mut |it, item| {
                    so_far = it.applied(lambda, &[so_far.clone(), item])?;
                    Ok(Flow::More)
                })?;
                Ok(so_far)
            }
            End::Nth(index) => {
                let mut left = self.bits(index)?;
                let mut nth = None;
                self.run(stream, &mut |_, item| {
                    if left == 0 {
                        nth = Some(item);
                        return Ok(Flow::Done);
                    }
                    left -= 1;
                    Ok(Flow::More)
                })?;
                self.option(ty, nth)
            }
            End::Last => {
                let mut last = None;
                self.run(stream, &mut |_, item| {
                    last = Some(item);
                    Ok(Flow::More)
                })?;
                self.option(ty, last)
            }
            End::Row => {
                let items = self.collected(stream)?;
                self.row_made(&stream.item, &items, ty)
            }
            End::Text => {
                let mut text = Vec::new();
                self.run(stream, &mut |it, item| {
                    it.add_text(&item, &mut text)?;
                    Ok(Flow::More)
                })?;
                Ok(Value::of_bytes(ty.clone(), &text))
            }
        }
    }

    fn option(&self, ty: &Ty, held: Option<Value>) -> Result<Value, Error> {
        let name = if held.is_some() { "Some" } else { "None" };
        Value::variant(self.context.as_target(), ty.clone(), name, held.as_ref())
    }

    /// Finds the first item for which a closure has this result, with its index.
    fn first(
        &mut self,
        stream: &Stream<'_>,
        lambda: &Lambda<'_>,
        wanted: bool,
        found: &mut Option<(u64, Value)>,
    ) -> Result<(), Error> {
        let mut index = 0u64;
        self.run(stream, &mut |it, item| {
            if it.holds_of(lambda, &item)? == wanted {
                *found = Some((index, item));
                return Ok(Flow::Done);
            }
            index += 1;
            Ok(Flow::More)
        })
    }

    fn holds_of(&mut self, lambda: &Lambda<'_>, item: &Value) -> Result<bool, Error> {
        let result = self.applied(lambda, std::slice::from_ref(item))?;
        Ok(result.raw(self.context.as_target())? != 0)
    }

    /// Evaluates a closure's body with these arguments.
    fn applied(&mut self, lambda: &Lambda<'_>, arguments: &[Value]) -> Result<Value, Error> {
        if self.context.as_target().cancelled() {
            return Err(Error::Cancelled);
        }
        let saved = self.saved();
        for (test, argument) in lambda.tests.iter().zip(arguments) {
            if !self.holds_for(test, argument)? {
                let why = "the closure's parameter does not fit the items";
                return Err(Error::eval(why));
            }
        }
        let before = self.known().bind(&lambda.bound);
        let result = self.interpret(&lambda.body);
        self.known().unbind(before);
        let result = result?;
        self.restore(&saved);
        Ok(result)
    }

    /// Returns the contents of a `Some`; `None`: the option is empty.
    fn some_of(&self, option: &Value) -> Result<Option<Value>, Error> {
        match self.active(option)? {
            Some((name, held)) if name == "Some" => self.field(&held, "0").map(Some),
            _ => Ok(None),
        }
    }

    /// Passes the items of a chain through its stages and to `sink`, until `sink` is done.
    fn run(&mut self, stream: &Stream<'_>, sink: Sink<'_, 'e>) -> Result<(), Error> {
        let mut items = self.items(&stream.source)?;
        let mut stages = &stream.stages[..];
        // `rev` and `chain` need all items before them.
        while let Some(at) = stages.iter().position(is_barrier) {
            let mut passed = Vec::new();
            self.pass(items, &stages[..at], &mut |_, item| {
                passed.push(item);
                Ok(Flow::More)
            })?;
            match &stages[at] {
                Stage::Chain(other) => passed.extend(self.collected(other)?),
                _ => passed.reverse(),
            }
            items = passed;
            stages = &stages[at + 1..];
        }
        self.pass(items, stages, sink)
    }

    fn collected(&mut self, stream: &Stream<'_>) -> Result<Vec<Value>, Error> {
        let mut items = Vec::new();
        self.run(stream, &mut |_, item| {
            items.push(item);
            Ok(Flow::More)
        })?;
        Ok(items)
    }

    fn pass(
        &mut self,
        items: Vec<Value>,
        stages: &[Stage<'_>],
        sink: Sink<'_, 'e>,
    ) -> Result<(), Error> {
        let mut progress = Vec::new();
        for stage in stages {
            let mut of = Progress::default();
            match stage {
                Stage::Skip(count) | Stage::Take(count) | Stage::StepBy(count) => {
                    of.count = self.bits(count)? as u64;
                }
                Stage::Zip(other, _) => of.others = self.collected(other)?.into_iter(),
                _ => {}
            }
            if matches!(stage, Stage::StepBy(_)) && of.count == 0 {
                return Err(Error::eval("`step_by(0)` panics"));
            }
            progress.push(of);
        }
        let takes_none =
            |(stage, of): (&Stage<'_>, &Progress)| matches!(stage, Stage::Take(_)) && of.count == 0;
        if stages.iter().zip(&progress).any(takes_none) {
            return Ok(());
        }
        for item in items {
            let (passed, flow) = self.through(item, stages, &mut progress)?;
            if let Some(item) = passed
                && sink(self, item)? == Flow::Done
            {
                return Ok(());
            }
            if flow == Flow::Done {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Passes an item through the stages. Returns the item behind the last stage, if it passes all of them, and whether
    /// further items can pass.
    fn through(
        &mut self,
        mut item: Value,
        stages: &[Stage<'_>],
        progress: &mut [Progress],
    ) -> Result<(Option<Value>, Flow), Error> {
        let mut flow = Flow::More;
        for (stage, of) in stages.iter().zip(progress) {
            let index = of.seen;
            of.seen += 1;
            let passes = match stage {
                Stage::Rev | Stage::Chain(_) => true,
                Stage::Enumerate(ty) => {
                    let usize = rust::builtin("usize").unwrap_or(Ty::Void);
                    let index = Value::of_bytes(usize, &index.to_le_bytes());
                    item = self.pair(ty, index, item)?;
                    true
                }
                Stage::Copied => {
                    item = self.referred(&item)?;
                    true
                }
                Stage::Skip(_) => index >= of.count,
                Stage::Take(_) => {
                    if index + 1 >= of.count {
                        flow = Flow::Done;
                    }
                    true
                }
                Stage::StepBy(_) => index % of.count == 0,
                Stage::Map(lambda) => {
                    item = self.applied(lambda, &[item])?;
                    true
                }
                Stage::Filter(lambda) => self.holds_of(lambda, &item)?,
                Stage::FilterMap(lambda) => {
                    let made = self.applied(lambda, &[item])?;
                    match self.some_of(&made)? {
                        Some(held) => item = held,
                        None => return Ok((None, flow)),
                    }
                    true
                }
                Stage::TakeWhile(lambda) => match self.holds_of(lambda, &item)? {
                    true => true,
                    false => return Ok((None, Flow::Done)),
                },
                Stage::SkipWhile(lambda) => {
                    // `count` is 1 behind the first item that passes.
                    if of.count == 0 && !self.holds_of(lambda, &item)? {
                        of.count = 1;
                    }
                    of.count == 1
                }
                Stage::Zip(_, ty) => match of.others.next() {
                    Some(other) => {
                        item = self.pair(ty, item, other)?;
                        true
                    }
                    None => return Ok((None, Flow::Done)),
                },
            };
            if !passes {
                return Ok((None, flow));
            }
        }
        Ok((Some(item), flow))
    }

    fn pair(&self, ty: &Ty, first: Value, second: Value) -> Result<Value, Error> {
        let fields = vec![("0".to_owned(), first), ("1".to_owned(), second)];
        self.composed(ty, None, fields)
    }

    fn referred(&self, item: &Value) -> Result<Value, Error> {
        match item.ty.shape() {
            Shape::Pointer(of, _) => item.pointee(self.context.as_target(), of),
            _ => Ok(item.clone()),
        }
    }

    /// Returns the first items of a chain.
    fn items(&mut self, source: &Source<'_>) -> Result<Vec<Value>, Error> {
        let of = self.interpret(&source.of)?;
        let by = |ty: &Ty, value: &Value| match ty.same_as(&value.ty) {
            true => value.clone(),
            false => borrowed(ty, value),
        };
        let target = self.context.as_target();
        match &source.parts {
            Parts::Elements => {
                let elements = library::elements(target, &of)?;
                Ok(elements.iter().map(|it| by(&source.item, it)).collect())
            }
            Parts::Values => {
                let elements = library::elements(target, &of)?;
                Ok(elements.iter().map(|it| by(&source.item, it)).collect())
            }
            Parts::Keys => {
                let keys = library::entries(target, &of)?.into_iter();
                Ok(keys.map(|(key, _)| by(&source.item, &key)).collect())
            }
            Parts::Pairs => {
                let Ty::Synthetic(tuple) = &source.item else {
                    return Err(Error::eval("not a map"));
                };
                let Synthetic::Tuple(parts) = &**tuple else {
                    return Err(Error::eval("not a map"));
                };
                let (key_ty, value_ty) = (&parts[0], &parts[1]);
                let entries = library::entries(target, &of)?.into_iter();
                entries
                    .map(|(key, value)| {
                        self.pair(&source.item, by(key_ty, &key), by(value_ty, &value))
                    })
                    .collect()
            }
            Parts::Chars => {
                let (_, bytes) = library::text_of(target, &of)?;
                let text = String::from_utf8(bytes);
                let text = text.map_err(|_| Error::eval("the text is not UTF-8"))?;
                within_limit(text.len() as u64)?;
                let char = |it: char| {
                    let code = u32::from(it).to_le_bytes();
                    Value::of_bytes(source.item.clone(), &code)
                };
                Ok(text.chars().map(char).collect())
            }
            Parts::Bytes => {
                let (_, bytes) = library::text_of(target, &of)?;
                within_limit(bytes.len() as u64)?;
                let byte = |it: u8| Value::of_bytes(source.item.clone(), &[it]);
                Ok(bytes.into_iter().map(byte).collect())
            }
            Parts::Range(inclusive) => self.integers(&of, *inclusive, &source.item),
            Parts::Windows(size) => {
                let size = self.size_of_row(size)?;
                let target = self.context.as_target();
                let (at, element, len) = library::row(target, &of)?;
                let stride = element.size().unwrap_or(0);
                let last = (len + 1).saturating_sub(size);
                within_limit(last)?;
                Ok((0..last)
                    .map(|index| part_of_row(&source.item, at, index * stride, size))
                    .collect())
            }
            Parts::Chunks(size) => {
                let size = self.size_of_row(size)?;
                let target = self.context.as_target();
                let (at, element, len) = library::row(target, &of)?;
                let stride = element.size().unwrap_or(0);
                within_limit(len.div_ceil(size))?;
                Ok((0..len.div_ceil(size))
                    .map(|index| {
                        let first = index * size;
                        let len = size.min(len - first);
                        part_of_row(&source.item, at, first.wrapping_mul(stride), len)
                    })
                    .collect())
            }
        }
    }

    fn size_of_row(&mut self, size: &super::ir::Expr<'_>) -> Result<u64, Error> {
        match self.bits(size)? as u64 {
            0 => Err(Error::eval("rows of 0 elements panic")),
            size => Ok(size),
        }
    }

    fn integers(&self, range: &Value, inclusive: bool, ty: &Ty) -> Result<Vec<Value>, Error> {
        let target = self.context.as_target();
        let end = |name| -> Result<i128, Error> {
            let value = self.field(range, name)?;
            match library::number(target, &value)? {
                Some(crate::inspect::value::scalar::Number::Int(it)) => Ok(it.value()),
                _ => Err(Error::eval("not a range of integers")),
            }
        };
        let (from, to) = (end("start")?, end("end")?);
        let to = if inclusive { to.saturating_add(1) } else { to };
        within_limit(u64::try_from(to.saturating_sub(from)).unwrap_or(0))?;
        let size = ty.size().unwrap_or(8).min(16) as usize;
        let integer = |it: i128| Value::of_bytes(ty.clone(), &it.to_le_bytes()[..size]);
        Ok((from..to).map(integer).collect())
    }

    /// Combines all items, which are numbers or refer to numbers.
    fn folded(&mut self, stream: &Stream<'_>, ty: &Ty, operator: Binary) -> Result<Value, Error> {
        let Shape::Scalar(scalar) = ty.shape() else {
            return Err(Error::eval("not a number"));
        };
        let is_float = matches!(
            scalar.kind,
            crate::inspect::value::scalar::ScalarKind::Float(_)
        );
        let one = match (is_float, scalar.size) {
            (false, _) => 1,
            (true, 4) => u128::from(1f32.to_bits()),
            (true, _) => u128::from(1f64.to_bits()),
        };
        let mut so_far = if operator == Binary::Mul { one } else { 0 };
        self.run(stream, &mut |it, item| {
            let value = it.referred(&item)?.raw(it.context.as_target())?;
            let (result, exact) = soft::arithmetic(operator, scalar, so_far, value)
                .map_err(|_| Error::eval("not a number"))?;
            if !exact && !is_float {
                return Err(Error::eval(format!("the result overflows `{}`", ty.name())));
            }
            so_far = result;
            Ok(Flow::More)
        })?;
        Ok(Value::of_bytes(
            ty.clone(),
            &so_far.to_le_bytes()[..usize::from(scalar.size.min(16))],
        ))
    }

    /// Returns the item that replaces all before it: by the order of it or its key to the best one so far.
    fn extreme(
        &mut self,
        stream: &Stream<'_>,
        ty: &Ty,
        key: Option<&Lambda<'_>>,
        replaces: fn(Ordering) -> bool,
    ) -> Result<Value, Error> {
        let mut best: Option<(Value, Value)> = None;
        self.run(stream, &mut |it, item| {
            let compared = match key {
                Some(key) => it.applied(key, std::slice::from_ref(&item))?,
                None => item.clone(),
            };
            let better = match &best {
                None => true,
                Some((_, old)) => {
                    let order = library::compare(it.context.as_target(), &compared, old)?;
                    replaces(order.ok_or_else(|| Error::eval("items without an order"))?)
                }
            };
            if better {
                best = Some((item, compared));
            }
            Ok(Flow::More)
        })?;
        self.option(ty, best.map(|it| it.0))
    }

    /// Returns a `Vec` of items that the program does not have.
    fn row_made(&self, element: &Ty, items: &[Value], ty: &Ty) -> Result<Value, Error> {
        let row = element.clone().rust_array(items.len() as u64);
        let size = element.size().unwrap_or(0);
        let len = size.saturating_mul(items.len() as u64);
        if len > MAX_ROW_BYTES {
            return Err(Error::Unsupported(format!(
                "cannot collect {len} bytes: at most {MAX_ROW_BYTES}"
            )));
        }
        let mut parts = Vec::new();
        for (item, index) in items.iter().zip(0u64..) {
            let item = self.conform(item, element)?;
            let place = item.kept(self.context.as_target())?;
            parts.push((index * size, size, place));
        }
        let ty = row.within(&ty.name());
        Ok(Value::new(ty, ValueLocation::composed(len, parts)))
    }

    fn add_text(&self, item: &Value, text: &mut Vec<u8>) -> Result<(), Error> {
        let target = self.context.as_target();
        let item = match library::is_text(&item.ty) {
            true => item.clone(),
            false => self.referred(item)?,
        };
        if item.ty.name().as_ref() == "char" {
            let code = u32::try_from(item.raw(target)?)
                .ok()
                .and_then(char::from_u32);
            let char = code.ok_or_else(|| Error::eval("an item is no character"))?;
            text.extend(char.to_string().as_bytes());
        } else {
            text.extend(library::text_of(target, &item)?.1);
        }
        match text.len() as u64 <= MAX_ROW_BYTES {
            true => Ok(()),
            false => Err(Error::Unsupported(format!(
                "cannot collect more than {MAX_ROW_BYTES} bytes"
            ))),
        }
    }
}

fn flow(more: bool) -> Flow {
    match more {
        true => Flow::More,
        false => Flow::Done,
    }
}

/// Returns whether a stage needs all items before it.
fn is_barrier(stage: &Stage<'_>) -> bool {
    matches!(stage, Stage::Rev | Stage::Chain(_))
}

fn within_limit(items: u64) -> Result<(), Error> {
    match items <= MAX_EXAMINED {
        true => Ok(()),
        false => Err(Error::Unsupported(format!(
            "cannot examine {items} items: at most {MAX_EXAMINED}"
        ))),
    }
}

fn part_of_row(ty: &Ty, at: LoadAddr, offset: u64, len: u64) -> Value {
    Value::fat_reference(ty.clone(), LoadAddr(at.0.wrapping_add(offset)), len)
}
