/** Words in one line, as the service reads it again: those with spaces and signs in quotes. */
export function commandLine(words: readonly string[]): string {
  return words
    .map((word) => (/^[A-Za-z0-9_/.,:=@%+^-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`))
    .join(' ')
}
