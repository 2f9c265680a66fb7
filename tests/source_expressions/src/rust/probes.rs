//! The statements of a file that begin a line, with their probes.

use super::purity::{Purity, is_worth, matches_argument};
use crate::probe::{Probe, Statement};
use std::path::Path;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, Expr, ExprMacro, Stmt};

/// The longest text of a probe.
const LONGEST: usize = 300;

/// Looks through a file.
pub struct Finder<'a> {
    /// The file's path, as it is to stand in the statements.
    pub file: &'a Path,
    /// Its text.
    pub text: &'a str,
    /// Knows what has side effects.
    pub purity: &'a Purity,
    /// Where the statements go.
    pub found: &'a mut Vec<Statement>,
    /// The next number of a probe.
    pub next: &'a mut usize,
    /// The functions around, and whether the compiler may evaluate them: nothing is printed there.
    pub functions: Vec<bool>,
}

/// Whether an item is a part of the crate's tests.
fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|it| {
        let is_test = it
            .path()
            .segments
            .last()
            .is_some_and(|it| it.ident == "test");
        let is_configured = it.path().is_ident("cfg")
            && matches!(&it.meta, syn::Meta::List(list) if list.tokens.to_string() == "test");
        is_test || is_configured
    })
}

impl<'a> Visit<'a> for Finder<'_> {
    fn visit_item_mod(&mut self, module: &'a syn::ItemMod) {
        if !is_test(&module.attrs) {
            visit::visit_item_mod(self, module);
        }
    }

    fn visit_item_fn(&mut self, function: &'a syn::ItemFn) {
        if !is_test(&function.attrs) {
            self.functions.push(function.sig.constness.is_some());
            visit::visit_item_fn(self, function);
            self.functions.pop();
        }
    }

    fn visit_impl_item_fn(&mut self, function: &'a syn::ImplItemFn) {
        self.functions.push(function.sig.constness.is_some());
        visit::visit_impl_item_fn(self, function);
        self.functions.pop();
    }

    fn visit_trait_item_fn(&mut self, function: &'a syn::TraitItemFn) {
        self.functions.push(function.sig.constness.is_some());
        visit::visit_trait_item_fn(self, function);
        self.functions.pop();
    }

    // What the compiler evaluates.
    fn visit_item_const(&mut self, _: &'a syn::ItemConst) {}
    fn visit_item_static(&mut self, _: &'a syn::ItemStatic) {}
    fn visit_impl_item_const(&mut self, _: &'a syn::ImplItemConst) {}
    fn visit_trait_item_const(&mut self, _: &'a syn::TraitItemConst) {}
    fn visit_expr_const(&mut self, _: &'a syn::ExprConst) {}
    fn visit_type(&mut self, _: &'a syn::Type) {}
    fn visit_pat(&mut self, _: &'a syn::Pat) {}

    fn visit_stmt(&mut self, statement: &'a Stmt) {
        if self.functions.last() == Some(&false) {
            self.add(statement);
        }
        visit::visit_stmt(self, statement);
    }
}

impl Finder<'_> {
    fn add(&mut self, statement: &Stmt) {
        let span = statement.span();
        let offset = span.byte_range().start;
        let Some(before) = self.text.get(..offset) else {
            return;
        };
        let line_begin = before.rfind('\n').map_or(0, |at| at + 1);
        if !before[line_begin..].trim().is_empty() {
            return;
        }
        let mut probes = Vec::new();
        match statement {
            Stmt::Local(it) => {
                if let Some(init) = &it.init {
                    self.collect(&init.expr, &mut probes);
                }
            }
            Stmt::Expr(it, _) => self.collect(it, &mut probes),
            Stmt::Macro(it) => {
                let (attrs, mac) = (Vec::new(), it.mac.clone());
                self.collect(&Expr::Macro(ExprMacro { attrs, mac }), &mut probes);
            }
            Stmt::Item(_) => return,
        }
        if probes.is_empty() {
            return;
        }
        self.found.push(Statement {
            id: self.found.len(),
            file: self.file.to_owned(),
            line: span.start().line as u32,
            last_line: head(statement).end().line as u32,
            offset,
            probes,
        });
    }

    /// Adds an expression, unless it may have side effects, and those parts of it that are evaluated whenever it
    /// is.
    fn collect(&mut self, expression: &Expr, probes: &mut Vec<Probe>) {
        if let (Some(calls), true) = (self.purity.calls(expression), is_worth(expression)) {
            self.add_probe(expression, calls, probes);
        }
        let mut parts: Vec<&Expr> = Vec::new();
        match expression {
            Expr::Field(it) => parts.push(&it.base),
            Expr::Index(it) => parts.extend([&*it.expr, &it.index]),
            Expr::Unary(it) => parts.push(&it.expr),
            Expr::Reference(it) => parts.push(&it.expr),
            Expr::Binary(it) => {
                parts.push(&it.left);
                if !matches!(it.op, syn::BinOp::And(_) | syn::BinOp::Or(_)) {
                    parts.push(&it.right);
                }
            }
            Expr::Cast(it) => parts.push(&it.expr),
            Expr::Range(it) => parts.extend(it.start.iter().chain(&it.end).map(|it| &**it)),
            Expr::Tuple(it) => parts.extend(&it.elems),
            Expr::Array(it) => parts.extend(&it.elems),
            Expr::Struct(it) => parts.extend(it.fields.iter().map(|it| &it.expr)),
            Expr::Paren(it) => parts.push(&it.expr),
            Expr::Group(it) => parts.push(&it.expr),
            Expr::Let(it) => parts.push(&it.expr),
            Expr::If(it) => parts.push(&it.cond),
            Expr::While(it) => parts.push(&it.cond),
            Expr::ForLoop(it) => parts.push(&it.expr),
            Expr::Match(it) => parts.push(&it.expr),
            Expr::Assign(it) => parts.extend([&*it.left, &it.right]),
            Expr::Return(it) => parts.extend(it.expr.iter().map(|it| &**it)),
            Expr::Break(it) => parts.extend(it.expr.iter().map(|it| &**it)),
            Expr::Try(it) => parts.push(&it.expr),
            Expr::Await(it) => parts.push(&it.base),
            Expr::Call(it) => parts.extend(&it.args),
            Expr::MethodCall(it) => {
                parts.push(&it.receiver);
                parts.extend(&it.args);
            }
            Expr::Macro(_) => {
                if let Some(argument) = matches_argument(expression) {
                    self.collect(&argument, probes);
                }
            }
            _ => {}
        }
        for part in parts {
            self.collect(part, probes);
        }
    }

    fn add_probe(&mut self, expression: &Expr, calls: bool, probes: &mut Vec<Probe>) {
        let Some(text) = self.text.get(expression.span().byte_range()) else {
            return;
        };
        let is_joined = text.contains('\n');
        let is_plain = !text.contains("//") && !text.contains("/*");
        if !is_plain || is_joined && text.contains('"') || text.len() > LONGEST {
            return;
        }
        let text = text.lines().map(str::trim).collect::<Vec<_>>().join(" ");
        if probes.iter().all(|it| it.text != text) {
            probes.push(Probe {
                id: *self.next,
                text,
                calls,
            });
            *self.next += 1;
        }
    }
}

/// Returns the part of a statement before the blocks that it may run.
fn head(statement: &Stmt) -> proc_macro2::Span {
    let expression = match statement {
        Stmt::Local(it) => it.init.as_ref().map(|it| &*it.expr),
        Stmt::Expr(it, _) => Some(it),
        _ => None,
    };
    match expression {
        Some(Expr::If(it)) => it.cond.span(),
        Some(Expr::While(it)) => it.cond.span(),
        Some(Expr::ForLoop(it)) => it.expr.span(),
        Some(Expr::Match(it)) => it.expr.span(),
        Some(Expr::Loop(it)) => it.loop_token.span(),
        Some(Expr::Unsafe(it)) => it.unsafe_token.span(),
        None => statement.span(),
        Some(it) => it.span(),
    }
}
