import { channel } from 'node:diagnostics_channel'

/**
 * What a change costs, for whoever listens: a message each time a project is resolved, its status is derived, or the proxy is told
 * other routes of it. The message is the project's id.
 */
export const workDone = {
  resolved: channel('stackquay:resolved'),
  derived: channel('stackquay:derived'),
  published: channel('stackquay:published'),
} as const
