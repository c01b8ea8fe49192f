import type { ProcessTable } from './process-table.ts'
import { darwinTable } from './process-table-darwin.ts'
import { linuxTable } from './process-table-linux.ts'

/** The process table of the system this runs on. */
export function processTable(): ProcessTable {
  return process.platform === 'darwin' ? darwinTable() : linuxTable()
}
