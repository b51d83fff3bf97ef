//! Where the strings of a JSON object are that are worth cutting, and which path leads to each. Reads tokens and keeps a
//! flat list of containers, so that no nesting is too deep. Knows nothing of what is done with the strings.

use crate::json::token::{Kind, Token, Tokenizer};

/// Fields at the top that say which event it is: whoever gets it must be able to rely on them.
const IDENTITY: [&str; 6] = ["event", "runId", "sessionId", "agentId", "source", "compactionId"];

/// The value of one string, which may be cut.
#[derive(Debug, Clone)]
pub struct Text {
    /// The inside of its token: what is between the quotes, as it is written.
    pub start: usize,
    pub end: usize,
    /// Bytes of its path, as it is written in a JSON string.
    path_length: usize,
    container: usize,
    step: Step,
}

impl Text {
    /// In bytes, as it is written.
    pub fn length(&self) -> usize {
        self.end - self.start
    }

    /// What it takes to list the path: quotes and a comma around it.
    pub fn listing_cost(&self) -> usize {
        self.path_length + 3
    }
}

/// One step down.
#[derive(Debug, Clone, Copy)]
enum Step {
    /// The inside of the key's token.
    Key {
        start: usize,
        end: usize,
    },
    Index(usize),
}

/// An object or an array.
#[derive(Debug)]
struct Container {
    /// The container that it is in, and how it is called there; none for the outermost.
    within: Option<(usize, Step)>,
    path_length: usize,
    is_array: bool,
    /// The step to the value that comes next.
    step: Step,
}

/// The strings of one object.
#[derive(Debug)]
pub struct Outline<'a> {
    event: &'a str,
    /// In the order of the text; without those that say which event it is, and without those that are so short under so
    /// long a path that to cut and list them would gain nothing.
    pub texts: Vec<Text>,
    /// Where the object ends.
    pub closing_brace: usize,
    containers: Vec<Container>,
}

impl<'a> Outline<'a> {
    /// # Errors
    /// The text is no JSON object; says what is wrong.
    pub fn of(event: &'a str) -> Result<Outline<'a>, String> {
        let mut outline = Outline { event, texts: Vec::new(), closing_brace: 0, containers: Vec::new() };
        let mut tokens = Tokenizer::new(event);
        let mut next = || tokens.next_token().map_err(|fault| format!("{} at byte {}", fault.problem, fault.offset));
        let first = next()?;
        if first.kind != Kind::BeginObject {
            return Err("it does not begin with {".to_string());
        }
        outline.containers.push(Container {
            within: None,
            path_length: 0,
            is_array: false,
            step: Step::Key { start: 0, end: 0 },
        });
        // The containers that are open, the innermost last; their numbers in the list.
        let mut open = vec![0];
        while let Some(&number) = open.last() {
            let mut token = next()?;
            let Some(container) = outline.containers.get_mut(number) else { break };
            if !container.is_array && token.kind == Kind::String {
                container.step = Step::Key { start: token.start + 1, end: token.end - 1 };
                if next()?.kind != Kind::Colon {
                    return Err(format!("a key without a colon at byte {}", token.start));
                }
                token = next()?;
            }
            match token.kind {
                Kind::String => outline.add_text(number, token),
                Kind::BeginObject | Kind::BeginArray => {
                    open.push(outline.containers.len());
                    outline.add_container(number, token.kind == Kind::BeginArray);
                }
                Kind::EndObject | Kind::EndArray => {
                    open.pop();
                    outline.closing_brace = token.start;
                    outline.forget_if_unused(number);
                }
                Kind::Comma => {
                    if let Step::Index(index) = &mut container.step {
                        *index += 1;
                    }
                }
                Kind::End => return Err("it ends too early".to_string()),
                Kind::Number | Kind::True | Kind::False | Kind::Null | Kind::Colon => {}
            }
        }
        if next()?.kind != Kind::End {
            return Err("something follows it".to_string());
        }
        Ok(outline)
    }

    /// The path of a string, as it is written in a JSON string: keys and indexes with dots between them.
    pub fn path_of(&self, text: &Text) -> String {
        let mut steps = vec![text.step];
        let mut container = self.containers.get(text.container);
        while let Some(Container { within: Some((outer, step)), .. }) = container {
            steps.push(*step);
            container = self.containers.get(*outer);
        }
        let parts: Vec<String> = steps.iter().rev().map(|step| self.in_words(*step)).collect();
        parts.join(".")
    }

    fn in_words(&self, step: Step) -> String {
        match step {
            Step::Key { start, end } => self.event.get(start..end).unwrap_or_default().to_string(),
            Step::Index(index) => index.to_string(),
        }
    }

    fn add_text(&mut self, number: usize, token: Token) {
        let Some(container) = self.containers.get(number) else { return };
        if let (Step::Key { start, end }, 0) = (container.step, number)
            && self.event.get(start..end).is_some_and(|key| IDENTITY.contains(&key))
        {
            return;
        }
        let text = Text {
            start: token.start + 1,
            end: token.end - 1,
            path_length: path_length(container),
            container: number,
            step: container.step,
        };
        if text.length() > text.listing_cost() {
            self.texts.push(text);
        }
    }

    /// A container that has ended takes no memory if no path leads through it: there may be millions.
    fn forget_if_unused(&mut self, number: usize) {
        // One within it that is needed would come after it in the list; so would a string of that one.
        if self.containers.len() == number + 1 && self.texts.last().is_none_or(|text| text.container != number) {
            self.containers.pop();
        }
    }

    fn add_container(&mut self, number: usize, is_array: bool) {
        let Some(outer) = self.containers.get(number) else { return };
        let step = if is_array { Step::Index(0) } else { Step::Key { start: 0, end: 0 } };
        let within = Some((number, outer.step));
        self.containers.push(Container { within, path_length: path_length(outer), is_array, step });
    }
}

/// Of the path to the value that comes next in the container.
fn path_length(container: &Container) -> usize {
    let step = match container.step {
        Step::Key { start, end } => end - start,
        Step::Index(index) => index.checked_ilog10().map_or(1, |digits| digits as usize + 1),
    };
    // Nothing parts the first step from what is before it.
    let dot = usize::from(container.within.is_some());
    container.path_length + dot + step
}
