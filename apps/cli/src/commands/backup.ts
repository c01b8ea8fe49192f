import type { Define } from '../define.ts'
import { defineCopy } from './backup/copy.ts'
import { defineCreate } from './backup/create.ts'
import { defineDelete } from './backup/delete.ts'
import { defineDownload } from './backup/download.ts'
import { defineFetch } from './backup/fetch.ts'
import { defineList } from './backup/list.ts'
import { defineRestore } from './backup/restore.ts'
import { defineRestoreAs } from './backup/restore-as.ts'
import { defineSchedule } from './backup/schedule.ts'
import { defineShow } from './backup/show.ts'
import { defineTarget } from './backup/target.ts'
import { defineUpload } from './backup/upload.ts'
import { defineVerify } from './backup/verify.ts'

export const define: Define = (command, context) => {
  defineList(command.command('list', { isDefault: true }), context)
  defineShow(command.command('show'), context)
  defineCreate(command.command('create'), context)
  defineVerify(command.command('verify'), context)
  defineRestore(command.command('restore'), context)
  defineRestoreAs(command.command('restore-as'), context)
  defineSchedule(command.command('schedule'), context)
  defineDownload(command.command('download'), context)
  defineUpload(command.command('upload'), context)
  defineDelete(command.command('delete'), context)
  defineTarget(command.command('target'), context)
  defineCopy(command.command('copy'), context)
  defineFetch(command.command('fetch'), context)
}
