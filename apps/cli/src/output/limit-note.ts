/** What limits had to do with the end of a program, and what to do; null when nothing. */
export function limitNote(end: {
  readonly outOfMemory?: true | undefined
  readonly outOfProcesses?: true | undefined
}): string | null {
  if (end.outOfMemory === true)
    return 'The system ended it: it used more memory than its limit. To raise the limit: stq limits set --help'
  if (end.outOfProcesses === true)
    return 'It wanted more processes than it may have. To raise the limit: stq limits set --help'
  return null
}
