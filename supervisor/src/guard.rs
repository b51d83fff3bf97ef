//! A filter that refuses the command signals to all at once, to its supervisor and to the host. Only for root: everybody
//! else would need `no_new_privs` for it, which the command would see. It keeps accidents off (`kill -9 -1`) and the
//! simple attack; it is no sandbox.

/// Those whom the command may not signal.
#[derive(Debug, Clone, Copy)]
pub struct Wards {
    pub guardian: i32,
    pub keeper: i32,
    pub host: i32,
    pub host_group: i32,
}

/// Sets the filter for this process and all that come from it; whether it is in force.
#[cfg(target_arch = "x86_64")]
pub fn set(wards: Wards) -> bool {
    let filter = filter(wards);
    let Ok(len) = u16::try_from(filter.len()) else { return false };
    let program = libc::sock_fprog { len, filter: filter.as_ptr().cast_mut() };
    // SAFETY: the program's pointer and length are those of one array, which the kernel copies. Without the capability
    // (root of a container may lack it) the call fails and changes nothing.
    unsafe { libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) == 0 }
}

#[cfg(not(target_arch = "x86_64"))]
pub fn set(_wards: Wards) -> bool {
    false
}

#[cfg(target_arch = "x86_64")]
const LOAD: u16 = 0x20;
#[cfg(target_arch = "x86_64")]
const JUMP_IF_EQUAL: u16 = 0x15;
#[cfg(target_arch = "x86_64")]
const RETURN: u16 = 0x06;
#[cfg(target_arch = "x86_64")]
const ALLOW: u32 = 0x7fff_0000;
#[cfg(target_arch = "x86_64")]
const REFUSE: u32 = 0x0005_0000 | libc::EPERM.cast_unsigned();

/// Where the kernel puts what the filter looks at.
#[cfg(target_arch = "x86_64")]
const CALL: u32 = 0;
#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: u32 = 4;
#[cfg(target_arch = "x86_64")]
const FIRST_ARGUMENT: u32 = 16;

/// kill, tkill, tgkill, rt_sigqueueinfo, rt_tgsigqueueinfo, pidfd_open, for each way into the kernel.
#[cfg(target_arch = "x86_64")]
const X86_64: u32 = 0xc000_003e;
#[cfg(target_arch = "x86_64")]
const I386: u32 = 0x4000_0003;
#[cfg(target_arch = "x86_64")]
const X32_BIT: u32 = 0x4000_0000;
#[cfg(target_arch = "x86_64")]
const CALLS_64: [u32; 12] = [
    62,
    200,
    234,
    129,
    297,
    434,
    62 | X32_BIT,
    200 | X32_BIT,
    234 | X32_BIT,
    524 | X32_BIT,
    536 | X32_BIT,
    434 | X32_BIT,
];
#[cfg(target_arch = "x86_64")]
const CALLS_32: [u32; 6] = [37, 238, 270, 178, 335, 434];

#[cfg(target_arch = "x86_64")]
fn filter(wards: Wards) -> Vec<libc::sock_filter> {
    let Wards { guardian, keeper, host, host_group } = wards;
    let mut targets = vec![-1, guardian, -guardian, keeper, -keeper];
    // A host in a pid namespace around ours has no number here, and 0 stands for one's own group.
    if host > 0 {
        targets.extend([host, -host]);
    }
    if host_group > 1 {
        targets.push(-host_group);
    }
    let mut program = Vec::new();
    for (architecture, calls) in [(X86_64, CALLS_64.as_slice()), (I386, CALLS_32.as_slice())] {
        let body = one_architecture(calls, &targets);
        program.push(op(LOAD, ARCHITECTURE));
        program.push(jump(architecture, 0, u8::try_from(body.len()).unwrap_or(u8::MAX)));
        program.extend(body);
    }
    program.push(op(RETURN, ALLOW));
    program
}

/// Always ends with a verdict.
#[cfg(target_arch = "x86_64")]
fn one_architecture(calls: &[u32], targets: &[i32]) -> Vec<libc::sock_filter> {
    let short = |length: usize| u8::try_from(length).unwrap_or(u8::MAX);
    let mut program = vec![op(LOAD, CALL)];
    for (index, call) in calls.iter().enumerate() {
        // To the look at the argument, past the other calls and the verdict for those that are none of them.
        program.push(jump(*call, short(calls.len() - index), 0));
    }
    program.push(op(RETURN, ALLOW));
    program.push(op(LOAD, FIRST_ARGUMENT));
    for (index, target) in targets.iter().enumerate() {
        program.push(jump(target.cast_unsigned(), short(targets.len() - index), 0));
    }
    program.push(op(RETURN, ALLOW));
    program.push(op(RETURN, REFUSE));
    program
}

#[cfg(target_arch = "x86_64")]
fn op(code: u16, k: u32) -> libc::sock_filter {
    libc::sock_filter { code, jt: 0, jf: 0, k }
}

#[cfg(target_arch = "x86_64")]
fn jump(k: u32, jt: u8, jf: u8) -> libc::sock_filter {
    libc::sock_filter { code: JUMP_IF_EQUAL, jt, jf, k }
}

#[cfg(test)]
#[cfg(target_arch = "x86_64")]
mod tests {
    use super::*;

    /// Runs the filter as the kernel would.
    fn verdict(architecture: u32, call: u32, argument: i32) -> u32 {
        let program = filter(Wards { guardian: 100, keeper: 101, host: 50, host_group: 40 });
        let (mut at, mut held) = (0, 0);
        loop {
            let line = program[at];
            match (line.code, line.k) {
                (LOAD, ARCHITECTURE) => held = architecture,
                (LOAD, CALL) => held = call,
                (LOAD, FIRST_ARGUMENT) => held = argument.cast_unsigned(),
                (JUMP_IF_EQUAL, k) => at += usize::from(if held == k { line.jt } else { line.jf }),
                (RETURN, k) => return k,
                other => panic!("{other:?}"),
            }
            at += 1;
        }
    }

    #[test]
    fn signals_to_the_wards_are_refused_by_every_way_in() {
        for target in [-1, 100, -100, 101, -101, 50, -50, -40] {
            for call in CALLS_64 {
                assert_eq!(verdict(X86_64, call, target), REFUSE, "{call} {target}");
            }
            for call in CALLS_32 {
                assert_eq!(verdict(I386, call, target), REFUSE, "{call} {target}");
            }
        }
    }

    #[test]
    fn all_else_is_allowed() {
        for target in [0, 1, 40, 102, -102, 7] {
            assert_eq!(verdict(X86_64, 62, target), ALLOW, "{target}");
            assert_eq!(verdict(I386, 37, target), ALLOW, "{target}");
        }
        for call in [0, 1, 37, 59, 424] {
            assert_eq!(verdict(X86_64, call, -1), ALLOW, "{call}");
        }
        assert_eq!(verdict(I386, 62, -1), ALLOW);
        assert_eq!(verdict(0x1234, 62, -1), ALLOW);
    }
}
