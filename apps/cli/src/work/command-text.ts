import { plainText } from '../output/plain-text.ts'

/** Words in one line, those with spaces and signs in quotes. */
export function commandLine(words: readonly string[]): string {
  const line = words.map((word) =>
    /^[A-Za-z0-9_/.,:=@%+^-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`,
  )
  return plainText(line.join(' '))
}
