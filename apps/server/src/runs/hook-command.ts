import type { CommandRef } from '@stackquay/engine-api'

const prefix = 'hook_'

/** The command of a hook: short, for it is a part of paths, and the same in every attempt of its operation. */
export function hookCommand(
  { id, project }: { readonly id: string; readonly project: string },
  number: number,
): CommandRef {
  return { project, id: `${prefix}${id.replace(/^op_/, '')}${number}` }
}

/** Of which operation a held command is a hook; null for what is none. */
export function operationOfHook(command: string): string | null {
  return command.startsWith(prefix) ? `op_${command.slice(prefix.length, -1)}` : null
}
