/**
 * Text of others as it can be shown: each invisible character as `\u{202e}`. For names that were stored before there was the
 * rule above, and for what sources name.
 */
export function visibleText(text: string): string {
  // Most names are plain, and long lists hold many.
  if (/^[\x20-\x7e]*$/.test(text)) return text
  return text.replace(allInvisible, escaped)
}

/** The same for the name of a token within its actor. */
export function visibleTokenName(name: string): string {
  return visibleText(name).replace(new RegExp(parenthesis, 'gu'), escaped)
}

/**
 * Characters that cannot be seen: controls, formats (bidirectional, zero-width), surrogates, private use, line and paragraph
 * separators, and everything else that Unicode lets renderers leave out. One that makes a picture of the character before
 * it is part of that picture.
 */
export const invisible =
  /(?<!\p{Extended_Pictographic})\ufe0f|[[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]--\ufe0f]/v
const allInvisible = new RegExp(invisible, 'gv')

/** Round brackets of any script: `ada (token: ci)` in the audit log is a token of ada. */
export const parenthesis =
  /[()\u207d\u207e\u208d\u208e\u2768-\u276b\u27ee\u27ef\u2985\u2986\ufe35\ufe36\ufe59\ufe5a\uff08\uff09\uff5f\uff60]/u

function escaped(character: string): string {
  return `\\u{${character.codePointAt(0)!.toString(16)}}`
}
