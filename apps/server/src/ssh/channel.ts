import type { LinkChannel } from './protocol/link.ts'
import type { Exit } from './protocol/messages.ts'

/** A channel of a client’s session, as what runs behind it sees it. */
export interface SshChannel extends LinkChannel {
  /** How it ended, told once all was written and the channel is ended. */
  exit(how: Exit): void
}
