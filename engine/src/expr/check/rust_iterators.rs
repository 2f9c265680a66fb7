//! Chains of Rust's iterators: `v.iter().rev().map(|x| x * 2).max()`. The program has no code of a chain that it does
//! not use itself. The debugger reads the items and evaluates the closures.

use super::super::ir::{Expr, Kind};
use super::super::iteration::{End, Iteration, Lambda, Parts, Source, Stage, Stream};
use super::super::tree::{self, Node};
use super::rust_closures::{REFUSED, closure};
use super::rust_match::Place;
use super::{Checked, Checker, Stop, rust, rust_types, wrong};
use crate::expr::evaluate::{DEREFERENCES, inner};
use crate::inspect::library::{self, Contents};
use crate::inspect::value::scalar::ScalarKind;
use crate::inspect::value::{Shape, Ty};
use dwarf::Language;

/// Methods that begin a chain.
const SOURCES: &[&str] = &[
    "iter",
    "iter_mut",
    "into_iter",
    "keys",
    "values",
    "chars",
    "bytes",
    "windows",
    "chunks",
];

/// Methods that add a stage.
const STAGES: &[&str] = &[
    "rev",
    "enumerate",
    "copied",
    "cloned",
    "skip",
    "take",
    "step_by",
    "map",
    "filter",
    "filter_map",
    "take_while",
    "skip_while",
    "zip",
    "chain",
    "by_ref",
    "peekable",
    "fuse",
];

/// Methods that end a chain.
const ENDS: &[&str] = &[
    "any",
    "all",
    "position",
    "find",
    "find_map",
    "count",
    "len",
    "sum",
    "product",
    "min",
    "max",
    "min_by_key",
    "max_by_key",
    "fold",
    "nth",
    "next",
    "last",
    "collect",
];

/// A call of a method: the object, the name without type arguments, those, and the arguments.
struct Chained<'t> {
    object: &'t Node,
    name: &'t str,
    types: Option<&'t str>,
    arguments: &'t [Node],
}

fn chained(node: &Node) -> Option<Chained<'_>> {
    let tree::Kind::Call(callee, arguments) = &inner(node).kind else {
        return None;
    };
    let tree::Kind::Member(object, name) = &inner(callee).kind else {
        return None;
    };
    Some(of_parts(object, name, arguments))
}

fn of_parts<'t>(object: &'t Node, name: &'t str, arguments: &'t [Node]) -> Chained<'t> {
    let (name, types) = match name.split_once('<') {
        Some((name, types)) => (name.trim_end_matches(':'), types.strip_suffix('>')),
        None => (name, None),
    };
    Chained {
        object,
        name,
        types,
        arguments,
    }
}

impl<'t> Chained<'t> {
    /// Returns the only argument.
    fn one(&self) -> Option<&'t Node> {
        match self.arguments {
            [one] => Some(one),
            _ => None,
        }
    }
}

impl Checker<'_> {
    /// Checks `object.name(…)` as the end of a chain of iterators; `None` if it is none.
    pub(super) fn iteration<'t>(
        &self,
        object: &'t Node,
        name: &'t str,
        arguments: &'t [Node],
        node: &'t Node,
    ) -> Result<Option<Expr<'t>>, Stop<'t>> {
        let call = of_parts(object, name, arguments);
        let is_stage = STAGES.contains(&call.name);
        if self.language != Language::Rust || !(is_stage || ENDS.contains(&call.name)) {
            return Ok(None);
        }
        let Some(stream) = self.stream(call.object)? else {
            return Ok(None);
        };
        if is_stage {
            let why = "an iterator alone has no value here; end it: `.count()`, `.next()`, `.collect::<Vec<_>>()`";
            return Err(wrong(why, &node.span));
        }
        // Without stages these are methods of the iterator over a slice, which run in the program, too.
        let is_row = |ty: &Ty| {
            matches!(ty.shape(), Shape::Array(_))
                || matches!(library::contents(ty), Some(Contents::Sequence(_)))
        };
        let of = &stream.source.of.ty;
        let is_of_slice = stream.stages.is_empty()
            && matches!(stream.source.parts, Parts::Elements)
            && (is_slice_iterator(of)
                || is_row(of) && chained(call.object).is_some_and(|it| it.name == "iter"));
        let is_own = matches!(call.name, "fold" | "collect" | "find_map")
            || matches!(call.name, "min_by_key" | "max_by_key");
        if is_of_slice && !is_own {
            return Ok(None);
        }
        let Some((end, ty)) = self.end(&stream, &call, node)? else {
            let why = format!("`{}` has other arguments", call.name);
            return Err(wrong(why, &node.span));
        };
        let iteration = Iteration { stream, end };
        Ok(Some(Expr::new(
            Kind::Iterate(Box::new(iteration)),
            ty,
            node,
        )))
    }

    /// Returns the chain that an expression is; `None` if it is another value.
    fn stream<'t>(&self, node: &'t Node) -> Result<Option<Stream<'t>>, Stop<'t>> {
        if let Some(call) = chained(node) {
            if STAGES.contains(&call.name) {
                return match self.stream(call.object)? {
                    Some(stream) => self.stage(stream, &call, node).map(Some),
                    None => Ok(None),
                };
            }
            if SOURCES.contains(&call.name)
                && let Some(source) = self.iterated_parts(&call)?
            {
                return Ok(Some(unstaged(source)));
            }
        }
        let of = self.check(node)?;
        Ok(self.iterated(of).map(unstaged))
    }

    /// Returns the items of an iterator or a range.
    fn iterated<'t>(&self, of: Expr<'t>) -> Option<Source<'t>> {
        if is_slice_iterator(&of.ty)
            && let Some(Contents::Wrapped(row)) = library::contents(&of.ty)
        {
            let item = rust_types::element(&row)?.reference();
            return Some(source(of, Parts::Elements, item));
        }
        let kind = library::range_kind(&of.ty)?;
        let (_, ty) = super::fields(&of.ty)?.into_iter().next()?;
        let is_integer = matches!(ty.shape(), Shape::Scalar(it)
            if matches!(it.kind, ScalarKind::Signed | ScalarKind::Unsigned) && it.size <= 8);
        let parts = match &*kind {
            "Range" if is_integer => Parts::Range(false),
            "RangeInclusive" if is_integer => Parts::Range(true),
            _ => return None,
        };
        Some(source(of, parts, ty))
    }

    /// Returns the items that a method of a container or text iterates over; `None` if the object is neither.
    fn iterated_parts<'t>(&self, call: &Chained<'t>) -> Result<Option<Source<'t>>, Stop<'t>> {
        let mut of = self.check(call.object)?;
        let is_by_reference = call.name != "into_iter" || rust_types::is_reference(&of.ty);
        for _ in 0..DEREFERENCES {
            match of.ty.shape() {
                Shape::Pointer(to, _) => of = of.target(to),
                _ => break,
            }
        }
        let contents = library::contents(&of.ty);
        let element = match (&contents, of.ty.shape()) {
            (Some(Contents::Sequence(of) | Contents::List(of) | Contents::Set(of)), _) => {
                Some(of.clone())
            }
            (None, Shape::Array(array)) => Some(array.element.clone()),
            _ => None,
        };
        let is_text = library::is_text(&of.ty);
        let by = |ty: &Ty| match is_by_reference {
            true => ty.clone().reference(),
            false => ty.clone(),
        };
        let (parts, item) = match (call.name, &contents, element, call.arguments) {
            ("iter" | "iter_mut" | "into_iter", _, Some(of), []) => (Parts::Elements, by(&of)),
            ("iter" | "iter_mut" | "into_iter", Some(Contents::Map(key, value)), _, []) => {
                let item = Ty::tuple(vec![by(key), by(value)]);
                (Parts::Pairs, item)
            }
            ("keys", Some(Contents::Map(key, _)), _, []) => (Parts::Keys, by(key)),
            ("values", Some(Contents::Map(_, value)), _, []) => (Parts::Values, by(value)),
            ("chars", ..) if is_text => (Parts::Chars, rust::named("char")),
            ("bytes", ..) if is_text => (Parts::Bytes, rust::named("u8")),
            ("windows", _, Some(of), [size]) => (Parts::Windows(self.length(size)?), of.slice()),
            ("chunks", _, Some(of), [size]) => (Parts::Chunks(self.length(size)?), of.slice()),
            _ => return Ok(None),
        };
        Ok(Some(source(of, parts, item)))
    }

    fn length<'t>(&self, node: &'t Node) -> Checked<'t> {
        let count = self.check(node)?;
        let count = self.typed(count, &rust::named("usize"))?;
        match count.ty.shape() {
            Shape::Scalar(it) if it.kind == ScalarKind::Unsigned => Ok(count),
            _ => Err(wrong("expected a `usize`", &node.span)),
        }
    }

    fn stage<'t>(
        &self,
        mut stream: Stream<'t>,
        call: &Chained<'t>,
        node: &'t Node,
    ) -> Result<Stream<'t>, Stop<'t>> {
        let item = stream.item.clone();
        let (stage, item) = match (call.name, call.one()) {
            ("by_ref" | "peekable" | "fuse", None) => return Ok(stream),
            ("rev", None) => (Stage::Rev, item),
            ("enumerate", None) => {
                let ty = Ty::tuple(vec![rust::named("usize"), item]);
                (Stage::Enumerate(ty.clone()), ty)
            }
            ("copied" | "cloned", None) => match rust_types::referent(&item) {
                Some(of) => (Stage::Copied, of),
                None => {
                    let why = format!("the items are no references: `{}`", item.name());
                    return Err(wrong(why, &node.span));
                }
            },
            ("skip", Some(count)) => (Stage::Skip(self.length(count)?), item),
            ("take", Some(count)) => (Stage::Take(self.length(count)?), item),
            ("step_by", Some(count)) => (Stage::StepBy(self.length(count)?), item),
            ("map", Some(it)) => {
                let lambda = self.lambda(it, &[Place::of(item)])?;
                let ty = lambda.body.ty.clone();
                (Stage::Map(lambda), ty)
            }
            ("filter", Some(it)) => (Stage::Filter(self.test_of(it, &item)?), item),
            ("take_while", Some(it)) => (Stage::TakeWhile(self.test_of(it, &item)?), item),
            ("skip_while", Some(it)) => (Stage::SkipWhile(self.test_of(it, &item)?), item),
            ("filter_map", Some(it)) => {
                let lambda = self.lambda(it, &[Place::of(item)])?;
                let ty = held(&lambda, it)?;
                (Stage::FilterMap(lambda), ty)
            }
            ("zip", Some(it)) => {
                let other = self.other(it)?;
                let ty = Ty::tuple(vec![item, other.item.clone()]);
                (Stage::Zip(Box::new(other), ty.clone()), ty)
            }
            ("chain", Some(it)) => (Stage::Chain(Box::new(self.other(it)?)), item),
            _ => {
                let why = format!("`{}` has other arguments", call.name);
                return Err(wrong(why, &node.span));
            }
        };
        stream.stages.push(stage);
        stream.item = item;
        Ok(stream)
    }

    /// Checks the other iterator of a stage, which may be a container.
    fn other<'t>(&self, node: &'t Node) -> Result<Stream<'t>, Stop<'t>> {
        if let Some(stream) = self.stream(node)? {
            return Ok(stream);
        }
        let call = Chained {
            object: node,
            name: "into_iter",
            types: None,
            arguments: &[],
        };
        match self.iterated_parts(&call)? {
            Some(source) => Ok(unstaged(source)),
            None => Err(wrong("expected an iterator", &node.span)),
        }
    }

    /// Returns the end of a chain and the type of its result; `None`: other arguments are needed.
    fn end<'t>(
        &self,
        stream: &Stream<'t>,
        call: &Chained<'t>,
        node: &'t Node,
    ) -> Result<Option<(End<'t>, Ty)>, Stop<'t>> {
        let item = &stream.item;
        let option = || item.clone().option();
        let usize = || rust::named("usize");
        let boolean = || rust::named("bool");
        let by_value = |it: &'t Node| self.truth_of_item(it, Place::of(item.clone()));
        let key = |it| self.lambda(it, &[Place::referred(item.clone())]);
        Ok(Some(match (call.name, call.arguments) {
            ("any", [it]) => (End::Any(by_value(it)?), boolean()),
            ("all", [it]) => (End::All(by_value(it)?), boolean()),
            ("position", [it]) => (End::Position(by_value(it)?), usize().option()),
            ("find", [it]) => (End::Find(self.test_of(it, item)?), option()),
            ("find_map", [it]) => {
                let lambda = self.lambda(it, &[Place::of(item.clone())])?;
                let ty = held(&lambda, it)?.option();
                (End::FindMap(lambda), ty)
            }
            ("count" | "len", []) => (End::Count, usize()),
            ("sum", []) => (End::Sum, self.number(call, item, node)?),
            ("product", []) => (End::Product, self.number(call, item, node)?),
            ("min", []) => (End::Min, option()),
            ("max", []) => (End::Max, option()),
            ("min_by_key", [it]) => (End::MinByKey(key(it)?), option()),
            ("max_by_key", [it]) => (End::MaxByKey(key(it)?), option()),
            ("fold", [first, it]) => {
                let first = self.check(first)?;
                let first = match (first.open, number_of(item)) {
                    (true, Some(ty)) => self.typed(first, &ty)?,
                    _ => first,
                };
                let ty = first.ty.clone();
                let places = [Place::of(ty.clone()), Place::of(item.clone())];
                let lambda = self.lambda(it, &places)?;
                if !rust_types::same(&lambda.body.ty, &ty) {
                    return Err(super::rust_made::expected(&ty, &lambda.body));
                }
                (End::Fold(first, lambda), ty)
            }
            ("nth", [index]) => (End::Nth(self.length(index)?), option()),
            ("next", []) => {
                let zero = Expr::new(Kind::Constant(0), usize(), node);
                (End::Nth(zero), option())
            }
            ("last", []) => (End::Last, option()),
            ("collect", []) => {
                let into = call.types.unwrap_or("Vec<_>").trim();
                match into.split('<').next() {
                    Some("String") => (End::Text, library_string(node)?),
                    Some("Vec" | "std::vec::Vec" | "alloc::vec::Vec") => {
                        let name = format!("alloc::vec::Vec<{}>", item.name());
                        (End::Row, item.clone().rust_array(0).within(&name))
                    }
                    _ => {
                        let why = "items are collected into `Vec<_>` or `String` only";
                        return Err(wrong(why, &node.span));
                    }
                }
            }
            _ => return Ok(None),
        }))
    }

    /// Returns the type of a sum: the items', or that of the type argument.
    fn number<'t>(&self, call: &Chained<'t>, item: &Ty, node: &'t Node) -> Result<Ty, Stop<'t>> {
        let own = number_of(item);
        match call.types {
            Some(name) if own.as_ref().is_none_or(|own| *own.name() != *name) => {
                let why = format!("the items are no `{name}`: `{}`", item.name());
                Err(wrong(why, &node.span))
            }
            _ => own.ok_or_else(|| {
                let why = format!("the items are no numbers: `{}`", item.name());
                wrong(why, &node.span)
            }),
        }
    }

    /// Checks a closure that gets an item by reference, and tests it.
    fn test_of<'t>(&self, node: &'t Node, item: &Ty) -> Result<Lambda<'t>, Stop<'t>> {
        self.truth_of_item(node, Place::referred(item.clone()))
    }

    fn truth_of_item<'t>(&self, node: &'t Node, place: Place) -> Result<Lambda<'t>, Stop<'t>> {
        let mut lambda = self.lambda(node, &[place])?;
        lambda.body = self.truth(lambda.body, node)?;
        Ok(lambda)
    }

    /// Checks a closure with its parameters bound to values of these types.
    fn lambda<'t>(&self, node: &'t Node, places: &[Place]) -> Result<Lambda<'t>, Stop<'t>> {
        let Some(closure) = closure(node) else {
            let why = "write a closure: `|it| …`";
            return Err(wrong(why, &node.span));
        };
        let (tests, bound, body) = self.bodies(&closure, places)?;
        match body.is_late() {
            true => Err(wrong(REFUSED, &node.span)),
            false => Ok(Lambda { tests, bound, body }),
        }
    }
}

fn source<'t>(of: Expr<'t>, parts: Parts<'t>, item: Ty) -> Source<'t> {
    Source { of, parts, item }
}

fn unstaged(source: Source<'_>) -> Stream<'_> {
    let item = source.item.clone();
    Stream {
        source,
        stages: Vec::new(),
        item,
    }
}

fn is_slice_iterator(ty: &Ty) -> bool {
    ty.name().starts_with("core::slice::iter::Iter<")
}

/// Returns the type of a number or of a referred one.
fn number_of(item: &Ty) -> Option<Ty> {
    let ty = rust_types::referent(item).unwrap_or_else(|| item.clone());
    let is_number = matches!(ty.shape(), Shape::Scalar(it)
        if it.size <= 8
            && matches!(it.kind, ScalarKind::Signed | ScalarKind::Unsigned | ScalarKind::Float(_)));
    is_number.then_some(ty)
}

/// Returns the type of the contents of the option that a closure returns.
fn held<'t>(lambda: &Lambda<'t>, node: &Node) -> Result<Ty, Stop<'t>> {
    match library::contents(&lambda.body.ty) {
        Some(Contents::Optional(of)) => Ok(of),
        _ => Err(wrong(
            "expected a closure that returns an `Option`",
            &node.span,
        )),
    }
}

/// Returns the type of a string that the expression makes.
fn library_string<'t>(node: &Node) -> Result<Ty, Stop<'t>> {
    let method = library::method(&Ty::str(), "to_string", &[]);
    let method = method.ok_or_else(|| wrong("not a text", &node.span))?;
    Ok(method.returns)
}
