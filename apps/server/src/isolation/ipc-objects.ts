import { type Account, runAs } from '@stackquay/engines'

/** System V objects outlive the programs that made them. What is somebody else's the kernel refuses to remove. */
export async function removeIpcObjects(account: Account): Promise<void> {
  await runAs(account, ['/usr/bin/ipcrm', '--all']).catch(() => undefined)
}
