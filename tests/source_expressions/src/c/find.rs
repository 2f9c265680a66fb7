//! The statements of a file of C or C++ that begin a line, with their probes.

use super::tree::{Node, Place};
use crate::probe::{Probe, Statement};
use std::path::Path;

/// The longest text of a probe.
const LONGEST: usize = 300;
/// Functions that only read, and whose arguments are evaluated once.
const FUNCTIONS: &str =
    "strlen strcmp strncmp memcmp strchr strrchr strstr abs labs toupper tolower";
/// Methods of the standard library that only read.
const METHODS: &str = "size length empty front back at c_str data find count compare capacity";

/// How a value is printed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// As a number.
    Integer,
    /// As a number without a sign.
    Unsigned,
    /// As a number with 9 digits.
    Float,
    /// As a number with 17 digits.
    Double,
    /// Null or not.
    Pointer,
    /// Its text.
    Text,
}

impl Form {
    /// Returns the end of the name of the function that prints it, and the type of its argument.
    pub fn printed(self) -> (&'static str, &'static str) {
        match self {
            Self::Integer => ("integer", "long long"),
            Self::Unsigned => ("unsigned", "unsigned long long"),
            Self::Float => ("float", "double"),
            Self::Double => ("double", "double"),
            Self::Pointer => ("pointer", "const void *"),
            Self::Text => ("text", "const char *"),
        }
    }
}

/// What is found in a file.
pub struct Finder<'a> {
    /// The file, as it is to stand in the statements.
    pub file: &'a Path,
    /// Its text.
    pub text: &'a str,
    /// Where the statements go.
    pub found: &'a mut Vec<Statement>,
    /// How the probes are printed, by their numbers.
    pub forms: &'a mut Vec<Form>,
}

impl Finder<'_> {
    /// Looks through a part of the tree.
    pub fn visit(&mut self, node: &Node) {
        // What the compiler evaluates, or compiles several times, with other types.
        let is_left_out = match node.kind.as_str() {
            "ClassTemplateDecl" | "FunctionTemplateDecl" | "LambdaExpr" => true,
            "FunctionDecl" | "CXXMethodDecl" => node.storage == "constexpr",
            _ => false,
        };
        if is_left_out {
            return;
        }
        if node.kind == "CompoundStmt" {
            for part in &node.inner {
                self.add(part);
            }
        }
        for part in &node.inner {
            self.visit(part);
        }
    }

    fn add(&mut self, node: &Node) {
        // Behind labels there is a statement, too.
        if ["CaseStmt", "DefaultStmt", "LabelStmt"].contains(&node.kind.as_str()) {
            if let Some(last) = node.inner.last() {
                self.add(last);
            }
            return;
        }
        let Some(begin) = node.begin.filter(|it| it.is_main && !it.is_macro) else {
            return;
        };
        let Some(before) = self.text.get(..begin.offset) else {
            return;
        };
        let line_begin = before.rfind('\n').map_or(0, |at| at + 1);
        let is_first = before[line_begin..].trim().is_empty();
        // A line that goes on the one before, in a macro.
        if !is_first || before[..line_begin].ends_with("\\\n") {
            return;
        }
        let mut probes = Vec::new();
        let last = self.probe_statement(node, &mut probes);
        if probes.is_empty() {
            return;
        }
        let line = |offset: usize| self.text[..offset].matches('\n').count() as u32 + 1;
        let last = last.filter(|it| it.is_main && it.offset >= begin.offset);
        self.found.push(Statement {
            id: self.found.len(),
            file: self.file.to_owned(),
            line: line(begin.offset),
            last_line: last.map_or(line(begin.offset), |it| line(it.offset)),
            offset: begin.offset,
            probes,
        });
    }

    /// Adds the probes of a statement; returns where the part of it ends that runs at once.
    fn probe_statement(&mut self, node: &Node, probes: &mut Vec<Probe>) -> Option<Place> {
        let conditions = |node: &Node| {
            let parts = node.inner.iter();
            let index = parts
                .clone()
                .position(|it| it.kind.ends_with("Stmt") || it.kind.is_empty());
            // A condition that declares a variable comes behind a statement.
            match index {
                Some(0) => None,
                _ => Some(0),
            }
        };
        match node.kind.as_str() {
            "IfStmt" | "WhileStmt" | "SwitchStmt" => {
                let condition = node.inner.get(conditions(node)?)?;
                self.collect(condition, probes);
                condition.end
            }
            "ReturnStmt" => {
                for part in &node.inner {
                    self.collect(part, probes);
                }
                node.end
            }
            "DeclStmt" => {
                let variables = node.inner.iter().filter(|it| it.kind == "VarDecl");
                // The others may use the first.
                let first = variables.take(1).filter(|it| it.storage.is_empty());
                for part in first.flat_map(|it| &it.inner) {
                    self.collect(part, probes);
                }
                node.end
            }
            "ForStmt" => {
                let first = node.inner.first()?;
                self.probe_statement(first, probes);
                first.end
            }
            kind if kind.ends_with("Stmt") => None,
            _ => {
                self.collect(node, probes);
                node.end
            }
        }
    }

    /// Adds an expression, unless it may have side effects, and those parts of it that are evaluated whenever it
    /// is.
    fn collect(&mut self, node: &Node, probes: &mut Vec<Probe>) {
        let is_wrapper = matches!(
            node.kind.as_str(),
            "ImplicitCastExpr" | "ParenExpr" | "ExprWithCleanups" | "ConstantExpr" | "FullExpr"
        );
        if !is_wrapper && let Some(calls) = calls(node) {
            self.add_probe(node, calls, probes);
        }
        let evaluated = match node.kind.as_str() {
            "BinaryOperator" if ["&&", "||"].contains(&node.opcode.as_str()) => 1,
            "ConditionalOperator" => 1,
            "UnaryExprOrTypeTraitExpr" | "LambdaExpr" | "StmtExpr" => 0,
            kind if kind.ends_with("Stmt") || kind.ends_with("Decl") => 0,
            _ => node.inner.len(),
        };
        // What a macro makes of its text does not stand in the source.
        let is_expanded = |it: &Option<Place>| it.is_some_and(|it| it.is_macro);
        let is_macro = is_expanded(&node.begin)
            && node.begin.map(|it| it.offset) == node.end.map(|it| it.offset);
        if !is_macro {
            for part in node.inner.iter().take(evaluated) {
                self.collect(part, probes);
            }
        }
    }

    fn add_probe(&mut self, node: &Node, calls: bool, probes: &mut Vec<Probe>) {
        let (Some(begin), Some(end)) = (node.begin, node.end) else {
            return;
        };
        let Some(form) = form(&node.ty) else {
            return;
        };
        let is_literal = node.kind.ends_with("Literal") && !begin.is_macro;
        let end = end.offset + end.length;
        let Some(text) = self.text.get(begin.offset..end) else {
            return;
        };
        // What the compiler adds to the name of a member.
        if node.kind == "CXXThisExpr" && text != "this" {
            return;
        }
        // The arguments of a macro are behind its name.
        let is_call = self.text[end..].trim_start().starts_with('(') && node.kind != "DeclRefExpr";
        let is_cut = node.end.is_some_and(|it| it.is_macro) && is_call;
        let is_joined = text.contains('\n');
        let is_plain = !text.contains("//") && !text.contains("/*") && !text.contains('#');
        let is_plain = is_plain && !(is_joined && (text.contains('"') || text.contains('\\')));
        let is_balanced = text.matches('(').count() == text.matches(')').count();
        if is_literal || is_cut || !is_plain || !is_balanced || text.len() > LONGEST {
            return;
        }
        let text = text.lines().map(str::trim).collect::<Vec<_>>().join(" ");
        if !begin.is_main || probes.iter().any(|it| it.text == text) {
            return;
        }
        let id = self.forms.len();
        self.forms.push(form);
        probes.push(Probe { id, text, calls });
    }
}

/// Returns whether an expression calls functions; `None` if it may have side effects.
fn calls(node: &Node) -> Option<bool> {
    let parts = |from: usize| {
        let parts = node.inner.iter().skip(from);
        parts.map(calls).try_fold(false, |all, it| Some(all | it?))
    };
    if node.ty.contains("volatile") || node.ty.contains("_Atomic") {
        return None;
    }
    match node.kind.as_str() {
        "DeclRefExpr" => matches!(
            node.referenced.as_str(),
            "VarDecl" | "ParmVarDecl" | "EnumConstantDecl"
        )
        .then_some(false),
        "UnaryExprOrTypeTraitExpr" => Some(false),
        "UnaryOperator" if ["++", "--"].contains(&node.opcode.as_str()) => None,
        "BinaryOperator" if node.opcode == "=" => None,
        "IntegerLiteral"
        | "FloatingLiteral"
        | "CharacterLiteral"
        | "StringLiteral"
        | "CXXThisExpr"
        | "CXXBoolLiteralExpr"
        | "CXXNullPtrLiteralExpr"
        | "UnaryOperator"
        | "BinaryOperator"
        | "ParenExpr"
        | "ImplicitCastExpr"
        | "CStyleCastExpr"
        | "CXXStaticCastExpr"
        | "CXXFunctionalCastExpr"
        | "CXXReinterpretCastExpr"
        | "ArraySubscriptExpr"
        | "MemberExpr"
        | "ConditionalOperator"
        | "ConstantExpr" => {
            // A conversion by a function of a class.
            let converts = ["UserDefinedConversion", "ConstructorConversion"];
            match converts.contains(&node.storage.as_str()) {
                true => None,
                false => parts(0),
            }
        }
        "CallExpr" => {
            let callee = node.inner.first()?;
            let callee = match callee.kind.as_str() {
                "ImplicitCastExpr" => callee.inner.first()?,
                _ => callee,
            };
            let is_known = callee.referenced == "FunctionDecl"
                && FUNCTIONS.split(' ').any(|it| it == callee.referenced_name);
            parts(1)?;
            is_known.then_some(true)
        }
        "CXXMemberCallExpr" => {
            let callee = node.inner.first().filter(|it| it.kind == "MemberExpr")?;
            let object = callee.inner.first()?;
            let of_library = ["std::", "const std::"]
                .iter()
                .any(|it| object.ty.starts_with(it));
            parts(1)?;
            calls(object)?;
            (of_library && METHODS.split_whitespace().any(|it| it == callee.name)).then_some(true)
        }
        _ => None,
    }
}

/// Returns how values of a type are printed.
fn form(ty: &str) -> Option<Form> {
    let ty = ty
        .trim_start_matches("const ")
        .trim_end_matches("const")
        .trim();
    let text = ty
        .trim_end_matches("__restrict")
        .trim_end_matches("restrict")
        .trim();
    Some(match text {
        "int" | "short" | "long" | "long long" | "char" | "signed char" | "bool" | "_Bool" => {
            Form::Integer
        }
        "unsigned int" | "unsigned short" | "unsigned long" | "unsigned long long"
        | "unsigned char" => Form::Unsigned,
        "float" => Form::Float,
        "double" => Form::Double,
        "char *" | "const char *" => Form::Text,
        _ if text.starts_with("enum ") && !text.contains('*') => Form::Integer,
        _ if text.starts_with("char[") || text.starts_with("char [") => Form::Text,
        _ if text.ends_with('*') => Form::Pointer,
        _ => return None,
    })
}
