//! Calls in a member function of C++ that name no object: the function is one of the frame's own
//! class or of its bases, and gets the frame's object (ISO C++ [class.mfct.non.static]).

use super::super::ir::{Expr, Storage};
use super::super::tree::Node;
use super::cpp_members::split_last;
use super::{Checker, Stop, wrong};
use crate::expr::overload;
use crate::ids::error::Error;
use crate::inspect::value::base_path::{self, BaseLookup, Way};
use crate::inspect::value::path::{self, Lookup, Part};
use crate::inspect::value::{Shape, Ty, members};
use dwarf::{Declaration, Language, Method};

/// The members of one name that a class or its bases declare.
enum Own {
    /// Member functions; the way to the class that has them.
    Functions(Way),
    /// A data member.
    Data(Ty),
    Nothing,
}

/// The object of the member function whose frame it is.
enum Object<'t> {
    Known(Expr<'t>),
    /// It has no place.
    Lost(Error),
    /// The function has none.
    None,
}

impl Checker<'_> {
    /// Checks `name(…)` and `Base::name(…)` as a call of a member of the frame's own class;
    /// `function` is the node of the name. `None`: the class and those around it have no such member,
    /// or a local variable hides it.
    pub(super) fn own_call<'t>(
        &self,
        name: &str,
        function: &'t Node,
        arguments: &[Expr<'t>],
        node: &'t Node,
    ) -> Result<Option<Expr<'t>>, Stop<'t>> {
        if self.language != Language::Cpp || self.is_local(name, function) {
            return Ok(None);
        }
        let object = self.own_object(function);
        if let Object::Known(object) = &object
            && let Some(call) = self.call_within(object.clone(), name, function, arguments, node)?
        {
            return Ok(Some(call));
        }
        match split_last(name) {
            Some(_) => Ok(None),
            None => self.call_of_class(object, name, arguments, node),
        }
    }

    /// Checks a call of a member function of the frame's object; `path` is its name as it is written.
    fn call_within<'t>(
        &self,
        object: Expr<'t>,
        path: &str,
        function: &'t Node,
        arguments: &[Expr<'t>],
        node: &'t Node,
    ) -> Result<Option<Expr<'t>>, Stop<'t>> {
        let (holder, name) = match split_last(path) {
            None => (object.clone(), path),
            Some((scope, last)) => match self.base_named(&object.ty, scope) {
                BaseLookup::Found(way) => (Expr::part(object.clone(), way, node), last),
                BaseLookup::Ambiguous | BaseLookup::Absent => return Ok(None),
            },
        };
        let way = match declared(&holder.ty, name) {
            Own::Functions(way) => way,
            Own::Data(ty) if is_callable(&ty) => {
                let callee = self.check(function)?;
                let call = self.call_of(callee, arguments.to_vec(), None, node);
                return call.map(Some);
            }
            Own::Data(_) | Own::Nothing => return Ok(None),
        };
        let base = Expr::part(holder, way, node);
        if let Some(answer) = self.answer(&base, name, arguments, node)? {
            return Ok(Some(answer));
        }
        // With a path the call is not virtual: `Base::f()` calls the function of `Base`.
        let object = match path == name {
            true => base.clone(),
            false => object,
        };
        match self.member_function(object, path, arguments, node)? {
            Some(call) => Ok(Some(call)),
            None => {
                let class = base.ty.name();
                let message = format!("no callable `{name}` of `{class}` in the program");
                Err(wrong(message, &node.span))
            }
        }
    }

    /// Checks a call of a static member function of the classes around the frame's function. Others
    /// hide the functions outside, and need an object.
    fn call_of_class<'t>(
        &self,
        object: Object<'t>,
        name: &str,
        arguments: &[Expr<'t>],
        node: &'t Node,
    ) -> Result<Option<Expr<'t>>, Stop<'t>> {
        for class in self.scope.classes_around() {
            let Own::Functions(way) = declared(&class, name) else {
                continue;
            };
            let holder = way.last().map_or(&class, |(_, ty)| ty);
            let Shape::Composite(holder) = holder.shape() else {
                continue;
            };
            let (known, _) = self.functions_of(&holder, name)?;
            return match (
                self.best_call(&known, false, name, arguments.to_vec(), node),
                object,
            ) {
                (Err(Stop::Wrong(_)), Object::Lost(why)) => Err(Stop::Wrong(why)),
                (Ok(None), _) => {
                    let class = class.name();
                    let message = format!("no callable `{name}` of `{class}` in the program");
                    Err(wrong(message, &node.span))
                }
                (call, _) => call,
            };
        }
        Ok(None)
    }

    /// Returns whether a name means a variable or function of the frame's blocks.
    fn is_local(&self, name: &str, node: &Node) -> bool {
        !matches!(self.scope.variable(Storage::Local, name, node), Ok(None))
    }

    /// Returns the object of the member function whose frame it is; also of the one around a lambda,
    /// if the lambda has captured it.
    fn own_object<'t>(&self, node: &'t Node) -> Object<'t> {
        if let Err(why) = self.scope.variable(Storage::Local, "this", node) {
            return Object::Lost(why);
        }
        let Ok(Some(this)) = self.variable(Storage::Local, "this", node) else {
            return Object::None;
        };
        match this.ty.shape() {
            Shape::Pointer(class, _) => Object::Known(this.target(class)),
            // The copy that a lambda has captured by `*this`.
            Shape::Composite(_) => Object::Known(this),
            _ => Object::None,
        }
    }
}

/// Returns what a class declares with a name, or else its bases.
fn declared(class: &Ty, name: &str) -> Own {
    let is_base = |part: &&(Part, Ty)| matches!(part.0, Part::Base(..));
    let data = match path::find(class, name) {
        Lookup::Found(parts) => parts.last().cloned().map(|(last, ty)| {
            let levels = parts.iter().filter(is_base).count();
            (last, ty, levels)
        }),
        _ => None,
    };
    let data = data.filter(|(last, ..)| !matches!(last, Part::Base(..)));
    let functions = match may_have_functions(class, name) {
        true => base_path::find(class, &|it| has_functions(it, name)),
        false => BaseLookup::Absent,
    };
    let functions = match functions {
        BaseLookup::Found(way) => Some(way),
        // The lookup of the functions themselves decides.
        BaseLookup::Ambiguous => Some(Way::new()),
        BaseLookup::Absent => None,
    };
    match (functions, data) {
        (Some(way), Some((_, ty, levels))) if levels < way.len() => Own::Data(ty),
        (Some(way), _) => Own::Functions(way),
        (None, Some((_, ty, _))) => Own::Data(ty),
        (None, None) => Own::Nothing,
    }
}

/// Returns false if neither a class nor its bases have a function of a name: without a list of all
/// functions.
fn may_have_functions(class: &Ty, name: &str) -> bool {
    let Shape::Composite(class) = class.shape() else {
        return false;
    };
    let found = class.module().member_value(class.ty.id, name);
    matches!(found, Some(Declaration::Function(_)))
}

/// Returns whether a class itself declares member functions of a name. Its own name is that of the
/// class, which makes an object.
fn has_functions(class: &Ty, name: &str) -> bool {
    let Shape::Composite(class) = class.shape() else {
        return false;
    };
    let bare = class.ty.name.split('<').next().unwrap_or_default();
    let is_named = |method: &Method| overload::is_named(&method.name, name);
    members::last_component(bare) != name
        && class.module().methods(class.ty.id).iter().any(is_named)
}

/// Returns whether a value of a type may be called: a pointer to a function, an object.
fn is_callable(ty: &Ty) -> bool {
    match ty.shape() {
        Shape::Pointer(of, _) => matches!(of.shape(), Shape::Function | Shape::Composite(_)),
        shape => matches!(shape, Shape::Composite(_)),
    }
}
