import type { Scope } from '@stackquay/contract'
import type { Command } from 'commander'
import { usageError } from '../../errors.ts'
import { eachOf } from '../../options.ts'

export interface RightsFlags {
  readonly project?: readonly string[]
  readonly on?: readonly string[]
}

export const roleWords = 'read, operate, admin, or none for nothing but what --on gives'

export function addRightsOptions(command: Command): Command {
  return command
    .option('--project <project>', 'the role ends at this project; repeat it for more', eachOf)
    .option('--on <project=role>', 'on this project another role holds; repeat it for more', eachOf)
}

export function readRole(word: string): Scope | null {
  if (word === 'none') return null
  if (word === 'read' || word === 'operate' || word === 'admin') return word
  throw usageError(`There is no role "${word}": it is ${roleWords}.`)
}

/** What the options leave out is emptied: the command says the whole of it. */
export function readRights(role: Scope | null, { project = [], on = [] }: RightsFlags) {
  return {
    role,
    projects: [...project],
    projectRoles: on.map((text) => {
      const [name = '', word = '', ...more] = text.split('=')
      const own = name === '' || word === '' || more.length > 0 ? null : readRole(word)
      if (own === null) throw usageError(`--on takes <project>=<read|operate|admin>, not "${text}".`)
      return { project: name, role: own }
    }),
  }
}
