import type { Define } from '../../define.ts'
import { defineOff } from './acme/off.ts'
import { defineRenew } from './acme/renew.ts'
import { defineSet } from './acme/set.ts'
import { defineShow } from './acme/show.ts'

export const defineAcme: Define = (command, context) => {
  command.summary('get certificates from Let’s Encrypt, or another ACME authority')
  defineShow(command.command('show', { isDefault: true }), context)
  defineSet(command.command('set'), context)
  defineRenew(command.command('renew'), context)
  defineOff(command.command('off'), context)
}
