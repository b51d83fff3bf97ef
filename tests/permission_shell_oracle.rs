//! What the shell rules say of random commands, held against what a real shell then runs. Its `PATH` has programs made
//! for this test and a few that run what they are given; it works in a folder of its own. Skipped where there is no bash.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]
#![cfg(unix)]
#![expect(
    clippy::disallowed_types,
    reason = "the test starts a shell of its own, which no process module needs to know"
)]

use std::fs;
use std::io::Read;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use lite_agent::permission::shell::ShellCommand;
use lite_agent::permission::{Decision, ShellPattern};

/// Pieces that are strung together at random. None may make a path outside of the folder with the next: `>/dev/null` ends
/// in a blank.
const PIECES: &[&str] = &[
    "rm x",
    "rm x",
    "rm",
    " x",
    "r",
    "m",
    "$(rm x)",
    "`rm x`",
    "ls ",
    "git ",
    "ls ",
    "git",
    "'",
    "\"",
    "\\",
    "\n",
    "\n",
    "\\\n",
    " ",
    ";",
    "&",
    "|",
    "&&",
    "||",
    "|&",
    "(",
    ")",
    "{ ",
    "; }",
    "}",
    "${x:-",
    "${x#",
    "${x/a/",
    "${x:=",
    "${x@P}",
    "${!x}",
    "${z[x]}",
    "${z[",
    "]}",
    "${x:",
    "$x",
    "$@",
    "$((",
    "))",
    "((",
    "$[",
    "]",
    "<<E\n",
    "<<'E'\n",
    "<<\\E\n",
    "<<-E\n",
    "<<\"E\"\n",
    "\nE\n",
    "\n\tE\n",
    "E",
    "<<<",
    "<(",
    ">(",
    "#",
    " #",
    "$'",
    "\\'",
    "$\"",
    "a=",
    "x=",
    "x='b[$(rm y)]'",
    "x='$(rm y)'",
    "a+=",
    "a=(",
    "a[",
    "]=",
    "[[ ",
    " ]]",
    "[ ",
    " ]",
    "if ",
    "; then ",
    "; fi",
    "case a in ",
    "a) ",
    ";;",
    " esac",
    "for i in ",
    "for x in ",
    "for PATH in .",
    "; do ",
    "; done",
    "f() ",
    "function f ",
    "coproc ",
    "time ",
    "! ",
    "~",
    "*",
    "?",
    "{a,b}",
    "{a,",
    "=~ ",
    "==",
    " -eq ",
    " -v ",
    "<",
    "1<<2",
    "E ",
    "é",
    "\t",
    "\r",
    "x",
    "select x in ",
    "while ",
    "env ",
    "env -S ",
    "command ",
    "builtin ",
    "xargs ",
    "bash -c ",
    "sh -c ",
    "eval ",
    "exec ",
    "timeout 1 ",
    "setsid ",
    "flock x ",
    "trap ",
    " EXIT",
    "2>&1",
    ">/dev/null ",
    "{fd}>/dev/null ",
    "read x",
    "let x",
    "printf -v x ",
    ". ",
    "/dev/stdin",
    "$'\\x72m' ",
];

/// Whole commands, with a value and an expansion put in: `{v}` and `{e}`.
const FRAMES: &[&str] = &[
    "for x in {v}; do git {e}; done",
    "for x in {v}; do git <<< {e}; done",
    "for x in {v}; do git <<E\n{e}\nE\ndone",
    "for x in {v}; do case {e} in *) git;; esac; done",
    "for x in {v}; do for y in {e}; do git; done; done",
    "for x in {v}; do git {a,{e}}; done",
    "select x in {v}; do git {e}; break; done <<< 1",
    "for x in {v}; do [[ {e} -eq 1 ]]; done",
    "for x in {v}; do ls; ((x)); done",
    "x={v}; git {e}",
    "x={v} bash -c 'git {e}'",
    "export x={v}; git {e}",
    "read -r x <<< {v}; git {e}",
    "printf -v x %s {v}; git {e}",
    "f() { git {e}; }; f {v}",
    "set -- {v}; git {e}",
    "for PATH in {v}; do git; done",
    "for x in {v}; do :; done; git {e}",
    "git {e}; git",
    "git \"{e}\" && ls",
    "eval {v}; git {e}",
    "{v}; git {e}",
];
const VALUES: &[&str] = &[
    "'b[$(rm y)]'",
    "'$(rm y)'",
    "'rm y'",
    "z[x]",
    "*",
    ".",
    "0",
    "PATH=0",
    "'PATH=0'",
    "1 2",
    "{1..2}",
    "\"$y\"",
    "$(git x)",
    "'x[$(rm y)]'",
    "PATH",
    "b[\\$\\(rm\\ y\\)]",
];
const EXPANSIONS: &[&str] = &[
    "${!x}",
    "${z[x]}",
    "${z[$x]}",
    "${z[-x]}",
    "${#z[x]}",
    "${z[x]:-1}",
    "${z[x]=1}",
    "${z[x]+1}",
    "${z[x]/a/b}",
    "${PATH:x}",
    "${PATH:0:x}",
    "${PATH:$x}",
    "${@:x}",
    "${*:x:1}",
    "$((x))",
    "$(($x))",
    "$((1+x))",
    "$[x]",
    "${x@P}",
    "${x@Q}",
    "$x",
    "${x}",
    "${x:-a}",
    "${x%b}",
    "${x:1}",
    "${x:0:2}",
    "${#x}",
    "${z[@]}",
    "${z[0]}",
    "$((1+1))",
    "$((PATH=0))",
    "${PATH:=x}",
    "${z[PATH=0]}",
    "$1",
    "$(($1))",
    "${z[$1]}",
];

/// Programs that only run what they are given, so that the rules' notion of them is held against the real ones.
const WRAPPERS: &[&str] = &["env", "xargs", "timeout", "nice", "nohup", "setsid", "stdbuf", "flock", "bash", "sh"];

/// The same commands in each run.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % bound as u64).unwrap()
    }

    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }

    fn command(&mut self) -> String {
        if self.below(3) == 0 {
            let (value, expansion) = (self.one(VALUES), self.one(EXPANSIONS));
            return self.one(FRAMES).replace("{v}", value).replace("{e}", expansion);
        }
        (0..2 + self.below(10)).map(|_| self.one(PIECES)).collect()
    }
}

struct Place {
    top: PathBuf,
    bash: PathBuf,
}

impl Place {
    fn new(bash: PathBuf) -> Place {
        let top = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("shell-oracle-{}", std::process::id()));
        let place = Place { top, bash };
        for folder in ["programs", "marks", "work/0"] {
            fs::create_dir_all(place.top.join(folder)).unwrap();
        }
        place.program("programs/rm", ": > \"$MARK.rm\"");
        for name in ["git", "ls"] {
            place.program(&format!("programs/{name}"), "exit 0");
        }
        for wrapper in WRAPPERS {
            if let Some(real) = find(wrapper) {
                symlink(real, place.top.join("programs").join(wrapper)).unwrap();
            }
        }
        place
    }

    fn program(&self, path: &str, body: &str) {
        let path = self.top.join(path);
        fs::write(&path, format!("#!{}\n{body}\n", self.bash.display())).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// In the folder where the commands run, each name is a program that must never run; commands may have overwritten
    /// them.
    fn lay_traps(&self) {
        fs::remove_dir_all(self.top.join("work")).unwrap();
        fs::create_dir_all(self.top.join("work/0")).unwrap();
        for name in ["git", "ls", "0/git", "0/ls"] {
            self.program(&format!("work/{name}"), ": > \"$MARK.other\"");
        }
    }

    /// Runs the command, and ends what is left of it when it takes long.
    fn run(&self, command: &str, number: usize) {
        let mut child = Command::new(&self.bash)
            .args(["--norc", "--noprofile", "-c", command])
            .current_dir(self.top.join("work"))
            .env_clear()
            .env("PATH", self.top.join("programs"))
            .env("MARK", self.mark(number))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .unwrap();
        let group = child.id();
        let mut output = child.stdout.take().unwrap();
        let (over, is_over) = mpsc::channel();
        let reader = thread::spawn(move || {
            // It ends when the last process that holds it has.
            let _ = output.read_to_end(&mut Vec::new());
            let _ = over.send(());
        });
        // Some commands loop for ever. What they have run until then counts.
        if is_over.recv_timeout(Duration::from_millis(300)).is_err() {
            let end = format!("kill -KILL -- -{group}");
            let _ = Command::new(&self.bash).args(["-c", &end]).stderr(Stdio::null()).status();
        }
        child.wait().unwrap();
        drop(reader);
    }

    fn mark(&self, number: usize) -> PathBuf {
        self.top.join("marks").join(number.to_string())
    }

    fn ran(&self, number: usize, what: &str) -> bool {
        self.mark(number).with_extension(what).exists()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.top);
    }
}

#[expect(clippy::disallowed_methods, reason = "a test is no host: nobody sets variables meanwhile")]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

fn find(program: &str) -> Option<PathBuf> {
    let path = variable("PATH")?;
    path.split(':').map(|folder| Path::new(folder).join(program)).find(|file| file.is_absolute() && file.is_file())
}

#[test]
fn no_command_runs_what_the_rules_did_not_see() {
    let Some(bash) = find("bash") else {
        eprintln!("skipped: there is no bash here to ask");
        return;
    };
    let is_long = variable("LITE_AGENT_LONG").is_some_and(|value| value == "1");
    let commands = if is_long { 40_000 } else { 4_000 };
    let pattern = |text| ShellPattern::new(text).unwrap();
    let (rm, git, ls) = (pattern("rm:*"), pattern("git:*"), pattern("ls:*"));
    let place = Place::new(bash);
    let mut random =
        Random(variable("LITE_AGENT_SEED").and_then(|seed| seed.parse().ok()).unwrap_or(88_172_645_463_325_252));
    let mut asked: Vec<(String, bool, bool)> = Vec::new();
    for _ in 0..commands {
        let text = random.command();
        let parsed = ShellCommand::parse(&text);
        let is_denied = parsed.satisfies(&rm, Decision::Deny);
        let is_allowed = parsed.satisfies(&git, Decision::Allow) || parsed.satisfies(&ls, Decision::Allow);
        if is_denied && !is_allowed {
            continue;
        }
        place.lay_traps();
        place.run(&text, asked.len());
        asked.push((text, is_denied, is_allowed));
    }
    let is_wrong = |number: usize, is_denied: bool, is_allowed: bool| {
        let ran_rm = place.ran(number, "rm");
        (ran_rm && !is_denied) || (is_allowed && (ran_rm || place.ran(number, "other")))
    };
    let wrong: Vec<&String> = asked
        .iter()
        .enumerate()
        .filter(|(number, (_, is_denied, is_allowed))| is_wrong(*number, *is_denied, *is_allowed))
        .map(|(_, (text, ..))| text)
        .collect();
    eprintln!("{} of {commands} commands were given to bash", asked.len());
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(asked.len() > commands / 100, "too few commands got past the rules for this to prove anything");
}
