//! Which expressions of a crate have no side effects.

use std::collections::{HashMap, HashSet};
use syn::visit::{self, Visit};
use syn::{BinOp, Block, Expr, FnArg, Ident, ImplItem, Item, Stmt, Type, UnOp};

/// Methods of the standard library that only read. A method of the crate with the same name decides instead.
const METHODS: &str = "len is_empty is_some is_none is_ok is_err as_str as_bytes as_slice as_ref as_deref get first \
    last contains contains_key starts_with ends_with unwrap_or unwrap unwrap_or_default clone cloned copied min max \
    abs pow clamp signum wrapping_add wrapping_sub wrapping_mul wrapping_neg wrapping_shl wrapping_shr checked_add \
    checked_sub checked_mul checked_div checked_rem saturating_sub saturating_add saturating_mul overflowing_add \
    overflowing_sub abs_diff rem_euclid div_euclid div_ceil is_power_of_two next_power_of_two count_ones count_zeros \
    leading_zeros trailing_zeros rotate_left rotate_right swap_bytes to_le to_be to_be_bytes to_le_bytes is_ascii \
    is_ascii_digit is_ascii_alphabetic is_ascii_alphanumeric is_ascii_whitespace is_ascii_punctuation \
    is_ascii_uppercase is_ascii_lowercase is_ascii_hexdigit is_ascii_control to_ascii_lowercase to_ascii_uppercase \
    eq_ignore_ascii_case is_alphabetic is_numeric is_alphanumeric is_whitespace is_uppercase is_lowercase is_control \
    is_digit to_digit len_utf8 is_char_boundary trim trim_start trim_end find rfind cmp partial_cmp eq ne lt le gt ge \
    start end is_nan is_finite is_infinite is_sign_negative floor ceil round trunc fract sqrt to_bits is_positive \
    is_negative as_secs as_millis subsec_nanos to_owned to_string to_vec ok err and or xor is_null strip_prefix \
    strip_suffix split_first split_last is_lt is_gt is_le is_ge is_eq is_ne is_multiple_of ilog2 ilog10 isqrt \
    unsigned_abs split_at iter chars bytes keys values lines split_whitespace char_indices count nth rev sum skip take \
    enumerate step_by zip";
/// Functions of the standard library that only read.
const FUNCTIONS: &str = "usize::from u8::from u16::from u32::from u64::from u128::from i16::from i32::from i64::from \
    i128::from isize::from f64::from f32::from char::from bool::from mem::size_of std::mem::size_of core::mem::size_of \
    size_of cmp::min cmp::max std::cmp::min std::cmp::max core::cmp::min core::cmp::max min max char::from_u32 \
    char::from_digit std::str::from_utf8 core::str::from_utf8 str::from_utf8 String::new Vec::new usize::try_from \
    u8::try_from u16::try_from i32::try_from u32::try_from u64::pow Duration::from_secs Duration::from_millis";

/// What a function's body says about side effects.
#[derive(Default)]
struct Body {
    has_effects: bool,
    methods: HashSet<String>,
    functions: HashSet<String>,
}

impl<'a> Visit<'a> for Body {
    fn visit_expr(&mut self, expression: &'a Expr) {
        match expression {
            Expr::Assign(_) | Expr::Await(_) | Expr::Async(_) | Expr::Yield(_) | Expr::Macro(_) => {
                self.has_effects |= matches_argument(expression).is_none();
            }
            Expr::Binary(it) if assigns(&it.op) => self.has_effects = true,
            Expr::Reference(it) if it.mutability.is_some() => self.has_effects = true,
            Expr::RawAddr(_) => self.has_effects = true,
            Expr::MethodCall(it) => {
                self.methods.insert(it.method.to_string());
            }
            Expr::Call(it) => match &*it.func {
                Expr::Path(path) => {
                    self.functions.insert(path_text(&path.path));
                }
                _ => self.has_effects = true,
            },
            _ => {}
        }
        visit::visit_expr(self, expression);
    }

    fn visit_stmt(&mut self, statement: &'a Stmt) {
        self.has_effects |= matches!(statement, Stmt::Macro(_));
        visit::visit_stmt(self, statement);
    }

    fn visit_pat_ident(&mut self, pattern: &'a syn::PatIdent) {
        self.has_effects |= pattern.mutability.is_some();
        visit::visit_pat_ident(self, pattern);
    }
}

impl Body {
    fn of(block: &Block, is_async: bool) -> Self {
        let mut body = Self::default();
        body.visit_block(block);
        body.has_effects |= is_async;
        body
    }
}

/// The functions of the crate, by their names.
#[derive(Default)]
struct Functions {
    methods: HashMap<String, Vec<Body>>,
    functions: HashMap<String, Vec<Body>>,
    /// Types whose values do something when they end.
    dropped: HashSet<String>,
}

impl<'a> Visit<'a> for Functions {
    fn visit_item_fn(&mut self, function: &'a syn::ItemFn) {
        let signature = &function.sig;
        let mut body = Body::of(&function.block, signature.asyncness.is_some());
        body.has_effects |= signature.inputs.iter().any(|input| match input {
            FnArg::Typed(it) => changes(&it.ty),
            FnArg::Receiver(_) => true,
        });
        let name = signature.ident.to_string();
        self.functions.entry(name).or_default().push(body);
        visit::visit_item_fn(self, function);
    }

    fn visit_item_impl(&mut self, item: &'a syn::ItemImpl) {
        let of_trait = item.trait_.as_ref();
        let of_trait = of_trait.and_then(|(_, path, _)| path.segments.last());
        if of_trait.is_some_and(|it| it.ident == "Drop") {
            self.dropped.extend(last_name(&item.self_ty));
        }
        for member in &item.items {
            if let ImplItem::Fn(function) = member {
                self.add_method(&function.sig, Some(&function.block));
            }
        }
        visit::visit_item_impl(self, item);
    }

    fn visit_trait_item_fn(&mut self, function: &'a syn::TraitItemFn) {
        self.add_method(&function.sig, function.default.as_ref());
        visit::visit_trait_item_fn(self, function);
    }
}

impl Functions {
    fn add_method(&mut self, signature: &syn::Signature, block: Option<&Block>) {
        let mut body = match block {
            Some(block) => Body::of(block, signature.asyncness.is_some()),
            // Its implementations are looked at.
            None => Body::default(),
        };
        let reads = signature
            .receiver()
            .is_some_and(|it| it.reference.is_some() && it.mutability.is_none());
        body.has_effects |= !reads
            || signature.inputs.iter().skip(1).any(|input| match input {
                FnArg::Typed(it) => changes(&it.ty),
                FnArg::Receiver(_) => true,
            });
        let name = signature.ident.to_string();
        self.methods.entry(name).or_default().push(body);
    }
}

/// Knows which expressions have no side effects.
pub struct Purity {
    methods: HashSet<String>,
    functions: HashSet<String>,
    dropped: HashSet<String>,
}

impl Purity {
    /// Reads all files of a crate.
    pub fn of(files: &[&syn::File]) -> Self {
        let mut own = Functions::default();
        for file in files {
            own.visit_file(file);
        }
        let library = |text: &'static str, own: &HashMap<String, Vec<Body>>| {
            let names = text.split_whitespace().filter(|it| !own.contains_key(*it));
            names.map(str::to_owned).collect::<HashSet<_>>()
        };
        let mut purity = Self {
            methods: library(METHODS, &own.methods),
            functions: library(FUNCTIONS, &own.functions),
            dropped: own.dropped.clone(),
        };
        purity.methods.extend(own.methods.keys().cloned());
        purity.functions.extend(own.functions.keys().cloned());
        // Functions that call what is not known to be free of effects fall out, until none does.
        loop {
            let falls = |name: &String, bodies: &HashMap<String, Vec<Body>>| {
                bodies
                    .get(name)
                    .is_some_and(|it| it.iter().any(|body| !purity.allows(body)))
            };
            let names = purity.methods.iter();
            let methods: Vec<_> = names
                .filter(|it| falls(it, &own.methods))
                .cloned()
                .collect();
            let names = purity.functions.iter();
            let functions: Vec<_> = names
                .filter(|it| falls(it, &own.functions))
                .cloned()
                .collect();
            if methods.is_empty() && functions.is_empty() {
                return purity;
            }
            purity.methods.retain(|it| !methods.contains(it));
            purity.functions.retain(|it| !functions.contains(it));
        }
    }

    fn allows(&self, body: &Body) -> bool {
        !body.has_effects
            && body.methods.iter().all(|it| self.methods.contains(it))
            && body.functions.iter().all(|it| self.makes_or_reads(it))
    }

    fn makes_or_reads(&self, path: &str) -> bool {
        self.functions.contains(path) || self.makes(path)
    }

    /// Whether a path is that of a variant or of a structure, whose end does nothing.
    fn makes(&self, path: &str) -> bool {
        let starts_large = |it: &str| it.starts_with(char::is_uppercase);
        path.rsplit("::").next().is_some_and(starts_large)
            && !path.split("::").any(|it| self.dropped.contains(it))
    }

    /// Returns whether an expression calls functions; `None` if it may have side effects.
    pub fn calls(&self, expression: &Expr) -> Option<bool> {
        let both = |one: &Expr, other: &Expr| Some(self.calls(one)? | self.calls(other)?);
        match expression {
            Expr::Path(_) | Expr::Lit(_) => Some(false),
            Expr::Field(it) => self.calls(&it.base),
            Expr::Index(it) => both(&it.expr, &it.index),
            Expr::Unary(it) => self.calls(&it.expr),
            Expr::Reference(it) if it.mutability.is_none() => self.calls(&it.expr),
            Expr::Binary(it) if !assigns(&it.op) => both(&it.left, &it.right),
            Expr::Cast(it) => self.calls(&it.expr),
            Expr::Range(it) => self.any(it.start.iter().chain(&it.end).map(|it| &**it)),
            Expr::Tuple(it) => self.any(it.elems.iter()),
            Expr::Array(it) => self.any(it.elems.iter()),
            Expr::Repeat(it) => self.calls(&it.expr),
            Expr::Struct(it) if self.makes(&path_text(&it.path)) => {
                let rest = it.rest.iter().map(|it| &**it);
                self.any(it.fields.iter().map(|it| &it.expr).chain(rest))
            }
            Expr::Paren(it) => self.calls(&it.expr),
            Expr::Group(it) => self.calls(&it.expr),
            Expr::Let(it) => self.calls(&it.expr),
            Expr::If(it) => {
                let (_, other) = it.else_branch.as_ref()?;
                Some(both(&it.cond, other)? | self.block(&it.then_branch)?)
            }
            Expr::Match(it) => {
                let arms = self.any(it.arms.iter().map(|it| &*it.body))?;
                let guards = it.arms.iter().filter_map(|it| it.guard.as_ref());
                Some(self.calls(&it.expr)? | arms | self.any(guards.map(|it| &*it.1))?)
            }
            Expr::Block(it) if it.label.is_none() => self.block(&it.block),
            Expr::Unsafe(it) => self.block(&it.block),
            Expr::Macro(_) => self.calls(&matches_argument(expression)?),
            Expr::Call(it) => {
                let Expr::Path(path) = &*it.func else {
                    return None;
                };
                let path = path_text(&path.path);
                let arguments = self.any(it.args.iter())?;
                match self.makes(&path) {
                    true => Some(arguments),
                    false => self.functions.contains(&path).then_some(true),
                }
            }
            Expr::MethodCall(it) => {
                self.calls(&it.receiver)?;
                self.any(it.args.iter())?;
                let name = it.method.to_string();
                self.methods.contains(&name).then_some(true)
            }
            _ => None,
        }
    }

    fn any<'a>(&self, mut expressions: impl Iterator<Item = &'a Expr>) -> Option<bool> {
        expressions.try_fold(false, |calls, it| Some(calls | self.calls(it)?))
    }

    fn block(&self, block: &Block) -> Option<bool> {
        match &block.stmts[..] {
            [Stmt::Expr(expression, None)] => self.calls(expression),
            _ => None,
        }
    }
}

/// The types of a crate whose text of `Debug` says all that they hold: derived, down to the leaves.
#[derive(Default)]
pub struct Derived {
    derived: HashSet<String>,
    written: HashSet<String>,
    members: HashMap<String, HashSet<String>>,
}

impl Derived {
    /// Reads all files of a crate; returns the names of such types.
    pub fn of(files: &[&syn::File]) -> HashSet<String> {
        let mut found = Self::default();
        for file in files {
            found.visit_file(file);
        }
        let Self {
            mut derived,
            written,
            members,
        } = found;
        derived.retain(|it| !written.contains(it));
        loop {
            let count = derived.len();
            let known = derived.clone();
            let is_known = |name: &String| {
                known.contains(name) || crate::compare::is_plain(name) || name.len() == 1
            };
            derived.retain(|it| members.get(it).is_none_or(|all| all.iter().all(is_known)));
            if derived.len() == count {
                return derived;
            }
        }
    }

    fn add(&mut self, name: &Ident, attributes: &[syn::Attribute], members: Members) {
        let derives = attributes.iter().any(|it| {
            let mut found = false;
            let _ = it.parse_nested_meta(|meta| {
                found |= meta
                    .path
                    .segments
                    .last()
                    .is_some_and(|it| it.ident == "Debug");
                Ok(())
            });
            it.path().is_ident("derive") && found
        });
        let name = name.to_string();
        match derives {
            true => self.derived.insert(name.clone()),
            false => self.written.insert(name.clone()),
        };
        self.members.entry(name).or_default().extend(members.0);
    }
}

impl<'a> Visit<'a> for Derived {
    fn visit_item(&mut self, item: &'a Item) {
        let mut members = Members::default();
        match item {
            Item::Struct(it) => {
                members.visit_fields(&it.fields);
                self.add(&it.ident, &it.attrs, members);
            }
            Item::Enum(it) => {
                members.visit_item_enum(it);
                self.add(&it.ident, &it.attrs, members);
            }
            Item::Union(it) => {
                self.written.insert(it.ident.to_string());
            }
            _ => {}
        }
        visit::visit_item(self, item);
    }
}

/// The names of the types of members; `*` for pointers and functions.
#[derive(Default)]
struct Members(HashSet<String>);

impl<'a> Visit<'a> for Members {
    fn visit_field(&mut self, field: &'a syn::Field) {
        self.visit_type(&field.ty);
    }

    fn visit_type(&mut self, ty: &'a Type) {
        match ty {
            Type::Path(_) => self.0.extend(last_name(ty)),
            Type::Ptr(_) | Type::BareFn(_) | Type::TraitObject(_) | Type::Macro(_) => {
                self.0.insert("*".to_owned());
            }
            _ => {}
        }
        visit::visit_type(self, ty);
    }
}

/// Returns the last name of a type's path.
fn last_name(ty: &Type) -> Option<String> {
    match ty {
        Type::Path(it) => it.path.segments.last().map(|it| it.ident.to_string()),
        _ => None,
    }
}

/// Whether a parameter lets a function change something.
fn changes(ty: &Type) -> bool {
    match ty {
        Type::Reference(it) => it.mutability.is_some(),
        Type::Ptr(it) => it.mutability.is_some(),
        Type::ImplTrait(_) | Type::BareFn(_) => true,
        _ => false,
    }
}

/// Returns a path without its generic arguments.
pub fn path_text(path: &syn::Path) -> String {
    let names = path.segments.iter().map(|it| it.ident.to_string());
    names.collect::<Vec<_>>().join("::")
}

fn assigns(operator: &BinOp) -> bool {
    use BinOp::*;
    !matches!(
        operator,
        Add(_)
            | Sub(_)
            | Mul(_)
            | Div(_)
            | Rem(_)
            | And(_)
            | Or(_)
            | BitXor(_)
            | BitAnd(_)
            | BitOr(_)
            | Shl(_)
            | Shr(_)
            | Eq(_)
            | Lt(_)
            | Le(_)
            | Ne(_)
            | Ge(_)
            | Gt(_)
    )
}

/// Returns the first argument of `matches!`, if an expression is that.
pub fn matches_argument(expression: &Expr) -> Option<Expr> {
    let Expr::Macro(it) = expression else {
        return None;
    };
    if !it.mac.path.is_ident("matches") {
        return None;
    }
    let first = |input: syn::parse::ParseStream| {
        let first: Expr = input.parse()?;
        // The pattern, and perhaps a guard.
        let _: proc_macro2::TokenStream = input.parse()?;
        Ok(first)
    };
    it.mac.parse_body_with(first).ok()
}

/// Whether an expression is worth a probe: more than a literal or a bracket.
pub fn is_worth(expression: &Expr) -> bool {
    match expression {
        Expr::Lit(_) | Expr::Let(_) | Expr::Paren(_) | Expr::Group(_) | Expr::Block(_) => false,
        Expr::Range(it) => it.start.is_some() || it.end.is_some(),
        Expr::Unary(it) => !matches!((&it.op, &*it.expr), (UnOp::Neg(_), Expr::Lit(_))),
        _ => true,
    }
}
