import type { Config } from '../config.ts'
import type { ProjectAnswers } from '../projects/answers.ts'
import { backupHandlers } from './backup-handlers.ts'
import { type RestoreAsDeps, restoreAsHandlers } from './restore-as-handlers.ts'
import { restoreHandlers } from './restore-handlers.ts'
import { scheduleHandlers } from './schedule-handlers.ts'
import type { ScheduleViewDeps } from './schedule-view.ts'
import { uploadHandlers } from './upload-handler.ts'
import { verifyHandlers } from './verify-handler.ts'

/** All that people do with backups. */
export function allBackupHandlers(
  deps: RestoreAsDeps & Pick<ScheduleViewDeps, 'now'> & { readonly config: Config },
  answers: ProjectAnswers,
) {
  return {
    ...backupHandlers(deps, answers),
    ...restoreHandlers(deps, answers),
    ...restoreAsHandlers(deps, answers),
    ...verifyHandlers(deps, answers),
    ...scheduleHandlers(deps, answers),
    ...uploadHandlers(deps),
  }
}
