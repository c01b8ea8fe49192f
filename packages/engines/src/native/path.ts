import { delimiter } from 'node:path'

/** Where programs of the system are found. */
export const DEFAULT_PATH = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin'].join(
  delimiter,
)
