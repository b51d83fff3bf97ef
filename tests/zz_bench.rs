//! scratch
#![allow(clippy::all)]
mod commands;
use commands::*;
use std::time::{Duration, Instant};
fn bare() -> Duration {
    let t = Instant::now();
    unsafe {
        let sh = c"/bin/sh";
        let c = c"-c";
        let tx = c"true";
        let argv = [sh.as_ptr() as *mut _, c.as_ptr() as *mut _, tx.as_ptr() as *mut _, std::ptr::null_mut()];
        let env = [std::ptr::null_mut()];
        let mut pid = 0;
        assert_eq!(
            libc::posix_spawn(&mut pid, sh.as_ptr(), std::ptr::null(), std::ptr::null(), argv.as_ptr(), env.as_ptr()),
            0
        );
        libc::waitpid(pid, std::ptr::null_mut(), 0);
    }
    t.elapsed()
}
fn med(v: &mut Vec<Duration>) -> Duration {
    v.sort();
    v[v.len() / 2]
}
#[test]
fn bench() {
    let rt = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let mut ballast: Vec<u8> = Vec::new();
    for mb in [0usize, 1000] {
        ballast.resize(mb << 20, 1);
        for b in ballast.iter_mut().step_by(4096) {
            *b = 2;
        }
        let (mut a, mut b, mut h) = (vec![], vec![], vec![]);
        rt.block_on(async {
            for _ in 0..20 {
                run(shell("true").command).await;
                bare();
            }
            for _ in 0..200 {
                a.push(bare());
                let t = Instant::now();
                let o = run(shell("true").command).await;
                b.push(t.elapsed());
                h.push(o.spawn_held);
            }
        });
        let (a, b) = (med(&mut a), med(&mut b));
        println!(
            "BENCH {mb} MB: bare {a:?} ours {b:?} more {:?} held {:?} max held {:?}",
            b - a,
            med(&mut h),
            h.last()
        );
    }
}
