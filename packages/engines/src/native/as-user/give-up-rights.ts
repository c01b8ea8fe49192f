/** Sets the real, effective and saved user at once, which drops all capabilities; then looks whether it holds. Ends the process where not. */
export function giveUpRights(uid: number, gid: number): void {
  if (!(uid > 0 && gid > 0)) process.exit(70)
  process.setgroups?.([])
  process.setgid?.(gid)
  process.setuid?.(uid)
  try {
    process.setuid?.(0)
  } catch {
    if (process.getuid?.() === uid && process.geteuid?.() === uid && process.getegid?.() === gid) return
  }
  process.exit(70)
}
