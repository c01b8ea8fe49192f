import type { ActionDefinition } from '../entry-types.ts'

/** What differs from an action that can run, deletes nothing and needs the dependencies. */
export type ActionParts = Pick<ActionDefinition, 'name' | 'label' | 'summary' | 'argv'> & Partial<ActionDefinition>

/**
 * The actions that are offered, in the order of the source. A name that could be taken for something else (an option, a
 * path, another line on a screen) is left out, and so is the second of a name: sources are written by anybody.
 */
export function actionList(found: readonly ActionParts[]): readonly ActionDefinition[] {
  const byName = new Map<string, ActionDefinition>()
  for (const parts of found) {
    if (byName.size === mostActions) break
    if (!isActionName(parts.name) || byName.has(parts.name)) continue
    byName.set(parts.name, {
      reason: null,
      destructive: false,
      needsSetup: true,
      ...parts,
      label: shownText(parts.label),
      summary: shownText(parts.summary),
    })
  }
  return [...byName.values()]
}

const mostActions = 200

export function isActionName(name: string): boolean {
  return name.length <= 120 && /^[A-Za-z0-9_@][A-Za-z0-9._:@/-]*$/.test(name)
}

/** One line of a sensible length, without characters that move a terminal's cursor or turn the direction of the text. */
function shownText(text: string): string {
  const start = text.slice(0, 400)
  const line = start.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\s]+/gu, ' ').trim()
  return line.length > 160 || text.length > 400 ? `${line.slice(0, 159).trimEnd()}…` : line
}
