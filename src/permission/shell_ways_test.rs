//! Ways around a rule that hold no command in plain sight: variables whose contents are run, assignments without an
//! assignment, builtins and programs that run what they are given.

use super::*;

fn applies(pattern: &str, effect: Decision, command: &str) -> bool {
    ShellCommand::parse(command).satisfies(&ShellPattern::new(pattern).unwrap(), effect)
}

/// Expansions that evaluate the contents of `x`.
const EVALUATING: [&str; 22] = [
    "${!x}",
    "\"${!x}\"",
    "${!x:-1}",
    "${z[x]}",
    "\"${z[x]}\"",
    "${z[$x]}",
    "${z[-x]}",
    "${z[x]:-1}",
    "${z[x]=1}",
    "${z[x]+1}",
    "${z[x]/a/b}",
    "${#z[x]}",
    "${PATH:x}",
    "${PATH:0:x}",
    "${PATH:$x}",
    "${@:x}",
    "\"${*:x:1}\"",
    "{a,${z[x]}}",
    "$((x))",
    "$((1 + x))",
    "$[x]",
    "$(( $x ))",
];

/// All that is wrong at once.
fn none_wrong<C: AsRef<str>>(commands: impl IntoIterator<Item = C>, is_right: impl Fn(&str) -> bool) {
    let commands: Vec<C> = commands.into_iter().collect();
    let wrong = commands.iter().map(AsRef::as_ref).filter(|command| !is_right(command));
    let wrong: Vec<String> = wrong.map(|command| format!("{command:?} {:?}", ShellCommand::parse(command))).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_evaluates_a_variable_is_never_allowed_and_may_be_anything() {
    let mut commands = Vec::new();
    for expansion in EVALUATING {
        for value in ["'b[$(rm y)]'", "*", "$(git x)", "z[x] b"] {
            commands.push(format!("for x in {value}; do git {expansion}; done"));
        }
        commands.push(format!("for x in 'b[$(rm y)]'; do git <<< {expansion}; done"));
        commands.push(format!("for x in 'b[$(rm y)]'; do git <<E\n{expansion}\nE\ndone"));
        commands.push(format!("for x in 'b[$(rm y)]'; do case {expansion} in *) git;; esac; done"));
        commands.push(format!("for x in 'b[$(rm y)]'; do for y in {expansion}; do git; done; done"));
        commands.push(format!("select x in 'b[$(rm y)]'; do git {expansion}; break; done"));
        commands.push(format!("for x; do git {expansion}; done"));
        commands.push(format!("x='b[$(rm y)]'; git {expansion}"));
        commands.push(format!("x=$(printf 'b[\\44(rm y)]'); git {expansion}"));
        commands.push(format!("x='b[$(rm y)]' bash -c 'git {expansion}'"));
        commands.push(format!("env x='b[$(rm y)]' bash -c 'git {expansion}'"));
        commands.push(format!("read x; git {expansion}"));
        commands.push(format!("printf -v x %s a; git {expansion}"));
        commands.push(format!("export x=\"$y\"; git {expansion}"));
    }
    none_wrong(commands, |command| {
        !applies("git:*", Decision::Allow, command)
            && !applies("*", Decision::Allow, command)
            && applies("rm:*", Decision::Deny, command)
    });
}

#[test]
fn what_may_run_anything_satisfies_each_deny() {
    let commands = [
        "for x in 'b[$(rm y)]'; do [[ x -eq 1 ]]; git; done",
        "for x in 'b[$(rm y)]'; do [[ -v $x ]]; git; done",
        "for x in *; do [[ $x -eq 1 ]]; done",
        "for x in *; do let x; done",
        "for x in *; do test -v $x; done",
        "x=$(ls); (( x ))",
        "echo $(( $(ls) ))",
        "f() { echo $(( $1 )); }; f a",
        "echo ${z[$1]}",
        "read x; echo $((x))",
        "mapfile -t x; echo ${z[x]}",
        "read \"$n\"; echo $((x))",
        "OPTIND='a[$(rm x)]'",
        "RANDOM=$x",
        "for SECONDS in *; do ls; done",
        "HISTCMD=a",
        "declare -i y=$x",
        "declare -n r='a[$(rm x)]'; r=1",
        "declare -n r; r=$x",
        "printf -v 'a[$(rm x)]' 1",
        "builtin printf -v 'a[$(rm x)]' 1",
        "exec {a[$(rm x)]}>/dev/null",
        "exec {a[x]}>/dev/null",
        "BASH_CMDS[foo]=/bin/rm; foo x",
        "BASH_ALIASES[foo]='rm x'\nfoo",
        "PS4='\\44(rm x)'; set -x; ls",
        "ENV='$(rm x)' sh -i -c :",
        "BASH_ENV=$x bash -c :",
        "BASH_ENV=/dev/stdin bash -c :",
        "PROMPT_COMMAND='rm x' bash -i",
        ". <(echo rm x)",
        "source <(echo rm x)",
        "echo 'rm x' | . /dev/stdin",
        "cd /dev; echo rm x | . ./stdin",
        "echo rm x | source /dev/fd/0",
        "echo 'rm x' | sh /dev/stdin",
        "echo 'rm x' | bash -s",
        "echo 'rm x' | bash -s foo",
        "echo 'rm x' | bash - ",
        "bash <(echo rm x)",
        ". \"$x\"",
        ". /dev/stdin <<< 'rm x'",
        "bash --rcfile <(echo rm x) -i",
        "echo rm x | at now",
        "mapfile -C 'rm x #' -c 1 <<< a",
        "mapfile -C'rm x #' -c 1 <<< a",
        "readarray -tC 'rm x #' -c1 <<< a",
        "compgen -C 'rm x' y",
        "compgen -W '$(rm x)'",
        "complete -C 'rm x' y",
        "hash -p /tmp/rm foo; foo x",
        "hash -p/tmp/rm foo; foo x",
        "bind -x '\"a\": rm x'",
        "enable -f ./a.so a",
        "flock . rm x",
        "flock -n lock rm x",
        "flock . -c 'rm x'",
        "taskset 1 rm x",
        "taskset -c 0 rm x",
        "setarch x86_64 rm x",
        "setarch rm x",
        "choom -n 0 rm x",
        "chrt -o 0 rm x",
        "chrt 1 rm x",
        "ionice -c3 rm x",
        "ionice -c 3 -n 1 rm x",
        "stdbuf -oL rm x",
        "unshare -r rm x",
        "nsenter -t 1 -m rm x",
        "setsid -w rm x",
        "sudo -u root rm x",
        "sudo -- rm x",
        "doas rm x",
        "su -c 'rm x'",
        "su root -c 'rm x'",
        "su - root -c 'rm x'",
        "su root --command='rm x'",
        "su root --comm 'rm x'",
        "runuser -u a -- rm x",
        "script -qc 'rm x' /dev/null",
        "script -c 'rm x'",
        "watch rm x",
        "watch -n 1 'a;rm x'",
        "parallel rm ::: x",
        "parallel ::: 'rm x'",
        "parallel -j 4 ::: 'rm x'",
        "echo rm x | parallel",
        "ssh host rm x",
        "ssh -p 22 host 'a; rm x'",
        "prlimit --nofile=1 rm x",
        "chroot / rm x",
        "gosu root rm x",
        "tmux new 'rm x'",
        "uv run rm x",
        "direnv exec . rm x",
        "ip netns exec a rm x",
        "/lib64/ld-linux-x86-64.so.2 /bin/rm x",
        "find . -exec rm {} +",
        "find . -execdir rm {} ;",
        "find . -ok rm {} ;",
        "tar cf /dev/null --checkpoint=1 --checkpoint-action=exec='rm x' .",
        "tar cf /dev/null --checkpoint=1 --checkpoint-act exec='rm x' .",
        "tar xf a --to-command='rm x'",
        "tar -I 'rm x' -xf a",
        "tar -cI'rm x' -f a b",
        "split --filter='rm x' a",
        "rsync -e 'rm x' a b:c",
        "ls >&'$(rm x)'",
        "ls 1>& '$(rm x)'",
        "ls >&\\$\\(rm\\ x\\)",
        "ls >&'`rm x`'",
        "for f in 'a$(rm x)'; do ls >&\"$f\"; done",
        "ls >&>(rm x)",
        "command . <(rm x)",
        ". rm",
        ". ./rm x",
        "source -- rm",
        "bash rm",
        "sh -e /tmp/rm x",
        "builtin source /dev/stdin",
    ];
    none_wrong(commands, |command| {
        applies("rm:*", Decision::Deny, command) && !applies("git:*", Decision::Allow, command)
    });
}

#[test]
fn what_is_known_to_be_harmless_satisfies_no_deny() {
    let commands = [
        "ls >&2; ls >&out; ls &> out; ls 2>&1; ls >&-",
        "echo $((1 + 2))",
        "echo $((COUNT + 1))",
        "i=0; while [[ $i -lt 10 ]]; do i=$((i + 1)); done",
        "for i in 1 2 3; do echo $((i * 2)); done",
        "for i in {1..9}; do echo ${a[i]}; done",
        "for ((i = 0; i < ${#a[@]}; i++)); do echo ${a[i]} ${a[$i]}; done",
        "n=5; echo ${x:n} ${x:1:2} ${x: -1}",
        "for f in *; do echo ${f%.rm} ${f##*/} ${f/a/b} ${#f}; done",
        "x=$(ls); echo \"${x:-none}\" ${x:0:3}",
        "read -r x; echo $x",
        "export RUST_LOG=rm; cargo test",
        "printf '%s\\n' rm",
        ". ./rm.sh",
        "source \"$HOME/.cargo/env\"",
        "bash ./rm.sh rm",
        "sudo ls rm",
        "flock lock ls rm",
        "tar czf rm.tgz rm",
        "tar -xf a --exclude=rm",
        "mapfile -t rm",
        "compgen -c rm",
        "hash -r",
        "git stash; git stash pop",
        "let i=i+1; echo $i",
        "[[ $x == rm ]] && echo",
        "test -n \"$(git status)\"",
        "docker run --rm x",
    ];
    none_wrong(commands, |command| !applies("rm:*", Decision::Deny, command));
}

#[test]
fn no_assignment_is_allowed_but_by_a_pattern_that_names_it() {
    let mut commands = Vec::new();
    for name in ["PATH", "BASH_ENV", "ENV", "LD_PRELOAD", "IFS", "GIT_SSH", "HOME", "http_proxy", "path", "_", "Ab"] {
        commands.extend([
            format!("for {name} in .; do git; done"),
            format!("for {name} in .\ndo git\ndone"),
            format!("for i in 1; do for {name} in .; do git; done; done"),
            format!("(for {name} in .; do git; done)"),
            format!("select {name} in .; do git; break; done"),
            format!("for (({name}=0;;)); do git; break; done"),
            format!("(({name}=0)); git"),
            format!("git $(({name}=0)); git"),
            format!("git $[{name}=0]"),
            format!("git ${{x:{name}=0}}"),
            format!("git ${{z[{name}=0]}}"),
            format!("git ${{{name}:=x}}"),
            format!("git ${{{name}=x}}"),
            format!("git {{{name}}}>/dev/null"),
            format!("{{ git; }} {{{name}}}>/dev/null; git"),
            format!("coproc {name} {{ git; }}"),
            format!("[[ x -eq {name}=0 ]]; git"),
            format!("read {name}; git"),
            format!("printf -v {name} x; git"),
            format!("mapfile {name}; git"),
            format!("getopts a {name}; git"),
            format!("export {name}=x; git"),
            format!("declare {name}=x; git"),
            format!("typeset {name}=x; git"),
            format!("readonly {name}=x; git"),
            format!("unset {name}; git"),
            format!("let {name}=0; git"),
            format!("f() {{ local {name}=x; git; }}; git"),
            format!("{name}=x git"),
            format!("{name}=x; git"),
            format!("{name}+=x; git"),
            format!("env {name}=x git"),
        ]);
    }
    none_wrong(commands, |command| !applies("git:*", Decision::Allow, command));
    let commands = [
        "for f in a b; do git add $f; done",
        "for f in *; do git add \"$f\" \"${f%.x}\" ${f:1} ${f:0:2} ${#f} ${f:-a}; done",
        "git ${a[@]} ${a[*]} ${a[0]} ${a[-1]} ${#a[@]} $((1 + 2)) $1 $@ ${1} $#",
        "for f in *; do for g in *; do git $f $g; done; done",
    ];
    none_wrong(commands, |command| applies("git:*", Decision::Allow, command));
}

#[test]
fn lines_that_may_hold_many_others_are_opaque_at_once() {
    for text in [
        "parallel ".repeat(3600),
        "watch -n 1 ".repeat(2900),
        "watch 'a;b' ".repeat(2000),
        "flock ".repeat(5000),
        format!("parallel {}", "::: 'a;b' ".repeat(3000)),
        format!("su {}", "-c a ".repeat(6000)),
        format!("tar {}", "-I a ".repeat(6000)),
        "flock ".repeat(31),
        "chroot flock su ".repeat(10),
    ] {
        // Thousands of lines within one another would take seconds, and this test with them.
        let command = ShellCommand::parse(&text);
        assert!(command.commands.len() < 20_000 && command.copied_words < 2 * 20_000, "{text:.20}");
    }
    assert!(ShellCommand::parse(&"watch -n 1 ".repeat(2900)).opaque);
    assert!(!ShellCommand::parse(&["sudo apt-get install a"; 300].join(";")).opaque);
}
