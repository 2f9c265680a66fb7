//! What a closure or coroutine of Rust captures by a reference with a length or a vtable: `&str`, `&[T]`,
//! `&dyn Trait`. rustc describes the variable as the reference's target, which has no size: as one byte,
//! one element. The environment of the closure has a member with the reference's own type.

use crate::entries::children::Children;
use crate::functions::Function;
use crate::functions::variable::{Variable, VariableKind};
use crate::ids::DieRef;
use crate::ids::Language;
use crate::ids::error::Error;
use crate::lines::DebugInfo;
use crate::locations::evaluate::{Scope, unit_of};
use crate::locations::locate::no_info;
use crate::locations::{FrameContext, Location};
use crate::module::Module;
use crate::types::{Member, TypeId, TypeKind};
use gimli::{Expression, Operation};
use std::cell::Cell;
use std::sync::Arc;

/// Maximum number of closures around each other whose captures are followed.
const NESTING: u32 = 8;

/// Prefix of the name of a member that is a captured reference.
const REFERENCE: &str = "_ref__";

impl Module {
    /// Returns the type of the reference, with a length or a vtable, by which a closure or coroutine of
    /// Rust has captured a variable; `None` for all other variables. The variable's own type is that of an
    /// element. Cost: the first time, the declarations around the closure are read.
    pub fn captured_reference(&self, variable: &Variable) -> Option<TypeId> {
        if variable.kind != VariableKind::Local || variable.place.is_some() {
            return None;
        }
        let find = || captured_reference(self, variable).into_iter().collect();
        let found = self.answers.captured.answer(self, variable.id, find);
        found.into_iter().next()
    }

    /// Returns the types of the variable `root` in the functions around a closure, one for each instance of these
    /// functions, if the closure's `variable` is a capture of `root`; otherwise returns no types.
    ///
    /// Cost: the functions around are looked up by name.
    pub fn captured_from(&self, variable: &Variable, root: &str) -> Vec<TypeId> {
        let mut found = Vec::new();
        add_origins(self, variable, root, 0, &mut found);
        found
    }

    /// Returns the location of the reference of [`Module::captured_reference`].
    ///
    /// # Errors
    /// The location is corrupt, or needs memory that cannot be read.
    pub fn locate_captured(
        &self,
        variable: &Variable,
        frame: &FrameContext<'_>,
    ) -> Result<Location, Error> {
        let info = no_info(self)?;
        let located = locate(self, info, variable.id, frame);
        located.map_err(|error| info.error_at(variable.id, error))
    }
}

fn captured_reference(module: &Module, variable: &Variable) -> Option<TypeId> {
    let name = format!("{REFERENCE}{}", variable.name);
    let is_wide = |ty: &TypeId| {
        let ty = module.ty(*ty);
        ty.is_ok_and(|ty| ty.name.starts_with('&') && matches!(ty.kind, TypeKind::Composite(_)))
    };
    member_of(module, environment(module, variable)?, &name).filter(is_wide)
}

/// Returns whether a variable is passed to its function: a parameter, or a capture of a closure.
pub(super) fn is_passed(info: &DebugInfo, variable: &Variable) -> bool {
    match variable.kind {
        VariableKind::Parameter => true,
        VariableKind::Local => variable.place.is_none() && body_of(info, variable).is_some(),
        VariableKind::Static => false,
    }
}

/// Adds the types of [`Module::captured_from`].
fn add_origins(
    module: &Module,
    variable: &Variable,
    root: &str,
    depth: u32,
    found: &mut Vec<TypeId>,
) {
    let is_local = variable.kind == VariableKind::Local && depth < NESTING;
    let Some(around) = path_around(module, variable).filter(|_| is_local) else {
        return;
    };
    let place = |it: &Variable| {
        let declared = it.declaration.as_ref()?;
        Some((declared.file.path.clone(), declared.line))
    };
    for function in functions_around(module, &around) {
        let mut scopes = vec![&function.scope];
        while let Some(scope) = scopes.pop() {
            scopes.extend(&scope.children);
            let mut variables = scope.variables.iter();
            let is_it = |it: &&Variable| it.name == root && place(it) == place(variable);
            let Some(origin) = variables.find(is_it) else {
                continue;
            };
            let before = found.len();
            // An inner closure may capture a variable that the outer closure has captured.
            add_origins(module, origin, root, depth + 1, found);
            if before == found.len() {
                found.extend(origin.ty);
            }
        }
    }
}

/// Returns the functions of that name, or, since methods are not where their closures are (`{impl#0}`), all that
/// have the last component of it.
fn functions_around(module: &Module, around: &str) -> Vec<Arc<Function>> {
    let found = module.functions_named(around);
    match around.rsplit_once("::") {
        Some((_, last)) if found.is_empty() && !last.starts_with('{') => {
            module.functions_named(last)
        }
        _ => found,
    }
}

/// Returns the name of the function around the closure or coroutine whose body declares a variable.
fn path_around(module: &Module, variable: &Variable) -> Option<String> {
    let info = module.info()?;
    let (body, _) = body_of(info, variable)?;
    let (unit, entry) = info.entry(info.parent(body)?).ok()?;
    Some(info.qualified_name_of(unit, &entry))
}

/// Returns the type of the environment of the closure or coroutine whose body declares a variable.
fn environment(module: &Module, variable: &Variable) -> Option<TypeId> {
    let info = module.info()?;
    let (body, name) = body_of(info, variable)?;
    environment_of(module, info, body, &name)
}

/// Returns the body of the closure or coroutine that declares a variable, and the name of the type of its
/// environment.
fn body_of(info: &DebugInfo, variable: &Variable) -> Option<(DieRef, String)> {
    let declared = info.root_origin(variable.id);
    let body = info.root_origin(info.parent(declared)?);
    let (unit, entry) = info.entry(body).ok()?;
    if unit.language != Language::Rust || entry.tag() != gimli::DW_TAG_subprogram {
        return None;
    }
    let name = std::str::from_utf8(info.own_name(unit, &entry)?).ok()?;
    Some((body, environment_name(name)?))
}

/// Returns the name of the type of a closure's or coroutine's environment by that of its body:
/// `{closure_env#0}<T>` for `{closure#0}<T>`.
fn environment_name(body: &str) -> Option<String> {
    let (kind, number) = body.strip_prefix('{')?.split_once('#')?;
    let is_body = matches!(
        kind,
        "closure" | "async_fn" | "async_block" | "async_closure" | "gen_block" | "coroutine"
    );
    is_body.then(|| format!("{{{kind}_env#{number}"))
}

/// Returns the type of a name that is declared beside a function, or elsewhere in the image in the same
/// scope.
fn environment_of(module: &Module, info: &DebugInfo, body: DieRef, name: &str) -> Option<TypeId> {
    let parent = info.parent(body)?;
    let (unit, entry) = info.entry(parent).ok()?;
    let mut children = Children::of(unit, &entry).ok()??;
    while let Ok(Some(child)) = children.next() {
        if child.tag() == gimli::DW_TAG_structure_type
            && info.own_name(unit, child) == Some(name.as_bytes())
        {
            return Some(TypeId(unit.die(child.offset())));
        }
    }
    let path = format!("{}::{name}", info.qualified_name_of(unit, &entry));
    module.types_named(&path, None).into_iter().next()
}

/// Returns the type of a member of an environment: of a coroutine's, each of its states has what is
/// captured.
fn member_of(module: &Module, environment: TypeId, name: &str) -> Option<TypeId> {
    let ty = module.ty(environment).ok()?;
    let TypeKind::Composite(composite) = &ty.kind else {
        return None;
    };
    let named = |members: &[Member]| members.iter().find(|it| it.name == name).map(|it| it.ty);
    let state = || {
        let first = composite.variants.as_ref()?.variants.first()?;
        let state = module.ty(first.members.first()?.ty).ok()?;
        match &state.kind {
            TypeKind::Composite(state) => named(&state.members),
            _ => None,
        }
    };
    named(&composite.members).or_else(state)
}

/// Returns where the reference is: the variable's location reads its first word last.
fn locate(
    module: &Module,
    info: &DebugInfo,
    variable: DieRef,
    frame: &FrameContext<'_>,
) -> Result<Location, Error> {
    let (unit, entry) = info.entry(variable)?;
    let Some((holder, value)) = info.inherited(unit, &entry, gimli::DW_AT_location) else {
        return Ok(Location::OptimizedOut);
    };
    let scope = Scope {
        module,
        info,
        unit: unit_of(info, holder)?,
        frame,
        expressions: &Cell::new(0),
        is_passed: true,
    };
    let Some(expression) = scope.expression_at(value)? else {
        return Ok(Location::OptimizedOut);
    };
    let located = |expression| match without_last_read(&scope, expression)? {
        Some(place) => scope.address(place).map(Location::Memory),
        // Only the address of the target is left of the reference.
        None => Ok(Location::OptimizedOut),
    };
    match located(expression) {
        // A call clobbered the register that has the address of the environment.
        Err(Error::RegisterUnavailable(_)) if frame.cfa.is_some() => {
            let spilled = scope.spilled_at(value)?;
            spilled.map_or(Ok(Location::OptimizedOut), located)
        }
        location => location,
    }
}

/// Returns an expression without the `DW_OP_deref` that it ends with; `None` if it ends otherwise.
fn without_last_read(
    scope: &Scope<'_>,
    expression: Expression<crate::file::R>,
) -> Result<Option<Expression<crate::file::R>>, Error> {
    let mut rest = expression.0;
    let mut last = None;
    while !rest.is_empty() {
        let before = expression.0.len() - rest.len();
        last = match Operation::parse(&mut rest, scope.unit.raw.encoding())? {
            Operation::Deref {
                size: 8,
                space: false,
                ..
            } if before > 0 => Some(before),
            _ => None,
        };
    }
    Ok(last.map(|end| Expression(expression.0.range_to(..end))))
}

#[cfg(test)]
mod tests {
    use super::environment_name;

    #[test]
    fn environments_are_named_like_their_bodies() {
        let name = |body| environment_name(body).unwrap_or_default();
        assert_eq!(name("{closure#0}"), "{closure_env#0}");
        assert_eq!(name("{closure#12}<u8, &str>"), "{closure_env#12}<u8, &str>");
        assert_eq!(name("{async_fn#0}"), "{async_fn_env#0}");
        assert_eq!(name("{async_block#1}"), "{async_block_env#1}");
        assert_eq!(name("{impl#1}"), "");
        assert_eq!(name("main"), "");
        assert_eq!(name("{"), "");
    }
}
