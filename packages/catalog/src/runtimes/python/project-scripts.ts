export interface ProjectScript {
  readonly name: string
  readonly module: string
  readonly attribute: string
}

/**
 * `[project.scripts]` of a pyproject.toml, and the table of Poetry that came before it. Read line by line: entries there are
 * `name = "module:function"`, and one that is written in another way is left out.
 */
export function projectScripts(text: string | true | undefined): readonly ProjectScript[] {
  if (typeof text !== 'string') return []
  const scripts: ProjectScript[] = []
  let isInside = false
  for (const line of text.split('\n')) {
    if (line.length > 1000) continue
    const table = /^\s*\[([^[\]]+)\]\s*(?:#.*)?$/.exec(line)?.[1]
    if (table !== undefined) isInside = tables.has(table.replaceAll(/[\s"']/g, ''))
    if (!isInside) continue
    const [, quoted, bare, module, attribute] = entry.exec(line) ?? []
    const name = quoted ?? bare
    if (name !== undefined && module !== undefined && attribute !== undefined) scripts.push({ name, module, attribute })
  }
  return scripts
}

const tables = new Set(['project.scripts', 'tool.poetry.scripts'])
const entry =
  /^\s*(?:["']([\w.-]+)["']|([\w-]+))\s*=\s*["']([A-Za-z_][\w.]*)\s*:\s*([A-Za-z_][\w.]*)\s*(?:\[[^\]]*\])?["']\s*(?:#.*)?$/
