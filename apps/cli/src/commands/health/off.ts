import { addChangeOptions, type ChangeFlags, changeProject, noteDone } from '../../change-project.ts'
import type { Define } from '../../define.ts'
import { projectRef } from '../../find-project.ts'
import { projectArgument } from '../../options.ts'
import { checkText } from './check-options.ts'

export const defineOff: Define = (command, context) =>
  addChangeOptions(command.argument('[project]', projectArgument))
    .summary('look only whether its port is open')
    .description('Make no requests any more: the project is healthy when its port is open.')
    .action(async (named: string | undefined, flags: ChangeFlags) => {
      const at = context()
      const id = await projectRef(at, named)
      const input = { params: { id }, body: { healthCheck: null } }
      const project = await changeProject(at, 'updateProject', input, flags)
      if (project === null) return
      noteDone(at, checkText(project.healthCheck))
      at.result(project.healthCheck, () => '')
    })
