// What the type tests compare types with. Holds no test.

/** true when the two types are one and the same, `any` told apart from everything else. */
export type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;

/** Compiles only for `true`. */
export declare function holds<T extends true>(): T;
