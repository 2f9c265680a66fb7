//! Places: members, targets of pointers, elements of arrays.

use super::super::ir::{Ends, Expr, Kind, Storage};
use super::super::tree::{self, Binary, Node};
use super::operators::converted;
use super::rust_calls::is_trait_object;
use super::rust_made::Access;
use super::{Checked, Checker, Stop, c, rust_made, scalar, wrong};
use crate::expr::captured_path::{behind_dereferences, captured_path};
use crate::expr::evaluate::{DEREFERENCES, inner};
use crate::expr::{exact, literal, messages, with_suggestion};
use crate::ids::error::Error;
use crate::inspect::library::{self, Contents};
use crate::inspect::value::path::{self, Lookup};
use crate::inspect::value::text::Unit;
use crate::inspect::value::types::DwarfTy;
use crate::inspect::value::{PointerKind, Shape, Ty, members};
use crate::inspect::visualize::rust_std::tail;
use dwarf::{Declaration, Language};

impl Checker<'_> {
    /// Checks `object.name`, `object->name`: both follow pointers, wrappers and smart pointers.
    pub(super) fn member<'t>(
        &self,
        object: &'t Node,
        name: &'t str,
        node: &'t Node,
    ) -> Checked<'t> {
        if let tree::Kind::Register(_) = inner(object).kind {
            return Err(Stop::Needs(node));
        }
        if let Some(found) = self.member_of_base(object, name, node) {
            return found;
        }
        let of = match self.check(object) {
            Err(Stop::Wrong(_)) if self.is_captured_path(object, name, node) => {
                return Err(Stop::Needs(node));
            }
            of => of?,
        };
        if let Some(part) = rust_made::constant_part(&of, name) {
            return Ok(part);
        }
        if let Some(found) = self.member_behind_arrow(&of, object, name, node)? {
            return Ok(found);
        }
        match self.named_member(of.clone(), name, node) {
            Err(stop) if self.language == Language::Rust => {
                let behind = self.member_behind_deref(of, name, node)?;
                behind.ok_or(stop)
            }
            found => found,
        }
    }

    /// Returns whether a closure of Rust has captured a field, but not the variable that it is in.
    fn is_captured_path(&self, object: &Node, name: &str, node: &Node) -> bool {
        if self.language != Language::Rust {
            return false;
        }
        let variable = |name: &str| self.scope.variable(Storage::Local, name, node);
        captured_path(object, name).is_some_and(|path| {
            matches!(variable(path.root), Ok(None)) && !matches!(variable(&path.variable), Ok(None))
        })
    }

    /// Checks the member of an object, or of what it points to.
    pub(super) fn named_member<'t>(
        &self,
        mut of: Expr<'t>,
        name: &str,
        node: &'t Node,
    ) -> Checked<'t> {
        let whole = of.ty.clone();
        for _ in 0..DEREFERENCES {
            of = match of.ty.shape() {
                Shape::Pointer(to, _) => of.target(to),
                // Only the pointer to the whole tells what is there.
                Shape::Composite(class)
                    if self.language == Language::Rust && tail::is_tail(&class, name) =>
                {
                    return Err(Stop::Needs(node));
                }
                Shape::Composite(class) => match path::find(&of.ty, name) {
                    Lookup::Found(parts) => return Ok(Expr::part(of, parts, node)),
                    Lookup::Ambiguous(one, other, _) => {
                        let message = members::ambiguous(name, &one, &other);
                        return Err(wrong(message, &node.span));
                    }
                    // A member of the active variant, or of the dynamic class.
                    Lookup::Depends | Lookup::Absent => match pointee(&of, node) {
                        Some(target) => target,
                        None if let Some(found) = self.enumerator_within(&class, name, node) => {
                            return Ok(found);
                        }
                        // Elements have no names.
                        None if path::is_closed(&class) || is_container(&of.ty) => {
                            return Err(self.no_member(&whole, &class, name, node));
                        }
                        None => return Err(Stop::Needs(node)),
                    },
                },
                // `points->x`
                Shape::Array(array) if self.language != Language::Rust => {
                    let element = array.element.clone();
                    let first = Expr::new(Kind::Constant(0), c::named("long"), node);
                    let kind = Kind::Element(Box::new(of), Box::new(first), array);
                    Expr::new(kind, element, node)
                }
                Shape::Scalar(_) if self.language == Language::C => {
                    let message = self.has_no_members(&whole, node);
                    return Err(wrong(message, &self.last_name(node, name)));
                }
                _ => return Err(Stop::Needs(node)),
            };
        }
        Err(Stop::Needs(node))
    }

    /// Checks `object.ENUMERATOR`: an enumerator of an enumeration that the object's class declares.
    fn enumerator_within<'t>(
        &self,
        class: &DwarfTy,
        name: &str,
        node: &'t Node,
    ) -> Option<Expr<'t>> {
        if self.language != Language::Cpp {
            return None;
        }
        let declared = class.module().member_value(class.ty.id, name)?;
        let Declaration::Enumerator { enumeration, name } = declared else {
            return None;
        };
        let ty = class.related(enumeration);
        let value = members::enumerator_named(&ty, &name)?;
        Some(Expr::new(Kind::Constant(value as u128), ty, node))
    }

    /// Returns the error for a member that a class lacks; `whole` is the type of the object, or of the
    /// pointer to it.
    fn no_member<'t>(&self, whole: &Ty, class: &DwarfTy, name: &str, node: &Node) -> Stop<'t> {
        let source = match &node.kind {
            tree::Kind::Member(object, _) => self.source_text(object),
            _ => self.source_text(node),
        };
        let names = path::names(class);
        let span = self.last_name(node, name);
        if names.is_empty() {
            return wrong(self.has_no_members(whole, node), &span);
        }
        let message = messages::no_member("member", name, source, whole);
        wrong(with_suggestion(message, name, &names), &span)
    }

    fn has_no_members(&self, whole: &Ty, node: &Node) -> String {
        let source = match &node.kind {
            tree::Kind::Member(object, _) => self.source_text(object),
            _ => self.source_text(node),
        };
        format!("`{source}` ({}) has no members", whole.name())
    }

    /// Checks `*x`.
    pub(super) fn deref<'t>(&self, operand: &'t Node, node: &'t Node) -> Checked<'t> {
        match self.captured_target(operand) {
            Some(place) => self.check(place),
            None => self.deref_of(self.check(operand)?, node),
        }
    }

    /// Returns the place that a closure of Rust has captured in place of the variable or field that
    /// `*operand` dereferences.
    fn captured_target<'t>(&self, operand: &'t Node) -> Option<&'t Node> {
        if self.language != Language::Rust {
            return None;
        }
        let (place, count) = behind_dereferences(operand);
        let captured = match &place.kind {
            tree::Kind::Name(name) => self.scope.captured_behind(name, &[name]),
            tree::Kind::Member(object, name) if self.is_captured_path(object, name, place) => {
                let path = captured_path(object, name)?;
                self.scope.captured_behind(&path.variable, &path.names)
            }
            _ => 0,
        };
        (count < captured).then_some(place)
    }

    /// Checks `*x` of a checked operand.
    pub(super) fn deref_of<'t>(&self, of: Expr<'t>, node: &'t Node) -> Checked<'t> {
        let of = self.referent(of);
        if let Some(first) = self.character(&of, 0, node) {
            return Ok(first);
        }
        match of.ty.shape() {
            // Only C and C++ dereference functions.
            Shape::Pointer(to, _)
                if self.language == Language::Rust && matches!(to.shape(), Shape::Function) =>
            {
                Err(self.no_pointer(&of, node))
            }
            Shape::Pointer(to, _) if !matches!(to.shape(), Shape::Void) => {
                Ok(Expr::new(Kind::Deref(Box::new(of)), to, node))
            }
            Shape::Array(array) if self.language != Language::Rust => {
                let first = Expr::new(Kind::Constant(0), c::named("long"), node);
                let kind = Kind::Element(Box::new(of), Box::new(first), array.clone());
                Ok(Expr::new(kind, array.element.clone(), node))
            }
            Shape::Function if self.language != Language::Rust => Ok(of),
            Shape::Pointer(..) => {
                let source = self.source_of(&of);
                let message = format!(
                    "cannot dereference `{source}`: unknown target type; cast it, for example \
                     `*(int *){source}`"
                );
                Err(wrong(message, &node.span))
            }
            Shape::Text if self.language == Language::Rust => self.object_behind(of, node),
            Shape::Composite(_) | Shape::Synthetic(_) => match self.own_deref(&of, 1, node)? {
                Some(target) => Ok(target),
                None => self.object_behind(of, node),
            },
            _ => Err(self.no_pointer(&of, node)),
        }
    }

    /// Checks `*x` of an object.
    fn object_behind<'t>(&self, of: Expr<'t>, node: &'t Node) -> Checked<'t> {
        match library::contents(&of.ty) {
            Some(Contents::Pointee(to))
                if self.language == Language::Rust
                    && (matches!(library::contents(&to), Some(Contents::Text(..)))
                        || matches!(to.shape(), Shape::Array(array) if array.count.is_none())) =>
            {
                // The target's address is that in the pointer plus the size of the counts.
                let method = library::method(&to, "as_ref", &[]);
                let Some(method) = method else {
                    return Err(self.no_pointer(&of, node));
                };
                let of = Expr::new(Kind::Pointee(Box::new(of)), to, node);
                let reference = Expr::answer(method, vec![of], node);
                let ty = reference.ty.clone().unsized_target();
                return Ok(Expr::new(Kind::Retyped(Box::new(reference)), ty, node));
            }
            Some(Contents::Pointee(to)) if !is_wide(&of.ty) => {
                return Ok(Expr::new(Kind::Pointee(Box::new(of)), to, node));
            }
            _ if self.language == Language::Rust => {
                if let Some(target) = self.unsized_behind(&of, node) {
                    return Ok(target);
                }
            }
            _ => {}
        }
        if let Some(method) = library::method(&of.ty, "operator*", &[]) {
            return Ok(Expr::answer(method, vec![of], node));
        }
        if self.language == Language::Cpp
            && let Some(call) = self.member_function(of.clone(), "operator*", &[], node)?
        {
            return Ok(self.referent(call));
        }
        Err(self.no_pointer(&of, node))
    }

    /// Returns what `*x` is of a reference, box or container whose target has no size: `*text`,
    /// `*slice`, `*vec`.
    fn unsized_behind<'t>(&self, of: &Expr<'t>, node: &'t Node) -> Option<Expr<'t>> {
        let reference = match library::contents(&of.ty) {
            _ if of.ty.unsized_reference().is_some() => return None,
            _ if is_wide(&of.ty) => of.clone(),
            Some(Contents::Text(..) | Contents::Sequence(_)) | None => {
                let method = library::method(&of.ty, "as_ref", &[])?;
                Expr::answer(method, vec![of.clone()], node)
            }
            _ => return None,
        };
        let ty = reference.ty.clone().unsized_target();
        Some(Expr::new(Kind::Retyped(Box::new(reference)), ty, node))
    }

    fn no_pointer<'t>(&self, of: &Expr<'_>, node: &Node) -> Stop<'t> {
        let source = self.source_of(of);
        let message = format!(
            "cannot dereference `{source}`: `{}` is not a pointer",
            of.ty.name()
        );
        wrong(message, &node.span)
    }

    /// Checks `&x`.
    pub(super) fn address_of<'t>(&self, operand: &'t Node, node: &'t Node) -> Checked<'t> {
        if self.language == Language::Rust {
            return self.borrow(operand, Access::Shared, node);
        }
        if let tree::Kind::Index(_, index) = &inner(operand).kind
            && let tree::Kind::Range(..) = index.kind
        {
            return Err(Stop::Needs(node));
        }
        if let Some(member) = self.member_address(operand, node) {
            return member;
        }
        if let Some(member) = self.method_address(operand, None, node)? {
            return Ok(member);
        }
        match self.check(operand) {
            Err(Stop::Wrong(Error::UnknownName { message, span })) => self
                .address_of_data(&Ty::Void, operand)
                .ok_or(Stop::Wrong(Error::UnknownName { message, span })),
            of => self.address_of_place(of?, node),
        }
    }

    /// Returns the address of data that is known by its symbol alone, as a pointer to a type.
    pub(super) fn address_of_data<'t>(&self, ty: &Ty, operand: &'t Node) -> Option<Expr<'t>> {
        let tree::Kind::Name(name) = &inner(operand).kind else {
            return None;
        };
        if self.language == Language::Rust {
            return None;
        }
        let at = self.scope.data_of_symbol(name)?;
        let kind = Kind::Constant(at.0.into());
        Some(Expr::new(kind, ty.clone().pointer(), operand))
    }

    /// Checks `&x` of a checked operand.
    pub(super) fn address_of_place<'t>(&self, of: Expr<'t>, node: &'t Node) -> Checked<'t> {
        let of = self.referent(of);
        let is_this = self.language == Language::Cpp
            && matches!(of.kind, Kind::Variable(Storage::Local, "this", ..));
        let is_place = match self.language {
            Language::Cpp => self.is_lvalue(&of),
            _ => of.is_place(),
        };
        if !is_place || is_this {
            let source = self.source_of(&of);
            let message = format!("cannot take the address of `{source}`: not in memory");
            return Err(wrong(message, &node.span));
        }
        if of.bits().is_some() {
            return Err(wrong("cannot take the address of a bit-field", &node.span));
        }
        let is_const = self.language == Language::Cpp && exact::is_const_object(&of);
        let ty = match is_const {
            true => of.ty.clone().constant().pointer(),
            false => of.ty.clone().pointer(),
        };
        Ok(Expr::new(Kind::AddressOf(Box::new(of)), ty, node))
    }

    /// Checks `object[index]` of arrays and pointers.
    pub(super) fn index<'t>(
        &self,
        object: &'t Node,
        index: &'t Node,
        node: &'t Node,
    ) -> Checked<'t> {
        if let tree::Kind::Range(from, to, inclusive) = &inner(index).kind {
            return match self.language {
                Language::Rust => {
                    self.slice(object, (from.as_deref(), to.as_deref(), *inclusive), node)
                }
                _ => Err(Stop::Needs(node)),
            };
        }
        let index = match &inner(index).kind {
            // `map[&1]`: the key need not be in memory.
            tree::Kind::AddressOf(key) if self.language == Language::Rust => key,
            _ => index,
        };
        let (mut of, mut by) = (self.check(object)?, self.operand(self.check(index)?));
        let is_raw = |of: &Expr<'_>| matches!(of.ty.shape(), Shape::Pointer(_, PointerKind::Raw));
        // `1[p]` is `p[1]` (ISO C §6.5.3.2).
        let is_row = is_raw(&by) || matches!(by.ty.shape(), Shape::Array(_));
        if self.language != Language::Rust && is_row && scalar(&of.ty).is_some() {
            std::mem::swap(&mut of, &mut by);
        }
        if let Kind::Constant(at) = &by.kind
            && let Some(character) = self.character(&of, *at, node)
        {
            return Ok(character);
        }
        for nth in 1..=DEREFERENCES {
            of = match of.ty.shape() {
                Shape::Pointer(to, PointerKind::Reference | PointerKind::Owned) => of.target(to),
                Shape::Array(array) => {
                    let by = self.position(by)?;
                    let element = array.element.clone();
                    let kind = Kind::Element(Box::new(of), Box::new(by), array);
                    return Ok(Expr::new(kind, element, node));
                }
                Shape::Pointer(to, PointerKind::Raw) => {
                    let Some(size) = to.size() else {
                        let source = self.source_text(object);
                        let message = format!("unknown size of the target of `{source}`");
                        return Err(wrong(message, &node.span));
                    };
                    let by = self.position(by)?;
                    let ty = to.clone().pointer();
                    let kind = Kind::Offset(Binary::Add, Box::new(of), Box::new(by), size);
                    return Ok(Expr::new(kind, ty, node).target(to));
                }
                Shape::Composite(_) | Shape::Synthetic(_) => {
                    match self.item(of, by.clone(), (object, nth), node)? {
                        Step::Found(item) => return Ok(item),
                        Step::Behind(next) => next,
                    }
                }
                _ => return Err(self.not_indexed(&of.ty, object, node)),
            };
        }
        Err(self.not_indexed(&of.ty, object, node))
    }

    /// Returns a character of a string literal of C or C++, whose last one is 0.
    fn character<'t>(&self, of: &Expr<'t>, at: u128, node: &'t Node) -> Option<Expr<'t>> {
        if self.language == Language::Rust {
            return None;
        }
        if let (Kind::Cast(_, literal), Shape::Pointer(to, _)) = (&of.kind, of.ty.shape())
            && to.size() == Some(1)
        {
            let character = self.character(literal, at, node)?;
            let kind = Kind::Convert(Box::new(character));
            return Some(Expr::new(kind, to, node));
        }
        let Kind::Text(bytes) = &of.kind else {
            return None;
        };
        let prefix = literal::prefix(self.source_of(of));
        let units = literal::units(bytes, prefix);
        let at = usize::try_from(at).ok().filter(|at| *at <= units.len())?;
        let unit = units.get(at).copied().unwrap_or(0);
        let ty = literal::character_type(prefix, self.language, self.scope.c_types());
        Some(Expr::new(Kind::Constant(u128::from(unit)), ty, node))
    }

    /// Checks `object[from..to]` of Rust.
    pub(super) fn slice<'t>(
        &self,
        object: &'t Node,
        (from, to, inclusive): (Option<&'t Node>, Option<&'t Node>, bool),
        node: &'t Node,
    ) -> Checked<'t> {
        let mut of = self.check(object)?;
        for nth in 1..=DEREFERENCES {
            let reference = match (library::contents(&of.ty), of.ty.shape()) {
                (Some(Contents::Text(Unit::Byte, _)), _) => Ty::str(),
                (Some(Contents::Sequence(element)), _) => element.slice(),
                (_, Shape::Array(array)) => array.element.clone().slice(),
                (Some(Contents::Pointee(to) | Contents::Wrapped(to)), _) => {
                    of = match of.ty.shape() {
                        Shape::Pointer(to, _) => of.target(to),
                        _ => Expr::new(Kind::Pointee(Box::new(of)), to, node),
                    };
                    continue;
                }
                (_, Shape::Pointer(to, PointerKind::Reference | PointerKind::Owned)) => {
                    of = of.target(to);
                    continue;
                }
                // The elements from a pointer on are no slice; neither are those of a deque.
                (Some(Contents::List(_)), _) | (_, Shape::Pointer(..)) => {
                    return Err(Stop::Needs(node));
                }
                _ => {
                    let range = self.range(from, to, inclusive, node)?;
                    if let Some(item) = self.rust_index(&of, &range, node)? {
                        return Ok(item);
                    }
                    match self.own_deref(&of, nth, node)? {
                        Some(next) => of = next,
                        None => return Err(self.not_indexed(&of.ty, object, node)),
                    }
                    continue;
                }
            };
            let end = |end: Option<&'t Node>| -> Result<_, Stop<'t>> {
                let Some(end) = end else { return Ok(None) };
                let end = self.operand(self.check(end)?);
                self.position(end).map(Some)
            };
            let ends = Box::new(Ends {
                from: end(from)?,
                to: end(to)?,
            });
            let kind = Kind::Slice(Box::new(of), ends, inclusive);
            return Ok(Expr::new(kind, reference.unsized_target(), node));
        }
        Err(self.not_indexed(&of.ty, object, node))
    }

    /// Checks an index or key of an object, which is the `nth` that an index is tried on.
    fn item<'t>(
        &self,
        of: Expr<'t>,
        by: Expr<'t>,
        (object, nth): (&'t Node, usize),
        node: &'t Node,
    ) -> Result<Step<'t>, Stop<'t>> {
        let by_iterator = || library::method(&of.ty, "operator[]", std::slice::from_ref(&by.ty));
        let element = match library::contents(&of.ty) {
            // An iterator is indexed itself, not its element.
            Some(Contents::Pointee(_))
                if self.language == Language::Cpp
                    && let Some(method) = by_iterator() =>
            {
                return Ok(Step::Found(Expr::answer(method, vec![of, by], node)));
            }
            Some(Contents::Map(_, value)) => {
                let kind = Kind::Item(Box::new(of), Box::new(by));
                return Ok(Step::Found(Expr::new(kind, value, node)));
            }
            Some(Contents::Pointee(to) | Contents::Wrapped(to)) => match to.shape() {
                // A slice, whose length is beside its address: `Cow<[T]>`.
                Shape::Array(array) if self.language == Language::Rust => {
                    Some(array.element.clone())
                }
                _ => {
                    let kind = Kind::Pointee(Box::new(of));
                    return Ok(Step::Behind(Expr::new(kind, to, node)));
                }
            },
            Some(Contents::Text(_, element)) => Some(element),
            Some(
                Contents::Sequence(element)
                | Contents::List(element)
                | Contents::Unbounded(element)
                | Contents::Set(element),
            ) => Some(element),
            _ => None,
        };
        if let Some(element) = element {
            let by = self.position(by)?;
            let kind = Kind::Item(Box::new(of), Box::new(by));
            return Ok(Step::Found(Expr::new(kind, element, node)));
        }
        if let Some(method) = library::method(&of.ty, "operator[]", std::slice::from_ref(&by.ty)) {
            return Ok(Step::Found(Expr::answer(method, vec![of, by], node)));
        }
        if let Some(item) = self.rust_index(&of, &by, node)? {
            return Ok(Step::Found(item));
        }
        if let Some(next) = self.own_deref(&of, nth, node)? {
            return Ok(Step::Behind(next));
        }
        if self.language == Language::Cpp
            && let Some(call) = self.member_function(of.clone(), "operator[]", &[by], node)?
        {
            return Ok(Step::Found(self.referent(call)));
        }
        Err(self.not_indexed(&of.ty, object, node))
    }

    fn not_indexed<'t>(&self, ty: &Ty, object: &Node, node: &Node) -> Stop<'t> {
        let source = self.source_text(object);
        let message = format!("`{source}` ({}) cannot be indexed", ty.name());
        wrong(message, &node.span)
    }

    /// Returns an index as a signed number of 64 bits.
    fn position<'t>(&self, by: Expr<'t>) -> Checked<'t> {
        let is_number = c::is_arithmetic(&by.ty) && !c::is_float(&by.ty);
        match (is_number, scalar(&by.ty)) {
            (true, Some(_)) => Ok(converted(by, &c::named("long"))),
            (false, Some(_)) if c::is_float(&by.ty) => {
                Err(wrong(messages::FLOAT_AS_INDEX, &by.span))
            }
            _ => {
                let message = format!("`{}` is no index", by.ty.name());
                Err(wrong(message, &by.span))
            }
        }
    }
}

/// Returns whether a type of Rust is a reference to, or a box of, a type without a size.
pub(super) fn is_wide(ty: &Ty) -> bool {
    let name = ty.name();
    let is_text_or_row = matches!(
        library::contents(ty),
        Some(Contents::Text(..) | Contents::Sequence(_))
    );
    let has = |name| matches!(path::find(ty, name), Lookup::Found(_));
    (name.starts_with('&') || name.starts_with("alloc::boxed::Box<"))
        && !matches!(ty.shape(), Shape::Pointer(..))
        && ty.unsized_reference().is_none()
        && (is_text_or_row || has("data_ptr") || is_trait_object(ty))
}

/// Returns whether a type is that of a container of Rust's library, or a text.
fn is_container(ty: &Ty) -> bool {
    ty.language() == Language::Rust
        && matches!(
            library::contents(ty),
            Some(
                Contents::Text(..)
                    | Contents::Sequence(_)
                    | Contents::List(_)
                    | Contents::Set(_)
                    | Contents::Map(..)
            )
        )
}

/// A step of an index into an object.
enum Step<'t> {
    /// The element.
    Found(Expr<'t>),
    /// The object that it stands for is indexed.
    Behind(Expr<'t>),
}

/// Returns the object of a smart pointer or wrapper.
fn pointee<'t>(of: &Expr<'t>, node: &'t Node) -> Option<Expr<'t>> {
    // The fields of a struct with an unsized tail depend on the length in the reference.
    if matches!(path::find(&of.ty, "data_ptr"), Lookup::Found(_)) {
        return None;
    }
    match library::contents(&of.ty)? {
        Contents::Pointee(to) | Contents::Wrapped(to) => {
            Some(Expr::new(Kind::Pointee(Box::new(of.clone())), to, node))
        }
        _ => None,
    }
}
