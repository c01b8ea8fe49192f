import { addChangeOptions, type ChangeFlags, changeProject, noteDone } from '../change-project.ts'
import type { Define } from '../define.ts'
import { projectRef } from '../find-project.ts'
import { projectArgument } from '../options.ts'

const acts = [
  {
    name: 'apply',
    operation: 'applySettings',
    summary: 'apply settings that were changed and not applied',
    description:
      'Apply settings of a project that were changed and not applied: their operation failed or was cancelled.',
    done: 'The settings are applied',
  },
  {
    name: 'revert',
    operation: 'revertSettings',
    summary: 'go back to the settings that were applied last',
    description: 'Give up settings of a project that were not applied, and go back to those that were applied last.',
    done: 'The settings are those that were applied last',
  },
] as const

export const define: Define = (command, context) => {
  for (const { name, operation, summary, description, done } of acts)
    addChangeOptions(command.command(name))
      .summary(summary)
      .description(description)
      .argument('[project]', projectArgument)
      .action(async (named: string | undefined, flags: ChangeFlags) => {
        const at = context()
        const id = await projectRef(at, named)
        const project = await changeProject(at, operation, { params: { id } }, flags)
        if (project === null) return
        noteDone(at, done)
        if (at.json) at.result({ project: project.slug, generation: project.generation }, () => '')
      })
}
