import { readdir, readFile, rename, rm, rmdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Aside } from '@stackquay/engine-api'
import { orNull } from '../native/errors.ts'
import { isName, safe } from '../native/home.ts'
import { listVolumes } from './all-volumes.ts'
import type { Daemon } from './daemon.ts'
import { DATA, objectName } from './labels.ts'

/*
 * A volume cannot be renamed, so the volumes of one name of data have numbers; the first has none in its name. Which of them were set aside
 * stands in our home, in a file `data/<project>/<name>@<key>` that holds the number. The last of the others is the data of that name. Where
 * our home was lost that still holds: what is set aside was made before what took its place.
 */

export function volumeName(daemon: Daemon, project: string, data: string, number = 0): string {
  return number === 0
    ? objectName(daemon, project, 'data', data)
    : objectName(daemon, project, 'data', data, `${number}`)
}

/** The volume of a name of data, or the one to make. */
export interface NumberedVolume {
  readonly volume: string
  readonly number: number
  readonly isThere: boolean
}

export async function currentVolume(daemon: Daemon, project: string, data: string): Promise<NumberedVolume> {
  const [numbers, marks] = await Promise.all([numbersOf(daemon, project), marksOf(daemon, project)])
  const aside = marks.filter(({ name }) => name === data).map(({ number }) => number)
  const there = numbers.get(data) ?? []
  const others = there.filter((number) => !aside.includes(number))
  const number = others.length > 0 ? Math.max(...others) : Math.max(-1, ...there, ...aside) + 1
  return { volume: volumeName(daemon, project, data, number), number, isThere: others.length > 0 }
}

/** Names of data that have a volume which was not set aside. */
export async function currentNames(daemon: Daemon, project: string): Promise<readonly string[]> {
  const [numbers, marks] = await Promise.all([numbersOf(daemon, project), marksOf(daemon, project)])
  return [...numbers].flatMap(([data, there]) => {
    const aside = marks.filter(({ name }) => name === data).map(({ number }) => number)
    return there.some((number) => !aside.includes(number)) ? [data] : []
  })
}

export interface Mark extends Aside {
  readonly number: number
}

/** What was set aside; and by an unknown key, volumes whose mark was lost. */
export async function allAsides(daemon: Daemon, project: string): Promise<readonly Mark[]> {
  const [numbers, marks] = await Promise.all([numbersOf(daemon, project), marksOf(daemon, project)])
  const lost = [...numbers].flatMap(([name, there]) => {
    const others = there.filter((number) => !marks.some((mark) => mark.name === name && mark.number === number))
    return others
      .filter((number) => number < Math.max(...others))
      .map((number) => ({ name, number, key: `volume-${number}` }))
  })
  return [...marks, ...lost]
}

/** In one file that is there or not: a crash leaves nothing between. */
export async function writeMark(daemon: Daemon, project: string, { name, key, number }: Mark): Promise<void> {
  const folder = folderOf(daemon, project)
  const file = join(folder, `${safe(name)}@${safe(key)}`)
  const draft = join(folder, `.${safe(name)}@${safe(key)}`)
  await writeFile(draft, `${number}\n`, { mode: 0o600, flush: true })
  await rename(draft, file)
}

export async function removeMark(daemon: Daemon, project: string, { name, key }: Aside): Promise<void> {
  await rm(join(folderOf(daemon, project), `${safe(name)}@${safe(key)}`), { force: true })
  await rmdir(folderOf(daemon, project)).catch(() => {})
}

async function marksOf(daemon: Daemon, project: string): Promise<readonly Mark[]> {
  const folder = folderOf(daemon, project)
  const marks: Mark[] = []
  for (const file of (await orNull(readdir(folder))) ?? []) {
    const [name = '', key = '', ...more] = file.split('@')
    if (!isName(name) || !isName(key) || more.length > 0) continue
    const text = await orNull(readFile(join(folder, file), 'utf8'))
    if (text !== null && /^\d{1,9}\n$/.test(text)) marks.push({ name, key, number: Number(text) })
  }
  return marks
}

async function numbersOf(daemon: Daemon, project: string): Promise<ReadonlyMap<string, readonly number[]>> {
  const numbers = new Map<string, number[]>()
  for (const { Name, Labels } of await listVolumes(daemon, project)) {
    const data = Labels[DATA] ?? ''
    if (!isName(data)) continue
    const first = volumeName(daemon, project, data)
    const number = Name === first ? 0 : Number(Name.startsWith(`${first}.`) ? Name.slice(first.length + 1) : Number.NaN)
    if (Number.isInteger(number)) numbers.set(data, [...(numbers.get(data) ?? []), number])
  }
  return numbers
}

const folderOf = (daemon: Daemon, project: string) => join(daemon.home.data, safe(project))
