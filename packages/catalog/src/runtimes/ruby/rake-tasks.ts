/** Names under which rake looks for its file, in its order. */
export const rakefiles = ['rakefile', 'Rakefile', 'rakefile.rb', 'Rakefile.rb'] as const

export interface RakeTask {
  /** With its namespaces: `db:copy`. */
  readonly name: string
  readonly description: string
}

/**
 * Tasks with a description, as `rake -T` lists them, read from the text alone: a Rakefile is a program, and running it to
 * learn what it offers would run it. Tasks that are made in loops or brought by gems are not seen.
 */
export function tasksIn(text: string): readonly RakeTask[] {
  const tasks: RakeTask[] = []
  const namespaces: { readonly name: string; readonly indent: number }[] = []
  let description: string | null = null
  for (const line of text.slice(0, 200_000).split('\n').slice(0, 5000)) {
    if (line.length > 1000) continue
    const indent = line.length - line.trimStart().length
    const words = line.trim()
    if (words === 'end' && namespaces.at(-1)?.indent === indent) namespaces.pop()
    const namespace = namespaceLine.exec(words)?.[1]
    if (namespace !== undefined) namespaces.push({ name: namespace, indent })
    const said = descLine.exec(words)
    if (said !== null) description = said[1] ?? said[2] ?? ''
    const task = taskLine.exec(words)?.[1]
    if (task === undefined) continue
    if (description !== null) tasks.push({ name: [...namespaces.map(({ name }) => name), task].join(':'), description })
    description = null
  }
  return tasks
}

const namespaceLine = /^namespace[ (]+[:'"]?([A-Za-z_]\w*)['"]?.*\bdo$/
const descLine = /^desc[ (]+(?:"([^"]*)"|'([^']*)')/
const taskLine = /^(?:multi)?task[ (]+[:'"]?([A-Za-z_][\w:-]*?)(?:['":, )[]|=>|$)/
