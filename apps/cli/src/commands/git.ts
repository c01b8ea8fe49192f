import type { Define } from '../define.ts'
import { defineCheckout, defineCommit, defineDiscard, defineFetch, definePull, definePush } from './git/acts.ts'
import { defineBranches } from './git/branches.ts'
import { defineDeploys } from './git/deploys.ts'
import { defineDiff } from './git/diff.ts'
import { defineKey } from './git/key.ts'
import { defineLog } from './git/log.ts'
import { defineRemote } from './git/remote.ts'
import { defineStatus } from './git/status.ts'
import { defineWebhook } from './git/webhook.ts'

export const define: Define = (command, context) => {
  defineStatus(command.command('status', { isDefault: true }), context)
  defineLog(command.command('log'), context)
  defineDiff(command.command('diff'), context)
  defineBranches(command.command('branches'), context)
  defineFetch(command.command('fetch'), context)
  definePull(command.command('pull'), context)
  defineCheckout(command.command('checkout'), context)
  defineCommit(command.command('commit'), context)
  definePush(command.command('push'), context)
  defineDiscard(command.command('discard'), context)
  defineRemote(command.command('remote'), context)
  defineKey(command.command('key'), context)
  defineWebhook(command.command('webhook'), context)
  defineDeploys(command.command('deploys'), context)
}
