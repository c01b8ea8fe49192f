import type { Account } from '@stackquay/engines'

/** The user that owns nothing. */
export const nobody: Account = { uid: 65_534, gid: 65_534 }
