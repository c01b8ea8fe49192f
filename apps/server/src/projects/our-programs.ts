import { createHash } from 'node:crypto'
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { programFile } from '@stackquay/catalog/folders'

/** Programs of ours that workloads run, where the unprivileged user can read them whatever folder the service was cloned into. */
export interface OurPrograms {
  file(name: string): string
}

/** A program may import the modules beside it, so all of its folder goes along; folders are named by their content. */
export function createOurPrograms(home: string): OurPrograms {
  const copied = new Map<string, string>()
  return {
    file: (name) => {
      const known = copied.get(name)
      if (known !== undefined) return known
      const source = programFile(name)
      const file = join(bring(dirname(source), join(home, 'toolchains', 'programs')), basename(source))
      copied.set(name, file)
      return file
    },
  }
}

function bring(folder: string, to: string): string {
  const modules = readdirSync(folder)
    .filter((name) => name.endsWith('.ts'))
    .sort()
    .map((name) => ({ name, content: readFileSync(join(folder, name)) }))
  // A package.json of its own keeps Node from looking for one in folders above, which the user may not read.
  modules.push({ name: 'package.json', content: Buffer.from('{"type":"module"}\n') })
  const hash = createHash('sha256')
  for (const { name, content } of modules) hash.update(`${name}\0${content.length}\0`).update(content)
  const target = join(to, hash.digest('hex').slice(0, 12))
  if (existsSync(target)) return target
  const temporary = `${target}.${process.pid}`
  rmSync(temporary, { recursive: true, force: true })
  mkdirSync(temporary, { recursive: true })
  for (const { name, content } of modules) {
    writeFileSync(join(temporary, name), content)
    chmodSync(join(temporary, name), 0o644)
  }
  for (const path of [to, temporary]) chmodSync(path, 0o755)
  renameSync(temporary, target)
  return target
}
