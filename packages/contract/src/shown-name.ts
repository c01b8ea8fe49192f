import { z } from 'zod'
import { invisible, parenthesis } from './visible-text.ts'

/** A name that people give and others read: one line of characters that can be seen, in Unicode's composed form. */
export function shownName(longest = 60) {
  return z.string().normalize('NFC').trim().min(1).max(longest).superRefine(refuseInvisible)
}

/** It stands in parentheses behind its owner's name, so it has none of its own. */
export function tokenName() {
  return shownName().superRefine((name, context) => {
    const found = parenthesis.exec(name)?.[0]
    if (found === undefined) return
    const message = `holds "${found}", with which a token could pass for another in the audit log; leave parentheses out`
    context.addIssue({ code: 'custom', params: { code: 'parenthesis' }, message })
  })
}

function refuseInvisible(name: string, context: z.RefinementCtx<string>): void {
  const found = invisible.exec(name)?.[0]
  if (found === undefined) return
  const message = `holds the character ${codeOf(found)}, which cannot be seen; remove it`
  context.addIssue({ code: 'custom', params: { code: 'invisible_character' }, message })
}

function codeOf(character: string): string {
  return `U+${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}`
}
