//! Which commands run another that stands in their words, and how their words are read. Tables alone; knows nothing of
//! how a command line is looked at.

/// A command that runs the command behind its options.
pub(super) struct Prefix {
    pub name: &'static str,
    /// Letters of options without and with an argument, and of those whose argument can only be attached.
    pub flags: &'static str,
    pub with_argument: &'static str,
    pub attached: &'static str,
    pub long_flags: &'static [&'static str],
    pub long_with_argument: &'static [&'static str],
    /// Words between the options and the command.
    pub operands: usize,
    /// Options that do more than a pattern for the inner command could allow.
    pub significant: &'static str,
}

const NONE: Prefix = Prefix {
    name: "",
    flags: "",
    with_argument: "",
    attached: "",
    long_flags: &[],
    long_with_argument: &[],
    operands: 0,
    significant: "",
};

pub(super) const PREFIXES: [Prefix; 9] = [
    Prefix {
        name: "env",
        flags: "i0v",
        with_argument: "uCSa",
        long_flags: &[
            "ignore-environment",
            "null",
            "debug",
            "list-signal-handling",
            "block-signal",
            "default-signal",
            "ignore-signal",
        ],
        long_with_argument: &["unset", "chdir", "split-string", "argv0"],
        significant: "i0vuCSa-",
        ..NONE
    },
    Prefix { name: "command", flags: "pvV", ..NONE },
    Prefix { name: "exec", flags: "cl", with_argument: "a", ..NONE },
    Prefix { name: "nice", flags: "0123456789", with_argument: "n", long_with_argument: &["adjustment"], ..NONE },
    Prefix { name: "nohup", ..NONE },
    Prefix { name: "coproc", significant: "-", ..NONE },
    Prefix {
        name: "time",
        flags: "paqvVh",
        with_argument: "fo",
        long_flags: &["portability", "append", "quiet", "verbose", "help", "version"],
        long_with_argument: &["format", "output"],
        significant: "o-",
        ..NONE
    },
    Prefix {
        name: "timeout",
        flags: "vfp",
        with_argument: "ks",
        long_flags: &["preserve-status", "foreground", "verbose"],
        long_with_argument: &["kill-after", "signal"],
        operands: 1,
        ..NONE
    },
    Prefix {
        name: "xargs",
        flags: "0rtpxo",
        with_argument: "adEILnPsJRS",
        attached: "eil",
        long_flags: &[
            "null",
            "no-run-if-empty",
            "verbose",
            "interactive",
            "exit",
            "open-tty",
            "show-limits",
            "replace",
            "eof",
            "max-lines",
        ],
        long_with_argument: &["arg-file", "delimiter", "max-args", "max-procs", "max-chars", "process-slot-var"],
        ..NONE
    },
];

/// Shells: what they get as a text, or as their input, is looked at.
pub(super) const SHELLS: [&str; 16] = [
    "sh",
    "bash",
    "dash",
    "zsh",
    "ksh",
    "ash",
    "mksh",
    "rbash",
    "busybox-sh",
    "lksh",
    "oksh",
    "pdksh",
    "ksh93",
    "rksh",
    "yash",
    "posh",
];
/// Shells of another grammar: what a POSIX shell would run of their text is denied, and nothing of it is allowed.
pub(super) const FOREIGN_SHELLS: [&str; 10] =
    ["csh", "tcsh", "fish", "rc", "elvish", "nu", "osh", "ysh", "xonsh", "pwsh"];

/// Another command that runs what it is given. Its options are not known here: all that could be the command is denied,
/// and nothing is allowed but by a pattern for the command itself.
pub(super) struct Loose {
    /// Words of its own that may stand before the command.
    pub operands: usize,
    /// It joins its words and gives them to a shell.
    pub joins: bool,
    /// Without a command it reads commands from its input.
    pub reads_commands: bool,
}

/// Names of those without words of their own, and of those with one, two or three.
const WITH_OPERANDS: [&[&str]; 4] = [
    &[
        "sudo",
        "doas",
        "run0",
        "pkexec",
        "setsid",
        "stdbuf",
        "ionice",
        "busybox",
        "toybox",
        "coreutils",
        "builtin",
        "unshare",
        "nsenter",
        "choom",
        "strace",
        "ltrace",
        "unbuffer",
        "systemd-run",
        "firejail",
        "bwrap",
        "setpriv",
        "linux32",
        "linux64",
        "i386",
        "x86_64",
        "fakeroot",
        "prlimit",
        "numactl",
        "genv",
        "gnice",
        "gxargs",
        "gnohup",
        "gtime",
        "gstdbuf",
        "caffeinate",
        "xvfb-run",
        "rlwrap",
        "screen",
        "entr",
        "chronic",
        "ifne",
        "sem",
        "catchsegv",
        "eatmydata",
        "proxychains",
        "proxychains4",
        "torsocks",
        "torify",
        "tsocks",
        "valgrind",
        "gdb",
        "aa-exec",
        "dbus-run-session",
        "tini",
        "dumb-init",
        "catatonit",
        "cpulimit",
        "cgexec",
        "systemd-inhibit",
        "start-stop-daemon",
        "daemonize",
        "nq",
        "tsp",
        "softlimit",
        "chpst",
        "capsh",
        "inotifywait",
    ],
    &[
        "gtimeout",
        "chroot",
        "flock",
        "chrt",
        "taskset",
        "setarch",
        "su",
        "runuser",
        "script",
        "gosu",
        "su-exec",
        "setuidgid",
        "envuidgid",
        "runcon",
        "sg",
        "faketime",
        "perf",
        "tmux",
        "xdg-run",
        "bundle",
        "pipenv",
        "poetry",
        "uv",
        "rye",
        "pdm",
        "hatch",
        "setlock",
        "lockf",
        "envdir",
    ],
    &["direnv", "conda", "mamba", "micromamba"],
    &["ip"],
];
const JOINING: [&str; 5] = ["watch", "parallel", "ssh", "hyperfine", "viddy"];

impl Loose {
    pub(super) fn of(name: &str) -> Option<Loose> {
        if JOINING.contains(&name) {
            return Some(Loose {
                operands: usize::from(name == "ssh"),
                joins: true,
                reads_commands: matches!(name, "parallel" | "ssh"),
            });
        }
        let is_loader = name.starts_with("ld-linux") || name.starts_with("ld-musl") || name.starts_with("ld.so");
        let operands = WITH_OPERANDS.iter().position(|names| names.contains(&name)).or(is_loader.then_some(0))?;
        Some(Loose { operands, joins: false, reads_commands: false })
    }
}
