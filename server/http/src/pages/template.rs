//! The pages' templates: `{{name}}` puts a value in, escaped for HTML; `{{#name}}...{{/name}}` is kept only where the
//! value is there and not empty. No logic, no loops, no unescaped form.

use std::collections::HashMap;

use thiserror::Error;

/// Values by name, put in where the template names them.
pub(super) type Values<'a> = HashMap<&'a str, String>;

/// A template that cannot be read. Templates are part of the program, so this is found by its tests.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(super) enum TemplateError {
    #[error("a '{{{{' has no '}}}}' after it")]
    Open,
    #[error("the section {0:?} does not end, or ends without having begun")]
    Section(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(&'static str),
    Value(&'static str),
    Section(&'static str, Vec<Part>),
}

#[derive(Clone, Debug)]
pub(super) struct Template {
    parts: Vec<Part>,
}

impl Template {
    pub(super) fn parse(text: &'static str) -> Result<Template, TemplateError> {
        let mut rest = text;
        let parts = parse_until(&mut rest, None)?;
        Ok(Template { parts })
    }

    /// The page, with `values` first and then `texts` (named `t.<key>`). A name that neither knows is empty.
    pub(super) fn render(
        &self,
        values: &Values<'_>,
        text: impl Fn(&str) -> &'static str,
    ) -> String {
        let look_up = |name: &str| match name.strip_prefix("t.") {
            Some(key) => text(key).to_owned(),
            None => values.get(name).cloned().unwrap_or_default(),
        };
        let mut out = String::new();
        render(&self.parts, &look_up, &mut out);
        out
    }

    #[cfg(test)]
    pub(super) fn names(&self) -> Vec<&'static str> {
        fn collect(parts: &[Part], names: &mut Vec<&'static str>) {
            for part in parts {
                match part {
                    Part::Text(_) => {}
                    Part::Value(name) => names.push(name),
                    Part::Section(name, inner) => {
                        names.push(name);
                        collect(inner, names);
                    }
                }
            }
        }
        let mut names = Vec::new();
        collect(&self.parts, &mut names);
        names
    }
}

fn parse_until(
    rest: &mut &'static str,
    section: Option<&'static str>,
) -> Result<Vec<Part>, TemplateError> {
    let mut parts = Vec::new();
    while let Some((text, after)) = rest.split_once("{{") {
        let (tag, after) = after.split_once("}}").ok_or(TemplateError::Open)?;
        parts.push(Part::Text(text));
        *rest = after;
        if let Some(name) = tag.strip_prefix('#') {
            parts.push(Part::Section(name, parse_until(rest, Some(name))?));
        } else if let Some(name) = tag.strip_prefix('/') {
            if section == Some(name) {
                return Ok(parts);
            }
            return Err(TemplateError::Section(name.to_owned()));
        } else {
            parts.push(Part::Value(tag));
        }
    }
    if let Some(name) = section {
        return Err(TemplateError::Section(name.to_owned()));
    }
    parts.push(Part::Text(rest));
    Ok(parts)
}

fn render(parts: &[Part], look_up: &impl Fn(&str) -> String, out: &mut String) {
    for part in parts {
        match part {
            Part::Text(text) => out.push_str(text),
            Part::Value(name) => escape(&look_up(name), out),
            Part::Section(name, inner) => {
                if !look_up(name).is_empty() {
                    render(inner, look_up, out);
                }
            }
        }
    }
}

/// For text and for values in double or single quotes; the templates have no other places.
fn escape(value: &str, out: &mut String) {
    for c in value.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(text: &'static str, values: &[(&'static str, &str)]) -> String {
        let values = values.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        let text_of = |key: &str| if key == "hi" { "안녕 & <b>" } else { "" };
        Template::parse(text).expect("well formed").render(&values, text_of)
    }

    #[test]
    fn values_are_escaped_wherever_they_stand() {
        let hostile = "<script>alert('x')</script>\" & ";
        let page = page(r#"<p title="{{v}}">{{v}}</p>{{t.hi}}"#, &[("v", hostile)]);
        assert!(!page.contains("<script") && !page.contains("<b>"), "{page}");
        assert_eq!(page.matches('"').count(), 2, "only the template's own quotes: {page}");
    }

    #[test]
    fn sections_stay_only_with_a_value_and_nest() {
        let text = "{{#a}}A{{#b}}B{{b}}{{/b}}{{/a}}.";
        assert_eq!(page(text, &[]), ".");
        assert_eq!(page(text, &[("a", "1")]), "A.");
        assert_eq!(page(text, &[("a", "1"), ("b", "2")]), "AB2.");
        assert_eq!(page(text, &[("b", "2")]), ".");
    }

    #[test]
    fn broken_templates_are_refused() {
        let error = |text| Template::parse(text).expect_err("broken");
        assert_eq!(error("{{a"), TemplateError::Open);
        assert_eq!(error("{{#a}}"), TemplateError::Section("a".to_owned()));
        assert_eq!(error("{{#a}}{{/b}}"), TemplateError::Section("b".to_owned()));
        assert_eq!(error("{{/a}}"), TemplateError::Section("a".to_owned()));
    }
}
